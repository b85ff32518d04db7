/* SPDX-License-Identifier: GPL-2.0-only */
/* A make-believe kernel for the step loop. */
#include "build-kernel.h"

#define CALL(reg, offset, ...) \
	{ .sp_reg = BUILD_ORC_##reg, .sp_offset = (offset), .type = BUILD_ORC_TYPE_CALL, \
	  __VA_ARGS__ }
#define REGS(kind, reg, offset, is_signal) \
	{ .sp_reg = BUILD_ORC_##reg, .sp_offset = (offset), .type = BUILD_ORC_TYPE_##kind, \
	  .signal = (is_signal) }

static const struct build_orc_entry entries[FN_NR] = {
	[FN_END] = { .type = BUILD_ORC_TYPE_END },
	[FN_LEAF] = CALL(SP, 8),
	[FN_LOCALS] = CALL(SP, 24, .bp_reg = BUILD_ORC_PREV_SP, .bp_offset = -16),
	[FN_FRAME] = CALL(BP, 16, .bp_reg = BUILD_ORC_PREV_SP, .bp_offset = -16),
	[FN_REGS] = REGS(REGS, SP, 0, true),
	[FN_REGS_TRAP] = REGS(REGS, SP, 0, false),
	[FN_IRET] = REGS(PARTIAL, SP, 0, true),
	[FN_NMI] = REGS(PARTIAL, SP, 22 * 8, true),
	[FN_NMI_USER] = REGS(PARTIAL, DX, 8, true),
	[FN_SWITCH] = CALL(SP_INDIRECT, 16),
	[FN_DRAP] = CALL(BP_INDIRECT, -8, .bp_reg = BUILD_ORC_BP, .bp_offset = 0),
	[FN_R10] = CALL(R10, 0),
	[FN_R13] = CALL(R13, 0),
	[FN_DOWN] = CALL(SP, -64),
	[FN_UNDEFINED] = { .type = BUILD_ORC_TYPE_UNDEFINED },
	[FN_ENTRY] = REGS(PARTIAL, SP, 0, true),
	[FN_BAD] = CALL(SP, 8, .bp_reg = BUILD_ORC_R13),
};

int build_kernel_init(struct build_kernel *kernel, enum orc_format format)
{
	*kernel = (struct build_kernel){
		.orc = { .format = format, .ip_base = BUILD_KERNEL_TEXT + 0x1000000 },
	};
	for (unsigned int i = 0; i < FN_NR; i++) {
		build_orc_add(&kernel->orc, BUILD_KERNEL_TEXT + i * 0x100, &entries[i]);
		if (i == FN_ENTRY)
			build_orc_add(&kernel->orc, FN_RETURN(i), &entries[FN_REGS]);
	}
	build_orc_undefined(&kernel->orc, BUILD_KERNEL_TEXT + FN_NR * 0x100);
	return build_orc_table(&kernel->orc, &kernel->table);
}

void build_kernel_deinit(struct build_kernel *kernel)
{
	orc_table_destroy(kernel->table);
	build_orc_deinit(&kernel->orc);
}

static bool is_text(void *ctx, gva_t addr)
{
	(void)ctx;
	return addr.addr >= BUILD_KERNEL_TEXT && addr.addr < BUILD_KERNEL_TEXT + FN_NR * 0x100;
}

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct build_kernel *kernel = ctx;

	if (kernel->row_error)
		return kernel->row_error;
	return is_text(ctx, pc) ? orc_table_find(kernel->table, pc, ret_row) : -ENOENT;
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	(void)ctx;
	(void)user;
	switch (ret_addr.addr & 0xff) {
	case 0x50:
		return 0;
	case 0x60:
		return -EFAULT;
	default:
		return -EBADMSG;
	}
}

const struct unwind_ops build_kernel_ops = {
	.find_row = find_row,
	.check_call = check_call,
	.is_kernel_text = is_text,
};
