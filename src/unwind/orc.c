/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ORC tables: lookup and the translation of their entries to rows.
 *
 * Facts from arch/x86/include/asm/orc_types.h and arch/x86/kernel/unwind_orc.c. An entry is two
 * s16 (what to add for the stack pointer, where the frame pointer was saved) and a u16 of flags:
 *
 *	bits	0–3	4–7	8–9	10	11	12–15
 *	4.18	sp_reg	bp_reg	type	end	0	0
 *	6.3	sp_reg	bp_reg	type	signal	end	0
 *	6.4	sp_reg	bp_reg	type, 3 bits	signal	0
 *
 * 7.1 is as 6.4 but for the numbers of the registers.
 *
 * 4.14 to 4.17 had no end bit; their outermost frames look undefined, and so they are to us.
 */
#include "unwind/orc.h"

#include <string.h>

#include "arch/x86-regs.h"

enum orc_reg {
	ORC_REG_UNDEFINED,
	ORC_REG_PREV_SP,
	ORC_REG_DX,
	ORC_REG_DI,
	ORC_REG_BP,
	ORC_REG_SP,
	ORC_REG_R10,
	ORC_REG_R13,
	ORC_REG_BP_INDIRECT,
	ORC_REG_SP_INDIRECT,
	ORC_REG_AX,		/* not before 6.4 */
	ORC_REG_NONE = 15,	/* no format has it */
};

enum orc_type {
	ORC_TYPE_UNDEFINED,
	ORC_TYPE_END_OF_STACK,
	ORC_TYPE_CALL,
	ORC_TYPE_REGS,
	ORC_TYPE_REGS_PARTIAL,
};

/* An entry of any format in the terms of the newest. */
struct orc_entry {
	s16 sp_offset;
	s16 bp_offset;
	u8 sp_reg;
	u8 bp_reg;
	u8 type;
	bool signal;
};

/* Before 6.4 types started at CALL, and "undefined" was an sp_reg that the end bit told apart. */
static int decode_old_type(u16 flags, bool end, struct orc_entry *entry)
{
	unsigned int type = ((flags >> 8) & 3) + ORC_TYPE_CALL;

	if (type > ORC_TYPE_REGS_PARTIAL)
		return -EBADMSG;
	if (entry->sp_reg == ORC_REG_UNDEFINED)
		type = end ? ORC_TYPE_END_OF_STACK : ORC_TYPE_UNDEFINED;
	entry->type = type;
	return 0;
}

static int decode_end(u16 flags, struct orc_entry *entry)
{
	int err;

	if (flags & 0xf800)
		return -EBADMSG;
	err = decode_old_type(flags, flags & 1 << 10, entry);
	if (err)
		return err;
	/* Not stored yet: the unwinder took every pt_regs for a signal frame. */
	entry->signal = entry->type == ORC_TYPE_REGS || entry->type == ORC_TYPE_REGS_PARTIAL;
	return 0;
}

static int decode_signal(u16 flags, struct orc_entry *entry)
{
	if (flags & 0xf000)
		return -EBADMSG;
	entry->signal = flags & 1 << 10;
	return decode_old_type(flags, flags & 1 << 11, entry);
}

static int decode_types(u16 flags, struct orc_entry *entry)
{
	if (flags & 0xf000)
		return -EBADMSG;
	entry->signal = flags & 1 << 11;
	entry->type = (flags >> 8) & 7;
	return entry->type <= ORC_TYPE_REGS_PARTIAL ? 0 : -EBADMSG;
}

/* The numbers of 7.1 in those of before. */
static u8 old_register(u8 reg)
{
	static const u8 old[] = {
		ORC_REG_UNDEFINED, ORC_REG_AX, ORC_REG_DX, ORC_REG_SP, ORC_REG_BP, ORC_REG_DI,
		ORC_REG_R10, ORC_REG_R13, ORC_REG_PREV_SP, ORC_REG_SP_INDIRECT,
		ORC_REG_BP_INDIRECT,
	};

	return reg < ARRAY_SIZE(old) ? old[reg] : ORC_REG_NONE;
}

