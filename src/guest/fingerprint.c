/* SPDX-License-Identifier: GPL-2.0-only */
/* A polynomial over the field of 2^61 - 1. */
#include "guest/fingerprint.h"

#include <string.h>

#define PRIME ((1ULL << 61) - 1)
#define DIGIT_BYTES 7	/* less than PRIME, whatever the bytes */

static u64 reduce(u64 x)
{
	x = (x & PRIME) + (x >> 61);
	return x >= PRIME ? x - PRIME : x;
}

static u64 multiply(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return reduce(((u64)product & PRIME) + (u64)(product >> 61));
}

struct fingerprint_key fingerprint_key_from(const u8 random[16])
{
	struct fingerprint_key key;

	memcpy(key.point, random, sizeof(key.point));
	key.point[0] = reduce(key.point[0]);
	key.point[1] = reduce(key.point[1]);
	return key;
}

static void add_digit(struct fingerprint *f, const struct fingerprint_key *key, u64 digit)
{
	f->sum[0] = reduce(multiply(f->sum[0], key->point[0]) + digit);
	f->sum[1] = reduce(multiply(f->sum[1], key->point[1]) + digit);
}

void fingerprint_add(struct fingerprint *fingerprint, const struct fingerprint_key *key,
		     const void *data, size_t size)
{
	struct fingerprint f = *fingerprint;
	const u8 *p = data;
	size_t left = size;
	u64 digit;

	for (; left >= 8; left -= DIGIT_BYTES, p += DIGIT_BYTES) {
		memcpy(&digit, p, sizeof(digit));
		add_digit(&f, key, digit & ((1ULL << 8 * DIGIT_BYTES) - 1));
	}
	for (; left; left--, p++)
		add_digit(&f, key, *p);
	add_digit(&f, key, size);
	*fingerprint = f;
}
