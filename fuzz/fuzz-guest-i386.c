/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole guest of i386 is identified after changes to its memory: the GDT, the image, the tasks.
 * The first byte chooses the page tables, the next four are the GDT's base; the rest are changes,
 * each a u32 physical address, which wraps, a u8 size and as many bytes.
 */
#include "base/cursor.h"
#include "build-i386.h"
#include "guest/guest.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define MAX_CHANGES 64
#define SPAN 0x2100000U		/* of physical memory that holds something */

struct change {
	u32 gpa;
	u8 size;
	u8 before[255];
};

static struct build_i386 *build_of(u8 choice)
{
	static const u8 modes[] = { MMU_MODE_X86_PAE, MMU_MODE_X86_32_PSE, MMU_MODE_X86_32 };
	static struct build_i386 *builds[ARRAY_SIZE(modes)];
	unsigned int i = choice % ARRAY_SIZE(modes);

	if (!builds[i]) {
		builds[i] = calloc(1, sizeof(*builds[i]));
		if (!builds[i])
			abort();
		build_i386_init(builds[i], modes[i]);
	}
	return builds[i];
}

/* Holes stay holes. */
static bool apply(struct build_i386 *build, struct change *change, const u8 *bytes)
{
	if (mem_read(mem_fake_reader(build->mem), GPA(change->gpa), change->before, change->size))
		return false;
	return mem_fake_set(build->mem, GPA(change->gpa), bytes, change->size) == 0;
}

static unsigned int apply_all(struct build_i386 *build, struct cursor *c, struct change *changes)
{
	unsigned int nr = 0;

	while (nr < MAX_CHANGES) {
		u32 gpa = cursor_u32(c) % SPAN;
		u8 size = cursor_u8(c);
		const u8 *bytes = cursor_bytes(c, size);

		if (cursor_error(c))
			break;
		changes[nr] = (struct change){ .gpa = gpa, .size = size };
		nr += apply(build, &changes[nr], bytes);
	}
	return nr;
}

static void use(struct guest *guest)
{
	struct wire_guest config;
	struct cfi_row row;
	char *text = NULL;
	size_t size;

	guest_capture_config(guest, &config);
	for (u32 i = 0; i < 12; i++) {
		gva_t pc = GVA(BUILD_I386_HIGH |
			       (BUILD_I386_TEXT + BUILD_I386_FUNCTION + i * 256 + i));

		guest_find_row(guest, pc, &row);
		guest_check_kernel_call(guest, pc);
	}
	if (!guest_write_kallsyms(guest, &text, &size))
		free(text);
	guest_refresh_modules(guest);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct change changes[MAX_CHANGES];
	struct build_i386 *build;
	struct vcpu_regs regs;
	struct guest *guest;
	struct cursor c;
	unsigned int nr;

	if (size < 5)
		return 0;
	cursor_init(&c, data, size);
	build = build_of(cursor_u8(&c));
	regs = build_i386_regs(build);
	regs.x86.gdt_base = cursor_u32(&c);
	nr = apply_all(build, &c, changes);
	if (guest_create(mem_fake_reader(build->mem), NULL, &guest))
		abort();
	if (!guest_identify(guest, &regs, NULL))
		use(guest);
	guest_destroy(guest);
	while (nr--)
		if (mem_fake_set(build->mem, GPA(changes[nr].gpa), changes[nr].before,
				 changes[nr].size))
			abort();
	return 0;
}
