/* SPDX-License-Identifier: GPL-2.0-only */
/* What a guest does to sample cycles, on each model; with too few counters; with a filter. */
#include "base/strbuf.h"
#include "build.h"
#include "seeds.h"

#define EVENT ((1U << 22) | (1U << 20) | (3U << 16))

static void put_write(struct strbuf *sb, u8 range, u8 at, u64 value)
{
	put_u8(sb, 0);
	put_u8(sb, range);
	put_u8(sb, at);
	put_u64(sb, value);
}

static void put_run(struct strbuf *sb, u8 what, u64 n, u8 takes)
{
	put_u8(sb, 4);
	put_u8(sb, what);
	put_u16(sb, 0);
	put_u64(sb, n);
	put_u8(sb, takes);
}

static void put_filter(struct strbuf *sb)
{
	put_u8(sb, 7);
	put_u8(sb, 1);
	put_u8(sb, 0);
	put_u8(sb, 1);
	put_u8(sb, 7);
	for (unsigned int i = 0; i < 4; i++)
		put_u64(sb, 0x3c);
}

static int write_program(const char *name, u8 model, u8 counters, u8 policy, u8 selects)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	put_u8(&sb, model);
	put_u8(&sb, counters);
	put_u8(&sb, policy);
	put_u8(&sb, 0);
	for (u8 i = 0; i < 4; i++) {
		put_write(&sb, 0, i, ~0ULL - 100);
		put_write(&sb, selects, i, EVENT | (selects ? 0x3c : 0x76));
	}
	put_run(&sb, 0, 1000, 0);
	put_u8(&sb, 5);
	put_u32(&sb, 0x400);
	put_run(&sb, 0x82, 1000, 1);
	put_filter(&sb);
	put_run(&sb, 0, 1000, 0);
	put_u8(&sb, 3);
	put_u32(&sb, 1U << 30);
	put_u8(&sb, 6);
	put_u8(&sb, 0);
	put_u64(&sb, 5);
	put_u8(&sb, 8);
	put_u8(&sb, 2);
	put_u8(&sb, 9);
	put_run(&sb, 0, ~0ULL, 1);
	return strbuf_error(&sb) ? strbuf_error(&sb) : seed_write(name, sb.data, sb.len);
}

int write_seeds(void)
{
	static const char *const names[] = {
		"intel-v1", "intel-v2", "intel-v3", "intel-v4", "intel-v5", "amd-k7", "amd-core",
		"amd-v2",
	};
	int err = 0;

	for (u8 i = 0; !err && i < ARRAY_SIZE(names); i++)
		err = write_program(names[i], i, 7, 0, i < 5 ? 1 : 0);
	if (!err)
		err = write_program("fail", 1, 2, 0, 1);
	if (!err)
		err = write_program("multiplex", 2, 2, 1, 1);
	return err ? err : write_program("evict", 3, 1, 2, 1);
}
