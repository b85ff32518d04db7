/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A keyed fingerprint of bytes: who does not know the key cannot make other bytes with the same
 * one. The bytes are the digits of a polynomial's value at two secret points, modulo 2^61 - 1; for
 * two texts of n digits the chance to agree is at most (n / 2^61)^2.
 *
 * Good against guests, which never see a fingerprint. Not a general hash.
 */
#ifndef GUEST_FINGERPRINT_H
#define GUEST_FINGERPRINT_H

#include "base/types.h"

struct fingerprint_key {
	u64 point[2];
};

struct fingerprint {
	u64 sum[2];
};

/* A key from 16 random bytes. */
struct fingerprint_key fingerprint_key_from(const u8 random[16]);

#define FINGERPRINT_INIT ((struct fingerprint){ { 1, 1 } })

/* Appends @size bytes, and the size itself. */
void fingerprint_add(struct fingerprint *fingerprint, const struct fingerprint_key *key,
		     const void *data, size_t size);

static inline bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b)
{
	return a->sum[0] == b->sum[0] && a->sum[1] == b->sum[1];
}

#endif
