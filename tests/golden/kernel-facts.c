/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel-facts VMLINUX: what is found in a kernel's image, as it would lie in a guest's memory at
 * the address that it was linked for. Facts go to standard output as "key value".
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/file.h"
#include "guest/kernel-build.h"

#define MAX_FILE (256U << 20)

static const Elf64_Phdr *segments_of(const u8 *file, size_t size, unsigned int *ret_nr)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;

	if (size < sizeof(*head) || memcmp(file, ELFMAG, SELFMAG) || head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(Elf64_Phdr))
		return NULL;
	*ret_nr = head->e_phnum;
	return (const Elf64_Phdr *)(file + head->e_phoff);
}

/* Per-CPU data was linked at 0 before 6.15; that is not where it lies. */
static bool is_mapped(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_vaddr >= IMAGE_X86_BASE;
}

static int load(const u8 *file, size_t size, struct image *image)
{
	unsigned int nr = 0;
	const Elf64_Phdr *segments = segments_of(file, size, &nr);
	u64 start = UINT64_MAX, end = 0;

	if (!segments)
		return -EBADMSG;
	for (unsigned int i = 0; i < nr; i++) {
		if (!is_mapped(&segments[i]))
			continue;
		start = MIN(start, segments[i].p_vaddr);
		end = MAX(end, segments[i].p_vaddr + segments[i].p_memsz);
	}
	if (start > end || end - start > IMAGE_MAX_SIZE)
		return -EBADMSG;
	*image = (struct image){ .start = start, .size = ALIGN_UP(end - start, IMAGE_ALIGN) };
	image->data = calloc(1, image->size);
	if (!image->data)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr; i++)
		if (is_mapped(&segments[i]))
			memcpy(image->data + segments[i].p_vaddr - start,
			       file + segments[i].p_offset, segments[i].p_filesz);
	return 0;
}

static void print_symbols(const struct kallsyms *k)
{
	printf("symbols %u\naddressing %u\nlong-lengths %u\nmarker-size %u\naddresses-last %u\n",
	       k->nr, k->addressing, k->long_lengths, k->marker_size, k->addresses_last);
}

static void print_layout(const struct kernel_layout *layout)
{
	printf("task %d\nmodules %d\nmappings %d\ntree %d\npages %d\nhot %d\norc-format %u\n",
	       layout_has_task(layout), layout_has_modules(layout),
	       layout_has_mappings(&layout->user), layout->user.mm_tree != LAYOUT_NONE,
	       layout_has_pages(&layout->user), layout->hot_current_task != LAYOUT_NONE,
	       layout->orc_format);
}

static void print_places(const struct kernel_build *build)
{
	for (int i = 0; i < PLACE_NR; i++)
		if (build->places[i].known)
			printf("place %d %#llx%s\n", i, (unsigned long long)build->places[i].offset,
			       build->places[i].absolute ? " absolute" : "");
}

static int examine(const char *path)
{
	_cleanup_(kernel_build_put) struct kernel_build *build = NULL;
	_cleanup_free_ u8 *file = NULL;
	const struct mmu_space space = { .arch = VCPU_ARCH_X86_64 };
	struct image image = { 0 };
	const char *why = "";
	size_t size;
	int err = file_read(AT_FDCWD, path, MAX_FILE, (char **)&file, &size);

	if (!err)
		err = load(file, size, &image);
	if (!err)
		err = kernel_build_create(&image, &space, &build, &why);
	if (!err) {
		printf("release %s\nstart %#llx\nbtf %d\norc %d\nthread-size %u\npt-regs-top %u\n",
		       build->release, (unsigned long long)image.start, build->has_btf,
		       build->orc != NULL, build->thread_size, build->pt_regs_top);
		print_symbols(build->symbols);
		print_layout(&build->layout);
		print_places(build);
	} else {
		fprintf(stderr, "%s: %s: %s\n", path, error_text(err), why);
	}
	image_deinit(&image);
	return err;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s VMLINUX\n", argv[0]);
		return 2;
	}
	return examine(argv[1]) ? 1 : 0;
}
