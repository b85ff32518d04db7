/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file is read from a page cache whose memory was changed. The first byte chooses what the cache
 * is made of and whether the patches (build-patches.h) that follow are to the arrays and inodes or
 * to the "struct page".
 */
#include "build-patches.h"
#include "build-process.h"
#include "guest/file.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define NR_FORMS 3
#define NR_PAGES 256

struct target {
	struct build_guest build;
	struct build_process p;
	struct guest *guest;
	struct guest_process *process;
};

static void fill_cache(struct build_process *p, u64 inode, unsigned int form)
{
	if (form == 0) {
		build_cache_fill(p, inode, 0, 100, 0);
	} else if (form == 1) {
		build_cache_fill(p, inode, 0, 64, 3);
		build_cache_fill(p, inode, 64, 128, 6);
	} else {
		build_cache_fill(p, inode, 0, 128, 7);
		build_cache_fill(p, inode, 130, 3, 0);
	}
}

static struct target *target_of(unsigned int form)
{
	static struct target *targets[NR_FORMS];
	struct build_guest_options options = build_guest_release(6);
	struct target *t = targets[form];
	struct wire_task task;
	struct vcpu_regs regs;
	u64 file;

	if (t)
		return t;
	t = targets[form] = calloc(1, sizeof(*t));
	if (!t)
		abort();
	build_guest_init(&t->build, &options);
	build_process_init(&t->p, &t->build);
	file = build_named_file(&t->p, "lib", 9, NR_PAGES * 4096 - 5);
	fill_cache(&t->p, build_get(&t->p, file + BUILD_FILE_INODE), form);
	build_vma(&t->p, 0x400000, 0x400000 + NR_PAGES * 4096, 5, file, 0);
	build_hang_mappings(&t->p, 1, 0);
	regs = build_guest_regs(&t->build);
	task = build_process_task(&t->p);
	if (guest_create(mem_fake_reader(t->build.mem), NULL, &t->guest) ||
	    guest_identify(t->guest, &regs, NULL) ||
	    guest_process_read(t->guest, &task, &t->process))
		abort();
	return t;
}

static void use(const struct target *t)
{
	struct file_image *image = NULL;
	struct guest_file file;
	struct build_id id;

	if (!guest_file_open(t->guest, &t->process->files.data[0], &file)) {
		u8 bytes[6000];

		guest_file_read(&file, 3000, bytes, sizeof(bytes));
		guest_file_build_id(&file, &id);
	}
	if (!guest_file_image(t->guest, t->process, 0, &image))
		guest_image_build_id(image, &id);
	file_image_destroy(image);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct build_patches patches = { .start = BUILD_OBJECTS };
	struct target *t;

	if (!size)
		return 0;
	t = target_of(data[0] % NR_FORMS);
	patches.guest = &t->build;
	patches.size = t->p.next - BUILD_OBJECTS;
	if (data[0] & 0x80) {
		patches.start = build_page(BUILD_DATA_PFN);
		patches.size = 256ULL * BUILD_PAGE_BYTES;
	}
	build_patches_apply(&patches, data + 1, size - 1);
	use(t);
	build_patches_undo(&patches);
	return 0;
}
