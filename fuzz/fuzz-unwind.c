/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile tables and a hostile record: a format, a depth, how many entries, the addresses, the
 * entries, the record. Whatever they hold, a chain comes out that keeps its promises.
 */
#include <string.h>

#include "base/cursor.h"
#include "unwind/orc.h"
#include "unwind/unwind.h"

#define IP_BASE 0xffffffff82000000ULL	/* as build-kernel.c has it */

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	return ctx ? orc_table_find(ctx, pc, ret_row) : -ENOENT;
}

/* By the last byte, as build-kernel.c judges. */
static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	u8 low = ret_addr.addr;

	(void)ctx;
	(void)user;
	return low == 0x60 ? -EFAULT : low & 0x20 ? -EBADMSG : 0;
}

static bool is_kernel_text(void *ctx, gva_t addr)
{
	(void)ctx;
	return addr.addr < IP_BASE;
}

/* By bits of the address, a rule of each kind. */
static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	static const struct cfi_rule return_address = { CFI_AT_CFA, 0, -8 };
	u8 kind = pc.addr >> 8 & 7, reg = pc.addr >> 12 & 15;
	s32 offset = (s8)(pc.addr >> 16);
	struct cfi_row row = {
		.kind = kind == 5 ? CFI_ROW_SIGCONTEXT : kind == 6 ? CFI_ROW_END : CFI_ROW_CALL,
		.interrupted = pc.addr & 1 << 24,
		.cfa = { kind == 1 ? CFI_AT_REG : CFI_REG_OFFSET, reg, offset },
		.cfa_add = offset / 2,
		.ra = kind == 2 ? (struct cfi_rule){ CFI_AT_REG, reg, 8 } : return_address,
		.bp = { pc.addr >> 25 & 7, reg, offset },
		.regs = { CFI_REG_OFFSET, X86_RSP, offset },
	};

	(void)ctx;
	for (unsigned int i = 0; i < CFI_SAVED_NR; i++)
		row.saved[i] = (struct cfi_rule){ ((pc.addr >> 28) + i) & 7, reg + i, -8 * (s32)i };
	if (kind == 7)
		return reg & 2 ? -EAGAIN : reg & 1 ? -ENODATA : -ENOENT;
	*ret_row = row;
	return 0;
}

static const struct unwind_ops ops = { find_row, check_call, is_kernel_text, find_user_row };

static void check_chain(const struct chain *chain, unsigned int max)
{
	if (chain->nr > max || chain->nr_kernel > chain->nr || chain->kernel_stop >= STOP_NR ||
	    chain->user_stop >= STOP_NR)
		abort();
	for (u32 i = 0; i < chain->nr; i++) {
		const struct frame *frame = &chain->frames[i];
		bool ret = frame->flags & FRAME_F_RETURN;

		if (frame->kind != (i < chain->nr_kernel ? FRAME_KERNEL : FRAME_USER) ||
		    ret == !!(frame->flags & FRAME_F_INTERRUPTED))
			abort();
	}
}

static void unwind(struct orc_table *table, unsigned int depth, const void *record, size_t size)
{
	struct unwinder unwinder = { &ops, table, depth };
	struct sample sample;
	struct chain chain;

	if (sample_init(&sample, record, size))
		return;
	unwind_sample(&unwinder, &sample, &chain);
	check_chain(&chain, depth ? depth : CHAIN_MAX_FRAMES);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(orc_table_destroy) struct orc_table *table = NULL;
	_cleanup_free_ void *record = NULL;	/* of its own, aligned as the ring buffer's */
	const void *ip, *entries;
	struct cursor c;
	u8 format, depth;
	u16 nr;

	cursor_init(&c, data, size);
	format = cursor_u8(&c);
	depth = cursor_u8(&c);
	nr = cursor_u16(&c);
	ip = cursor_bytes(&c, nr * sizeof(s32));
	entries = cursor_bytes(&c, nr * ORC_ENTRY_SIZE);
	if (cursor_error(&c) || !cursor_left(&c))
		return 0;
	orc_table_create(format, IP_BASE, ip, entries, nr, &table);
	size = cursor_left(&c);
	record = malloc(size);
	if (!record)
		return 0;
	memcpy(record, c.pos, size);
	unwind(table, depth, record, size);
	return 0;
}
