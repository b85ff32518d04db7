/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module list is read after changes to the memory that it and the modules are in. The first
 * byte chooses the release, the rest are patches (build-patches.h) to the module area.
 */
#include "build-patches.h"
#include "guest/guest.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define NR_RELEASES 2

struct target {
	struct build_guest build;
	struct guest_cache *cache;
	struct guest *first;	/* keeps the kernel in memory */
};

static struct target *target_of(unsigned int i)
{
	static const size_t releases[NR_RELEASES] = { 2, 6 };
	static struct target *targets[NR_RELEASES];
	struct build_guest_options options = build_guest_release(releases[i]);
	struct vcpu_regs regs;
	struct target *t = targets[i];

	if (t)
		return t;
	t = targets[i] = calloc(1, sizeof(*t));
	if (!t)
		abort();
	build_guest_init(&t->build, &options);
	build_guest_add_module(&t->build, "kvm", 4);
	build_guest_add_module(&t->build, "ext4", 20);
	regs = build_guest_regs(&t->build);
	if (guest_cache_create(NULL, &t->cache) ||
	    guest_create(mem_fake_reader(t->build.mem), t->cache, &t->first) ||
	    guest_identify(t->first, &regs, NULL))
		abort();
	return t;
}

static void use(struct guest *guest)
{
	for (size_t i = 0; i < guest_nr_modules(guest); i++) {
		const struct guest_module *module = guest_module(guest, i), *found;
		gva_t pc = GVA(module->start.addr + module->size / 2);
		struct cfi_row row;

		guest_find_row(guest, pc, &row);
		guest_check_kernel_call(guest, pc);
		if (guest_find_symbols(guest, pc, &found) && found)
			symtab_find(found->symbols, pc.addr);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct build_patches patches = { 0 };
	struct target *t;
	struct guest *guest;
	struct vcpu_regs regs;

	if (!size)
		return 0;
	t = target_of(data[0] % NR_RELEASES);
	patches.guest = &t->build;
	patches.start = 0xffffffffc0000000;
	patches.size = t->build.next_module - patches.start;
	regs = build_guest_regs(&t->build);
	if (guest_create(mem_fake_reader(t->build.mem), t->cache, &guest) ||
	    guest_identify(guest, &regs, NULL))
		abort();
	build_patches_apply(&patches, data + 1, size - 1);
	guest_refresh_modules(guest);
	use(guest);
	build_patches_undo(&patches);
	guest_refresh_modules(guest);
	if (guest_nr_modules(guest) != 2)
		abort();
	guest_destroy(guest);
	return 0;
}
