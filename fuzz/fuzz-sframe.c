/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A byte for the pages that are missing, then an .sframe section. Whatever it holds, rows ascend
 * and are inside their function, and the work is bounded.
 */
#include <string.h>

#include "build-cfi.h"
#include "unwind/sframe.h"

#define PLACE 0x4000ULL
#define BUDGET 20000

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct check {
	const struct sframe_function *function;
	u64 next;	/* the lowest address that a row may have now */
	u32 nr;
	u8 last;	/* the last row's kind */
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int take_row(void *ctx, u64 at, const struct cfi_row *row)
{
	struct check *check = ctx;

	require(at >= check->next && at - check->function->start < check->function->size);
	require(check->nr || at == check->function->start);
	require(row->kind == CFI_ROW_CALL || row->kind == CFI_ROW_UNDEFINED);
	if (row->kind == CFI_ROW_CALL) {
		require(row->cfa.kind == CFI_REG_OFFSET);
		require(row->cfa.reg == X86_RSP || row->cfa.reg == X86_RBP);
		require(row->ra.kind == CFI_AT_CFA && row->ra.offset);
		require(row->bp.kind == CFI_SAME || row->bp.kind == CFI_AT_CFA);
	}
	check->next = at + 1;
	check->last = row->kind;
	check->nr++;
	return 0;
}

static void run(const struct sframe *sframe, u64 *budget)
{
	for (u32 i = 0; i < sframe->nr_functions && *budget; i++) {
		struct sframe_function function = { 0 };
		struct check check = { .function = &function };
		int err = sframe_function_read(sframe, i, &function);

		require(err == 0 || err == -ENODATA || err == -EBADMSG);
		--*budget;
		if (err)
			continue;
		check.next = function.start;
		err = sframe_function_run(sframe, &function, budget, take_row, &check);
		require(err == 0 || err == -ENODATA || err == -EBADMSG || err == -E2BIG);
		require(err != -E2BIG || *budget < 16);
		require(err || check.nr || !function.size);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	struct strbuf bytes = STRBUF_INIT;
	struct cfi_section section;
	struct sframe sframe;
	u64 budget = BUDGET;

	if (size < 2)
		return 0;
	strbuf_add(&bytes, data + 1, size - 1);
	if (strbuf_error(&bytes) || build_cfi_image(&bytes, bytes.len, &image))
		goto out;
	for (u64 at = 0, bit = 0; at < image->size && bit < 8; at += FILE_IMAGE_PAGE, bit++) {
		if (!(data[0] >> bit & 1))
			continue;
		memset(image->data + at, 0, MIN(image->size - at, FILE_IMAGE_PAGE + 0ULL));
		image->present[0] &= ~(1ULL << bit);
	}
	section = (struct cfi_section){
		.data = image->data, .size = image->size, .address = PLACE, .image = image,
	};
	if (sframe_open(&section, &sframe) == 0)
		run(&sframe, &budget);
out:
	strbuf_deinit(&bytes);
	return 0;
}
