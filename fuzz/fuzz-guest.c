/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole guest is identified after changes to its kernel image. The first byte chooses the
 * release, and x86 or arm64, the rest are patches (build-patches.h).
 */
#include "build-patches.h"
#include "guest/guest.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static struct build_guest *guest_of(unsigned int number)
{
	static struct build_guest *guests[2 * BUILD_KALLSYMS_RELEASES];
	unsigned int release = number % BUILD_KALLSYMS_RELEASES;
	struct build_guest_options options = build_guest_release(release);
	struct build_guest *guest = guests[number];

	if (guest)
		return guest;
	guest = guests[number] = calloc(1, sizeof(*guest));
	if (!guest)
		abort();
	options.arm64 = number >= BUILD_KALLSYMS_RELEASES;
	options.text_symbols_only = options.arm64 || release == 5;
	build_guest_init(guest, &options);
	build_guest_add_module(guest, "kvm", 4);
	if (options.arm64)
		build_guest_share_tables(guest);
	return guest;
}

/* Of arm64's every other in user mode, where the kernel's own table leads to it. */
static struct vcpu_regs regs_of(const struct build_guest *guest, unsigned int number)
{
	struct vcpu_regs regs = build_guest_regs(guest);
	struct mmu_mapping at;
	struct mmu_space space;

	if (!guest->options.arm64 || number % 2 || mmu_space_init(&space, &regs) ||
	    mmu_translate(&space, mem_fake_reader(guest->mem),
			  GVA(guest->start + BUILD_GUEST_PAGE_TABLE), &at))
		return regs;
	regs.user = 1;
	regs.pc = 0x400000;
	regs.arm64.vbar = 0xfffffbfffdbf6000;
	regs.arm64.ttbr1 = at.gpa.addr - 0x2000;
	return regs;
}

static void use(struct guest *guest, const struct build_guest *build)
{
	struct wire_guest config;
	struct cfi_row row;
	char *text = NULL;
	size_t size;

	guest_capture_config(guest, &config);
	for (unsigned int i = 0; i < 8; i++) {
		gva_t pc = GVA(build_guest_function(build, i * 70) + i * 5);

		guest_find_row(guest, pc, &row);
		guest_check_kernel_call(guest, pc);
	}
	if (!guest_write_kallsyms(guest, &text, &size))
		free(text);
	guest_refresh_modules(guest);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct build_patches patches = { .size = BUILD_GUEST_END };
	struct guest *guest;
	struct vcpu_regs regs;
	unsigned int number;

	if (!size)
		return 0;
	number = data[0] % (2 * BUILD_KALLSYMS_RELEASES);
	patches.guest = guest_of(number);
	patches.start = patches.guest->start;
	regs = regs_of(patches.guest, number);
	build_patches_apply(&patches, data + 1, size - 1);
	if (guest_create(mem_fake_reader(patches.guest->mem), NULL, &guest))
		abort();
	if (!guest_identify(guest, &regs, NULL))
		use(guest, patches.guest);
	guest_destroy(guest);
	build_patches_undo(&patches);
	return 0;
}
