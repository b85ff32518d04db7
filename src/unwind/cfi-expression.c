/* SPDX-License-Identifier: GPL-2.0-only */
/* DWARF expressions that a rule can say. Facts: DWARF 5, 2.5 and 7.7.1. */
#include "unwind/cfi-expression.h"

#include <dwarf.h>

/* The number that @op pushes, which has to be added (or taken off) at once. */
static s64 read_constant(struct cursor *c, u8 op)
{
	s64 value;

	switch (op) {
	case DW_OP_const1u:
		value = cursor_u8(c);
		break;
	case DW_OP_const1s:
		value = (s8)cursor_u8(c);
		break;
	case DW_OP_const2u:
		value = cursor_u16(c);
		break;
	case DW_OP_const2s:
		value = (s16)cursor_u16(c);
		break;
	case DW_OP_const4u:
		value = cursor_u32(c);
		break;
	case DW_OP_const4s:
		value = (s32)cursor_u32(c);
		break;
	default:
		if (op < DW_OP_lit0 || op > DW_OP_lit31)
			cursor_fail(c, -EOPNOTSUPP);
		value = op - DW_OP_lit0;
	}
	switch (cursor_u8(c)) {
	case DW_OP_plus:
		return value;
	case DW_OP_minus:
		return -value;
	default:
		cursor_fail(c, -EOPNOTSUPP);
		return 0;
	}
}

static void expression_add(struct cfi_expression *e, struct cursor *c, s64 value)
{
	s64 *sum = e->load ? &e->add : &e->offset;

	if (!e->has_base || value != (s32)value)
		cursor_fail(c, -EOPNOTSUPP);
	else
		*sum += value;
}

static void expression_step(struct cfi_expression *e, struct cursor *c, u8 op)
{
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		if (e->has_base)
			cursor_fail(c, -EOPNOTSUPP);
		e->has_base = true;
		e->base = op - DW_OP_breg0;
		expression_add(e, c, cursor_sleb128(c));
	} else if (op == DW_OP_deref) {
		if (e->load || !e->has_base)
			cursor_fail(c, -EOPNOTSUPP);
		e->load = true;
	} else if (op == DW_OP_plus_uconst) {
		expression_add(e, c, cursor_uleb128(c));
	} else {
		expression_add(e, c, read_constant(c, op));
	}
}

bool cfi_expression_read(struct cursor *c, struct cfi_expression *ret)
{
	struct cfi_expression e = { 0 };

	while (cursor_left(c))
		expression_step(&e, c, cursor_u8(c));
	*ret = e;
	return !cursor_error(c) && e.has_base && e.offset == (s32)e.offset && e.add == (s32)e.add;
}

/*
 * What GNU ld writes for the lazy PLT (bfd/elfxx-x86.h, elf64-x86-64.c and elf32-i386.c, since
 * 2.22, 2011): breg7 (8), breg16 (0), lit15, and, lit11, ge, lit3, shl, plus; for i386 breg4 (4),
 * breg8 (0) and lit2. The number of bytes differs with the layout of the entries.
 */
bool cfi_expression_is_plt(const struct cursor *c, bool is_32, struct cfi_rule *ret)
{
	const u8 sp = is_32 ? DW_OP_breg4 : DW_OP_breg7, ip = is_32 ? DW_OP_breg8 : DW_OP_breg16;
	const u8 middle[] = { ip, 0, DW_OP_lit15, DW_OP_and };
	const u8 tail[] = { DW_OP_ge, is_32 ? DW_OP_lit2 : DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const u8 *p = c->start;

	if (cursor_left(c) != 3 + sizeof(middle) + sizeof(tail) || p[0] != sp || p[1] >= 0x40 ||
	    memcmp(p + 2, middle, sizeof(middle)) || p[6] < DW_OP_lit0 || p[6] > DW_OP_lit15 ||
	    memcmp(p + 7, tail, sizeof(tail)))
		return false;
	ret->kind = CFI_PLT;
	ret->reg = p[6] - DW_OP_lit0;
	ret->offset = p[1];
	return true;
}
