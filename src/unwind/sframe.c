/* SPDX-License-Identifier: GPL-2.0-only */
/* From SFrame's records to rows. */
#include "unwind/sframe.h"

#define MAGIC 0xdee2
#define ABI_AMD64 3		/* little-endian */
#define HEADER_SIZE 28
#define F_START_PCREL 4
#define PIECE_WORK 16		/* in rows: what each piece costs beside its rows, and more */

/* A function's record. */
#define FUNCTION_SIZE_1 17
#define FUNCTION_SIZE_2 20
#define INFO_ROW_TYPE 0x0f	/* log2 of the bytes of a row's address: 0 to 2 */
#define INFO_REPEATS 0x10
#define REPEAT_1 16		/* version 1 does not say: what a PLT's entry has on x86-64 */

/* A row's info byte. */
#define ROW_BY_SP 0x01
#define ROW_NR_OFFSETS(info) ((info) >> 1 & 15)
#define ROW_OFFSET_TYPE(info) ((info) >> 5 & 3)		/* log2 of the bytes of an offset: 0 to 2 */

static bool is_valid_header(const struct sframe *sframe, u64 size)
{
	u64 bytes = sframe->version == 1 ? FUNCTION_SIZE_1 : FUNCTION_SIZE_2;

	return sframe->functions <= size && sframe->rows <= size &&
	       sframe->nr_functions <= (size - sframe->functions) / bytes &&
	       sframe->rows_size <= size - sframe->rows;
}

int sframe_open(const struct cfi_section *section, struct sframe *ret)
{
	struct sframe sframe = { .section = section };
	u8 flags, abi, aux;
	struct cursor c;
	u16 magic;

	if (!cfi_section_has(section, 0, HEADER_SIZE))
		return -ENODATA;
	cursor_init(&c, section->data, HEADER_SIZE);
	magic = cursor_u16(&c);
	sframe.version = cursor_u8(&c);
	flags = cursor_u8(&c);
	abi = cursor_u8(&c);
	sframe.fp_offset = cursor_u8(&c);
	sframe.ra_offset = cursor_u8(&c);
	aux = cursor_u8(&c);
	sframe.nr_functions = cursor_u32(&c);
	cursor_skip(&c, sizeof(u32));	/* the number of rows */
	sframe.rows_size = cursor_u32(&c);
	sframe.functions = HEADER_SIZE + aux + (u64)cursor_u32(&c);
	sframe.rows = HEADER_SIZE + aux + (u64)cursor_u32(&c);
	if (magic != MAGIC)
		return -EBADMSG;
	if ((sframe.version != 1 && sframe.version != 2) || abi != ABI_AMD64)
		return -EOPNOTSUPP;
	if (!is_valid_header(&sframe, section->size))
		return -ENODATA;
	sframe.start_pcrel = flags & F_START_PCREL;
	*ret = sframe;
	return 0;
}

/* The version's own part of a record: what kind of function it is. */
static int read_kind(const struct sframe *sframe, struct cursor *c,
		     struct sframe_function *function)
{
	u8 info = cursor_u8(c);
	u8 repeat = sframe->version == 1 ? REPEAT_1 : cursor_u8(c);

	if ((info & INFO_ROW_TYPE) > 2)
		return -EBADMSG;
	function->address_bytes = 1 << (info & INFO_ROW_TYPE);
	function->repeat = info & INFO_REPEATS ? repeat : 0;
	return info & INFO_REPEATS && !repeat ? -EBADMSG : 0;
}

int sframe_function_read(const struct sframe *sframe, u32 i, struct sframe_function *ret)
{
	u64 size = sframe->version == 1 ? FUNCTION_SIZE_1 : FUNCTION_SIZE_2;
	u64 at = sframe->functions + i * size;
	struct sframe_function function;
	struct cursor c;
	u64 rows;
	int err;

	if (i >= sframe->nr_functions)
		return -EBADMSG;
	if (!cfi_section_has(sframe->section, at, size))
		return -ENODATA;
	cursor_init(&c, sframe->section->data + at, size);
	function.start = sframe->section->address + (s64)(s32)cursor_u32(&c);
	if (sframe->start_pcrel)
		function.start += at;
	function.size = cursor_u32(&c);
	rows = cursor_u32(&c);
	function.rows = sframe->rows + rows;
	function.nr_rows = cursor_u32(&c);
	err = read_kind(sframe, &c, &function);
	if (err)
		return err;
	if (rows > sframe->rows_size || function.start + function.size < function.start)
		return -EBADMSG;
	*ret = function;
	return 0;
}

/* Where the rows of a function are read. */
struct run {
	const struct sframe *sframe;
	const struct sframe_function *function;
	struct cursor c;
	u64 *budget;
	cfi_row_fn fn;
	void *ctx;
	u64 piece;	/* start of the one that the rows are read for */
	u64 next;	/* the lowest address that the next row may have */
};

static u64 read_unsigned(struct cursor *c, unsigned int bytes)
{
	return bytes == 1 ? cursor_u8(c) : bytes == 2 ? cursor_u16(c) : cursor_u32(c);
}

