/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process is read after changes to the memory that its structures, names and mounts are in. The
 * first byte chooses the form, the rest are patches (build-patches.h) to that area.
 */
#include <string.h>

#include "build-patches.h"
#include "build-process.h"
#include "guest/file.h"
#include "guest/tasks.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define NR_FORMS 3

struct target {
	struct build_guest build;
	struct build_process p;
	struct guest *guest;
};

static void add_mappings(struct build_process *p)
{
	u64 file = build_named_file(p, "dash", 42, 0x9000);
	u64 folder = build_dentry(p, p->root, "mnt");
	u64 mount = build_mount(p, p->root_mount, folder, build_dentry(p, 0, "/"));
	u64 other = build_file(p, mount, build_dentry(p, build_get(p, mount + BUILD_MOUNT_MNT),
						      "lib"), build_inode(p, 43, 0x5000));

	for (u64 i = 0; i < 24; i++)
		build_vma(p, 0x400000 + i * 0x3000, 0x402000 + i * 0x3000, 5,
			  i % 3 == 0 ? file : i % 3 == 1 ? other : 0, i);
	build_set(p, p->mm + BUILD_MM_EXE, file);
}

static struct target *target_of(unsigned int form)
{
	static struct target *targets[NR_FORMS];
	struct build_guest_options options = build_guest_release(6);
	struct vcpu_regs regs;
	struct target *t = targets[form];

	if (t)
		return t;
	t = targets[form] = calloc(1, sizeof(*t));
	if (!t)
		abort();
	options.mapping_list = form == 0;
	options.mapping_count = form == 1;
	options.backing_files = form == 2;
	build_guest_init(&t->build, &options);
	build_process_init(&t->p, &t->build);
	add_mappings(&t->p);
	build_hang_mappings(&t->p, 3, form == 1 ? BUILD_MAPLE_RANGE : BUILD_MAPLE_ARANGE);
	regs = build_guest_regs(&t->build);
	if (guest_create(mem_fake_reader(t->build.mem), NULL, &t->guest) ||
	    guest_identify(t->guest, &regs, NULL))
		abort();
	return t;
}

/* What is promised whatever the memory holds. */
static void check(const struct guest_process *process)
{
	u64 end = 0;

	if (process->mappings.nr > GUEST_PROCESS_MAX_MAPPINGS ||
	    process->files.nr > GUEST_PROCESS_MAX_FILES)
		abort();
	vec_for_each(&process->mappings, mapping) {
		if (mapping->start.addr < end || mapping->end.addr <= mapping->start.addr ||
		    (mapping->file != GUEST_NO_FILE && mapping->file >= process->files.nr))
			abort();
		end = mapping->end.addr;
	}
	vec_for_each(&process->files, file)
		if (strlen(file->path) >= 4096)
			abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct build_patches patches = { .start = BUILD_OBJECTS };
	struct guest_process *process = NULL;
	struct guest_task_facts facts;
	struct wire_task task;
	struct target *t;
	u64 stamp;

	if (!size)
		return 0;
	t = target_of(data[0] % NR_FORMS);
	task = build_process_task(&t->p);
	patches.guest = &t->build;
	patches.size = t->p.next - BUILD_OBJECTS;
	build_patches_apply(&patches, data + 1, size - 1);
	guest_process_stamp(t->guest, &task, &stamp);
	guest_task_read(t->guest, &task, &facts);
	if (!guest_process_read(t->guest, &task, &process))
		check(process);
	guest_process_destroy(process);
	build_patches_undo(&patches);
	return 0;
}
