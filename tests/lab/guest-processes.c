/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest-processes PID FOLDER: the processes in the guest of VMM PID, for comparison with what the
 * guest says about them. Writes FOLDER/maps-PID in the form of /proc/PID/maps for each, and prints
 * a line for each file of theirs that the host has under the same name: how many pages, how many
 * are not in the guest's page cache, how many differ, and whether the build id is the file's.
 */
#include "guest-open.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "guest/file.h"
#include "guest/process.h"
#include "guest/tasks.h"
#include "symbols/elf-file.h"

#define PAGE ((u64)FILE_IMAGE_PAGE)

struct tour {
	const struct guest *guest;
	const char *folder;
	struct hashmap seen;	/* inodes */
	unsigned int nr;
	u64 process_ns, image_ns, image_pages;
};

static void print_mapping(FILE *out, const struct guest_process *process,
			  const struct guest_mapping *mapping)
{
	const struct guest_mapped_file *file = NULL;

	if (mapping->file != GUEST_NO_FILE)
		file = &process->files.data[mapping->file];
	fprintf(out, "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu",
		(unsigned long long)mapping->start.addr, (unsigned long long)mapping->end.addr,
		mapping->prot & PROT_READ ? 'r' : '-', mapping->prot & PROT_WRITE ? 'w' : '-',
		mapping->prot & PROT_EXEC ? 'x' : '-', mapping->shared ? 's' : 'p',
		(unsigned long long)mapping->offset, file ? file->key.major : 0,
		file ? file->key.minor : 0, file ? (unsigned long long)file->key.ino : 0);
	if (file)
		fprintf(out, " %s%s\n", file->path, file->deleted ? " (deleted)" : "");
	else
		fprintf(out, " %s\n", guest_mapping_label(mapping));
}

static int write_maps(const struct tour *tour, const struct guest_process *process)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/maps-%d", tour->folder, process->pid);
	out = fopen(path, "we");
	if (!out)
		return -errno;
	vec_for_each(&process->mappings, mapping)
		print_mapping(out, process, mapping);
	return fclose(out) ? -errno : 0;
}

/* Pages that the guest has and that are not as the host's file has them. */
static u64 count_wrong(const struct file_image *image, const char *data)
{
	u64 wrong = 0;

	for (u64 at = 0; at < image->size; at += PAGE) {
		u64 part = MIN(PAGE, image->size - at);

		if (file_image_has(image, at, part))
			wrong += memcmp(image->data + at, data + at, part) != 0;
	}
	return wrong;
}

static bool same_build_id(const char *path, const struct guest_file *file)
{
	_cleanup_(elf_file_close) struct elf_file *elf = NULL;
	struct build_id ours, theirs;

	return !guest_file_build_id(file, &ours) && !elf_file_open(path, &elf) &&
	       !elf_file_build_id(elf, &theirs) && build_id_equal(&ours, &theirs);
}

static void compare_file(struct tour *tour, const struct guest_process *process, u32 index)
{
	const struct guest_mapped_file *mapped = &process->files.data[index];
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_free_ char *data = NULL;
	struct guest_file file;
	u64 begin = clock_now_ns(), pages;
	size_t size;
	bool is_new;

	if (!hashmap_put(&tour->seen, mapped->key.inode, &is_new) || !is_new || mapped->deleted ||
	    file_read(AT_FDCWD, mapped->path, 64 << 20, &data, &size) || size != mapped->size)
		return;
	if (guest_file_open(tour->guest, mapped, &file) ||
	    guest_file_image(tour->guest, process, index, &image)) {
		printf("unread %s\n", mapped->path);
		return;
	}
	pages = (size + PAGE - 1) / PAGE;
	tour->image_ns += clock_now_ns() - begin;
	tour->image_pages += pages - file_image_missing(image);
	printf("file %s pages %llu missing %llu wrong %llu id %s\n", mapped->path,
	       (unsigned long long)pages, (unsigned long long)file_image_missing(image),
	       (unsigned long long)count_wrong(image, data),
	       same_build_id(mapped->path, &file) ? "same" : "-");
}

static void print_vdso(const struct tour *tour, const struct guest_process *process)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	char hex[BUILD_ID_HEX];
	struct build_id id;

	if (guest_vdso_image(tour->guest, process, &image) || guest_image_build_id(image, &id))
		return;
	build_id_hex(&id, hex);
	printf("vdso %llu bytes, build id %s\n", (unsigned long long)image->size, hex);
}

static int visit(void *ctx, const struct wire_task *task)
{
	_cleanup_(guest_process_destroy) struct guest_process *process = NULL;
	struct tour *tour = ctx;
	u64 begin = clock_now_ns();
	int err;

	if (!task->mm)
		return 0;
	err = guest_process_read(tour->guest, task, &process);
	tour->process_ns += clock_now_ns() - begin;
	if (err) {
		printf("process %d: %s\n", task->pid, error_text(err));
		return 0;
	}
	printf("process %d %.16s mappings %zu files %zu%s\n", task->pid, task->comm,
	       process->mappings.nr, process->files.nr, process->partial ? " partial" : "");
	if (!tour->nr++)
		print_vdso(tour, process);
	for (u32 i = 0; i < process->files.nr; i++)
		compare_file(tour, process, i);
	return write_maps(tour, process);
}

static int examine(struct vm_host *host, const struct vm *vm, const char *folder)
{
	_cleanup_(mem_process_close) struct mem_process *memory = NULL;
	_cleanup_(guest_destroy) struct guest *guest = NULL;
	struct tour tour = { .folder = folder };
	int err = vm_open_memory(vm, &memory);

	if (!err)
		err = guest_create(mem_process_reader(memory), NULL, &guest);
	if (!err)
		err = guest_open_identify(host, vm, guest);
	if (err)
		return err;
	tour.guest = guest;
	err = guest_for_each_process(guest, visit, &tour);
	printf("%u processes in %.1f ms, %llu pages of files in %.1f ms\n", tour.nr,
	       tour.process_ns / 1e6, (unsigned long long)tour.image_pages, tour.image_ns / 1e6);
	hashmap_deinit(&tour.seen);
	return err;
}

int main(int argc, char **argv)
{
	return guest_open_main(argc, argv, "FOLDER", examine);
}
