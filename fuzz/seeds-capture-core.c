/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds for fuzz-capture-core: the guests of the unit test, in user mode and on each stack. */
#include "base/strbuf.h"
#include "build-shot.h"
#include "build.h"
#include "seeds.h"

#define NO_HOLE 0xffffffff

static int write_seed(const char *name, struct build_shot *build)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	strbuf_add(&sb, &build->regs, sizeof(build->regs));
	strbuf_add(&sb, &build->vm.guest, sizeof(build->vm.guest));
	put_u64(&sb, 0);
	put_u32(&sb, WIRE_MAX_USER_FRAMES);
	put_u32(&sb, NO_HOLE);
	for (u64 page = 0; page < BUILD_SHOT_PAGES && page * SHOT_PAGE < build->pt.next; page++)
		strbuf_add(&sb, mem_fake_page(build->mem, GPA(page * SHOT_PAGE)), SHOT_PAGE);
	return strbuf_error(&sb) ?: seed_write(name, sb.data, sb.len);
}

static int write_kernel_seeds(struct build_shot *build)
{
	u64 irq_end = BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES, nmi_end = BUILD_SHOT_NMI + SHOT_PAGE;
	int err;

	build_shot_enter_kernel(build, BUILD_SHOT_THREAD + 0x3000);
	err = write_seed("thread", build);
	err = err ?: build_shot_set(build, irq_end - 8, BUILD_SHOT_THREAD + 0x3000);
	err = err ?: build_shot_hw_frame(build, nmi_end, 0x10, BUILD_SHOT_KERNEL_PC,
					 irq_end - 0x100);
	build_shot_enter_kernel(build, nmi_end - 0x100);
	return err ?: write_seed("nmi", build);
}

static int write_signal_seed(struct build_shot *build)
{
	int err = build_shot_alt_stack(build);

	build->regs.gpr[X86_RSP] = BUILD_SHOT_ALT + 0x100;
	err = err ?: build_shot_signal(build, BUILD_SHOT_ALT + 0x400, BUILD_SHOT_FIRST_FRAME);
	return err ?: write_seed("signal", build);
}

/* In a frame with pages that were never touched. */
static int write_hole_seed(struct build_shot *build)
{
	u64 hole = build_pagetable_entry(&build->pt, BUILD_SHOT_USER + SHOT_PAGE, 0);
	u64 present = build_pagetable_get(&build->pt, hole);
	int err = build_pagetable_put(&build->pt, hole, 0);

	err = err ?: write_seed("hole", build);
	return err ?: build_pagetable_put(&build->pt, hole, present);
}

int write_seeds(void)
{
	static const u8 modes[] = { MMU_MODE_X86_4LEVEL, MMU_MODE_X86_5LEVEL };
	struct build_shot build;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modes) && !err; i++) {
		err = build_shot_init(&build, modes[i]);
		err = err ?: write_seed(i ? "user-5" : "user-4", &build);
		if (!err && !i) {
			err = write_hole_seed(&build);
			err = err ?: write_signal_seed(&build);
			err = err ?: write_kernel_seeds(&build);
		}
		build_shot_deinit(&build);
	}
	return err;
}
