/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses that stand for what no symbol could name: firmware, a guest of the guest. Each such
 * place is an object of 4 GiB with one symbol, at addresses that no x86-64 or arm64 processor has,
 * so that any reader of the file has a name for it; the lower 32 bits are the pc's.
 */
#ifndef PERFDATA_PLACE_H
#define PERFDATA_PLACE_H

#include "base/types.h"

#define PERFDATA_PLACE_START 0x7f00000000000000ULL
#define PERFDATA_PLACE_BYTES UINT32_MAX
#define PERFDATA_PLACES 256

/* Of @pc at @place, below PERFDATA_PLACES. */
static inline u64 perfdata_place_address(unsigned int place, u64 pc)
{
	return PERFDATA_PLACE_START + ((u64)place << 32) + (u32)pc;
}

static inline bool perfdata_is_place(u64 address)
{
	return address >= PERFDATA_PLACE_START &&
	       (address - PERFDATA_PLACE_START) >> 32 < PERFDATA_PLACES;
}

#endif
