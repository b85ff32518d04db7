/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole guest is identified after changes to its kernel image. The first byte chooses the
 * release, the rest are patches (build-patches.h).
 */
#include "build-patches.h"
#include "guest/guest.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static struct build_guest *guest_of(unsigned int release)
{
	static struct build_guest *guests[BUILD_KALLSYMS_RELEASES];
	struct build_guest_options options = build_guest_release(release);

	if (guests[release])
		return guests[release];
	guests[release] = calloc(1, sizeof(**guests));
	if (!guests[release])
		abort();
	options.text_symbols_only = release == 5;
	build_guest_init(guests[release], &options);
	build_guest_add_module(guests[release], "kvm", 4);
	return guests[release];
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

	if (!size)
		return 0;
	patches.guest = guest_of(data[0] % BUILD_KALLSYMS_RELEASES);
	patches.start = patches.guest->start;
	regs = build_guest_regs(patches.guest);
	build_patches_apply(&patches, data + 1, size - 1);
	if (guest_create(mem_fake_reader(patches.guest->mem), NULL, &guest))
		abort();
	if (!guest_identify(guest, &regs, NULL))
		use(guest, patches.guest);
	guest_destroy(guest);
	build_patches_undo(&patches);
	return 0;
}