static int decode_entry(enum orc_format format, const u8 *data, struct orc_entry *ret)
{
	u16 flags;

	memcpy(&ret->sp_offset, data, sizeof(ret->sp_offset));
	memcpy(&ret->bp_offset, data + 2, sizeof(ret->bp_offset));
	memcpy(&flags, data + 4, sizeof(flags));
	ret->sp_reg = flags & 0xf;
	ret->bp_reg = (flags >> 4) & 0xf;
	switch (format) {
	case ORC_FORMAT_END:
		return decode_end(flags, ret);
	case ORC_FORMAT_SIGNAL:
		return decode_signal(flags, ret);
	case ORC_FORMAT_REORDERED:
		ret->sp_reg = old_register(ret->sp_reg);
		ret->bp_reg = old_register(ret->bp_reg);
		return decode_types(flags, ret);
	case ORC_FORMAT_TYPES:
		return decode_types(flags, ret);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * The indirect forms differ: BP_INDIRECT adds before it loads; SP_INDIRECT loads from the stack
 * pointer itself and adds to what it found there, since 5.12 (87ccc826bf1c "x86/unwind/orc: Change
 * REG_SP_INDIRECT"). Before, it added first, but only entry code used it, with an offset of 0.
 *
 * The kernel leaves out the offset of R10, R13, DI, DX and AX. It is 0 in compiled code. Where it
 * is not (8 from RDX, asm_exc_nmi before it has copied the frame) the hint is right and the
 * kernel's reading is not: RDX then points at its own saved value, just below the frame.
 */
static int fill_cfa(const struct orc_entry *entry, struct cfi_row *row)
{
	static const u8 regs[] = {
		[ORC_REG_DX] = X86_RDX,
		[ORC_REG_DI] = X86_RDI,
		[ORC_REG_BP] = X86_RBP,
		[ORC_REG_SP] = X86_RSP,
		[ORC_REG_R10] = X86_R10,
		[ORC_REG_R13] = X86_R13,
		[ORC_REG_BP_INDIRECT] = X86_RBP,
		[ORC_REG_SP_INDIRECT] = X86_RSP,
		[ORC_REG_AX] = X86_RAX,
	};

	if (entry->sp_reg < ORC_REG_DX || entry->sp_reg >= ARRAY_SIZE(regs))
		return -EBADMSG;
	row->cfa.kind = CFI_REG_OFFSET;
	row->cfa.reg = regs[entry->sp_reg];
	row->cfa.offset = entry->sp_offset;
	if (entry->sp_reg == ORC_REG_BP_INDIRECT || entry->sp_reg == ORC_REG_SP_INDIRECT)
		row->cfa.kind = CFI_AT_REG;
	if (entry->sp_reg == ORC_REG_SP_INDIRECT) {
		row->cfa.offset = 0;
		row->cfa_add = entry->sp_offset;
	}
	return 0;
}

static int fill_bp(const struct orc_entry *entry, struct cfi_row *row)
{
	switch (entry->bp_reg) {
	case ORC_REG_UNDEFINED:		/* not saved: as it is, or as in the pt_regs */
		row->bp.kind = CFI_SAME;
		return 0;
	case ORC_REG_PREV_SP:
		row->bp.kind = CFI_AT_CFA;
		break;
	case ORC_REG_BP:
		row->bp.kind = CFI_AT_REG;
		row->bp.reg = X86_RBP;
		break;
	default:
		return -EBADMSG;
	}
	row->bp.offset = entry->bp_offset;
	return 0;
}

static void fill_ra(const struct orc_entry *entry, struct cfi_row *row)
{
	row->ra.kind = CFI_AT_CFA;
	switch (entry->type) {
	case ORC_TYPE_REGS:
		row->kind = CFI_ROW_REGS;
		row->ra.offset = X86_PT_IRET_OFFSET;
		break;
	case ORC_TYPE_REGS_PARTIAL:
		row->kind = CFI_ROW_REGS_PARTIAL;
		row->ra.offset = 0;
		break;
	default:
		row->kind = CFI_ROW_CALL;
		row->ra.offset = -(s32)sizeof(u64);
	}
}

int orc_entry_decode(enum orc_format format, const u8 *data, struct cfi_row *ret_row)
{
	struct cfi_row row = { 0 };
	struct orc_entry entry;
	int err;

	err = decode_entry(format, data, &entry);
	if (err)
		return err;
	if (entry.type <= ORC_TYPE_END_OF_STACK) {
		row.kind = entry.type == ORC_TYPE_UNDEFINED ? CFI_ROW_UNDEFINED : CFI_ROW_END;
		*ret_row = row;
		return 0;
	}
	err = fill_cfa(&entry, &row);
	if (!err)
		err = fill_bp(&entry, &row);
	if (err)
		return err;
	fill_ra(&entry, &row);
	row.interrupted = entry.signal;
	*ret_row = row;
	return 0;
}

/* Relative addresses to offsets from the first. */
static int fill_offsets(struct orc_table *table, u64 ip_base, const u8 *ip)
{
	u64 previous = 0;

	for (u32 i = 0; i < table->nr; i++) {
		u64 address;
		s32 relative;

		memcpy(&relative, ip + (size_t)i * sizeof(relative), sizeof(relative));
		address = ip_base + (u64)i * sizeof(relative) + relative;
		if (i == 0)
			table->start = previous = address;
		if (address < previous || address - table->start > UINT32_MAX)
			return -EBADMSG;
		table->offset[i] = address - table->start;
		previous = address;
	}
	return 0;
}

static int copy_tables(struct orc_table *table, u64 ip_base, const void *ip, const void *entries)
{
	size_t size = (size_t)table->nr * ORC_ENTRY_SIZE;
	int err;

	table->offset = malloc((size_t)table->nr * sizeof(*table->offset));
	table->entries = malloc(size);
	if (!table->offset || !table->entries)
		return -ENOMEM;
	memcpy(table->entries, entries, size);
	err = fill_offsets(table, ip_base, ip);
	return err ? err : block_index_init(&table->index, table->offset, table->nr);
}

int orc_table_create(enum orc_format format, u64 ip_base, const void *ip, const void *entries,
		     u32 nr, struct orc_table **ret)
{
	_cleanup_(orc_table_destroy) struct orc_table *table = NULL;
	int err;

	if (format < ORC_FORMAT_END || format > ORC_FORMAT_REORDERED)
		return -EOPNOTSUPP;
	if (nr == 0)
		return -EBADMSG;
	if (nr > ORC_MAX_ENTRIES)
		return -E2BIG;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->format = format;
	table->nr = nr;
	err = copy_tables(table, ip_base, ip, entries);
	if (err)
		return err;
	*ret = TAKE_PTR(table);
	return 0;
}

void orc_table_destroy(struct orc_table *table)
{
	if (!table)
		return;
	free(table->offset);
	free(table->entries);
	block_index_deinit(&table->index);
	free(table);
}

int orc_table_find(const struct orc_table *table, gva_t pc, struct cfi_row *ret_row)
{
	u32 i;

	if (pc.addr < table->start)
		return -ENOENT;
	i = block_index_find(&table->index, table->offset, table->nr, pc.addr - table->start);
	return orc_entry_decode(table->format, table->entries + (size_t)i * ORC_ENTRY_SIZE,
				ret_row);
}