static s32 read_signed(struct cursor *c, unsigned int bytes)
{
	return bytes == 1 ? (s8)cursor_u8(c) : bytes == 2 ? (s16)cursor_u16(c) : (s32)cursor_u32(c);
}

static void set_rule(struct cfi_rule *rule, enum cfi_rule_kind kind, u8 reg, s32 offset)
{
	rule->kind = kind;
	rule->reg = reg;
	rule->offset = offset;
}

/*
 * @offsets are the CFA's and, where the header has no place for all functions, the return address's
 * and the frame pointer's; without the latter, that is as it was. Padding is zero.
 */
static int make_row(const struct sframe *sframe, u8 info, const s32 *offsets, unsigned int nr,
		    struct cfi_row *row)
{
	unsigned int used = 1;
	s32 ra = sframe->ra_offset, fp = sframe->fp_offset;

	memset(row, 0, sizeof(*row));
	if (!ra && used < nr)
		ra = offsets[used++];
	if (!fp && used < nr)
		fp = offsets[used++];
	if (!nr || !ra || used != nr)
		return -EBADMSG;
	row->kind = CFI_ROW_CALL;
	set_rule(&row->cfa, CFI_REG_OFFSET, info & ROW_BY_SP ? X86_RSP : X86_RBP, offsets[0]);
	set_rule(&row->ra, CFI_AT_CFA, 0, ra);
	if (fp)
		set_rule(&row->bp, CFI_AT_CFA, 0, fp);
	for (unsigned int i = 0; i < CFI_SAVED_NR; i++)
		row->saved[i].kind = CFI_UNDEFINED;
	return 0;
}

/* Whether what was read from offset @from of the section on is no hole. */
static bool is_known(const struct run *run, u64 from)
{
	u64 to = run->function->rows + cursor_offset(&run->c);

	return cfi_section_has(run->sframe->section, from, to - from);
}

/* Reads a row, for *@ret_at from the piece's start. */
static int read_row(struct run *run, u64 *ret_at, struct cfi_row *row)
{
	u64 from = run->function->rows + cursor_offset(&run->c);
	unsigned int nr, bytes;
	s32 offsets[15];
	u8 info;

	*ret_at = read_unsigned(&run->c, run->function->address_bytes);
	info = cursor_u8(&run->c);
	nr = ROW_NR_OFFSETS(info);
	bytes = 1U << ROW_OFFSET_TYPE(info);
	for (unsigned int i = 0; i < nr; i++)
		offsets[i] = read_signed(&run->c, bytes);
	if (!is_known(run, from))
		return -ENODATA;
	if (cursor_error(&run->c) || bytes > sizeof(s32))
		return -EBADMSG;
	return make_row(run->sframe, info, offsets, nr, row);
}

static int hand_out_undefined(struct run *run, u64 at)
{
	struct cfi_row row;

	memset(&row, 0, sizeof(row));
	row.kind = CFI_ROW_UNDEFINED;
	return run->fn(run->ctx, at, &row);
}

/* The next row; the first begins where the piece does, and all are in it. */
static int run_row(struct run *run, u64 end)
{
	struct cfi_row row;
	u64 at;
	int err;

	if (!*run->budget)
		return -E2BIG;
	--*run->budget;
	err = read_row(run, &at, &row);
	if (err)
		return err;
	at += run->piece;
	if (at < run->next)
		return -EBADMSG;
	if (at >= end)		/* a last piece that is shorter */
		return 0;
	if (run->next == run->piece && at > run->piece) {
		err = hand_out_undefined(run, run->piece);
		if (err)
			return err;
	}
	run->next = at + 1;
	return run->fn(run->ctx, at, &row);
}

/* All rows for the piece at run->piece. */
static int run_piece(struct run *run, u64 end)
{
	const struct cfi_section *section = run->sframe->section;
	const struct sframe_function *function = run->function;
	u64 rows_end = run->sframe->rows + run->sframe->rows_size;
	int err = 0;

	if (*run->budget < PIECE_WORK)
		return -E2BIG;
	*run->budget -= PIECE_WORK;
	cursor_init(&run->c, section->data + function->rows, rows_end - function->rows);
	run->next = run->piece;
	for (u32 i = 0; i < function->nr_rows && !err; i++)
		err = run_row(run, end);
	if (err || run->next > run->piece)
		return err;
	run->next++;	/* no row is in it */
	return hand_out_undefined(run, run->piece);
}

int sframe_function_run(const struct sframe *sframe, const struct sframe_function *function,
			u64 *budget, cfi_row_fn fn, void *ctx)
{
	u64 end = function->start + function->size, step;
	struct run run = {
		.sframe = sframe,
		.function = function,
		.budget = budget,
		.fn = fn,
		.ctx = ctx,
	};
	int err = 0, last;

	for (run.piece = function->start; run.piece < end && !err; run.piece += step) {
		step = function->repeat ? MIN(function->repeat, end - run.piece) : function->size;
		err = run_piece(&run, run.piece + step);
	}
	if (err != -EBADMSG && err != -ENODATA)
		return err;
	last = run.next < end ? hand_out_undefined(&run, run.next) : 0;
	return last ? last : err;
}
