/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes of a guest: mappings in every form, file names, and memory that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "build-process.h"
#include "guest/process.h"

#define USUAL 6		/* 6.12's form */
#define RX (BUILD_VM_READ | BUILD_VM_EXEC)
#define RW (BUILD_VM_READ | BUILD_VM_WRITE)
#define TEXT 0x555555554000ULL

struct fixture {
	struct build_guest build;
	struct build_process p;
	struct guest *guest;
	struct guest_process *process;
};

static void open_options(struct fixture *f, const struct build_guest_options *options)
{
	struct vcpu_regs regs;

	f->process = NULL;
	build_guest_init(&f->build, options);
	build_process_init(&f->p, &f->build);
	regs = build_guest_regs(&f->build);
	assert_int_equal(guest_create(mem_fake_reader(f->build.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
}

static void open_fixture(struct fixture *f)
{
	struct build_guest_options options = build_guest_release(USUAL);

	open_options(f, &options);
}

static void close_fixture(struct fixture *f)
{
	guest_process_destroy(f->process);
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
}

static int try_read(struct fixture *f)
{
	struct wire_task task = build_process_task(&f->p);

	guest_process_destroy(f->process);
	f->process = NULL;
	return guest_process_read(f->guest, &task, &f->process);
}

static void read_process(struct fixture *f, bool partial)
{
	assert_int_equal(try_read(f), 0);
	assert_int_equal(f->process->partial, partial);
}

static const struct guest_mapping *mapping_at(const struct fixture *f, u64 address)
{
	return guest_process_find(f->process, GVA(address));
}

static const struct guest_mapped_file *file_at(const struct fixture *f, u64 address)
{
	const struct guest_mapping *mapping = mapping_at(f, address);

	assert_non_null(mapping);
	assert_true(mapping->file < f->process->files.nr);
	return &f->process->files.data[mapping->file];
}

/* A program as they are: text, data, heap, a library, a JIT region, stack, vDSO. */
static void add_program(struct build_process *p)
{
	u64 dash = build_named_file(p, "dash", 42, 0x9000), libc, exec_name, special;

	libc = build_named_file(p, "libc.so.6", 43, 0x200000);
	build_vma(p, TEXT, TEXT + 0x4000, BUILD_VM_READ, dash, 0);
	build_vma(p, TEXT + 0x4000, TEXT + 0x8000, RX, dash, 4);
	build_vma(p, TEXT + 0x8000, TEXT + 0x9000, RW, dash, 8);
	build_vma(p, 0x555555600000, 0x555555621000, RW, 0, 0x555555600);
	build_vma(p, 0x7ffff7000000, 0x7ffff7100000, RX, libc, 0x26);
	build_vma(p, 0x7ffff7200000, 0x7ffff7210000, RX | BUILD_VM_WRITE, 0, 0);
	build_vma(p, 0x7ffff7300000, 0x7ffff7301000, RW | BUILD_VM_SHARED, libc, 0);
	build_vma(p, 0x7ffff7400000, 0x7ffff7401000, RW, 0, 0);
	build_vma(p, 0x7ffffffde000, 0x7ffffffff000, RW, 0, 0);
	special = build_vma(p, 0x7fffffffe000 + 0x100000, 0x7fffffffe000 + 0x102000, RX, 0, 0);
	exec_name = build_object(p, 32, 8);
	build_guest_poke(p->g, exec_name + 16, "[vdso]", 7);
	build_set(p, exec_name, exec_name + 16);
	build_set(p, special + BUILD_VMA_PRIVATE, exec_name);
	build_set(p, special + BUILD_VMA_OPS,
		  p->g->start + BUILD_GUEST_VARIABLES + BUILD_GUEST_SPECIAL_OPS);
	build_set(p, p->mm + BUILD_MM_START_BRK, 0x555555600000);
	build_set(p, p->mm + BUILD_MM_BRK, 0x555555620800);
	build_set(p, p->mm + BUILD_MM_STACK, 0x7fffffffe0f0);
	build_set(p, p->mm + BUILD_MM_EXE, dash);
}

static void check_mapping(const struct fixture *f, u64 start, u64 end, int prot, int kind)
{
	const struct guest_mapping *mapping = mapping_at(f, start);

	assert_non_null(mapping);
	assert_int_equal(mapping->start.addr, start);
	assert_int_equal(mapping->end.addr, end);
	assert_int_equal(mapping->prot, prot);
	assert_int_equal(mapping->kind, kind);
	assert_int_equal(mapping->file != GUEST_NO_FILE, kind == GUEST_MAPPING_FILE);
}

static void check_program(const struct fixture *f)
{
	const struct guest_process *process = f->process;
	const int rx = PROT_READ | PROT_EXEC, rw = PROT_READ | PROT_WRITE;
	const struct guest_mapped_file *file;

	assert_int_equal(process->pid, 1234);
	assert_int_equal(process->start_time, 5000000000);
	assert_int_equal(process->mappings.nr, 10);
	assert_int_equal(process->files.nr, 2);
	check_mapping(f, TEXT, TEXT + 0x4000, PROT_READ, GUEST_MAPPING_FILE);
	check_mapping(f, TEXT + 0x4000, TEXT + 0x8000, rx, GUEST_MAPPING_FILE);
	check_mapping(f, 0x555555600000, 0x555555621000, rw, GUEST_MAPPING_HEAP);
	check_mapping(f, 0x7ffff7200000, 0x7ffff7210000, rx | PROT_WRITE, GUEST_MAPPING_JIT);
	check_mapping(f, 0x7ffff7400000, 0x7ffff7401000, rw, GUEST_MAPPING_ANON);
	check_mapping(f, 0x7ffffffde000, 0x7ffffffff000, rw, GUEST_MAPPING_STACK);
	check_mapping(f, 0x8000000fe000, 0x800000100000, rx, GUEST_MAPPING_VDSO);
	assert_int_equal(mapping_at(f, TEXT + 0x4000)->offset, 0x4000);
	assert_int_equal(mapping_at(f, 0x7ffff7000000)->offset, 0x26000);
	assert_int_equal(mapping_at(f, 0x555555600000)->offset, 0);
	assert_true(mapping_at(f, 0x7ffff7300000)->shared);
	assert_false(mapping_at(f, TEXT)->shared);
	assert_null(mapping_at(f, TEXT - 1));
	assert_null(mapping_at(f, TEXT + 0x9000));
	file = file_at(f, TEXT);
	assert_ptr_equal(file, &process->files.data[process->exe]);
	assert_string_equal(file->path, "/usr/dash");
	assert_false(file->deleted);
	assert_true(file->regular);
	assert_int_equal(file->size, 0x9000);
	assert_int_equal(file->key.ino, 42);
	assert_int_equal(file->key.major, 8);
	assert_int_equal(file->key.minor, 1);
	assert_int_equal(file->key.generation, 77);
	assert_string_equal(file_at(f, 0x7ffff7000000)->path, "/usr/libc.so.6");
	assert_string_equal(guest_mapping_label(mapping_at(f, 0x555555600000)), "[heap]");
	assert_string_equal(guest_mapping_label(mapping_at(f, 0x8000000fe000)), "[vdso]");
}

static void test_forms(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);

	(void)state;
	for (unsigned int form = 0; form < 6; form++) {
		struct fixture f;

		options.mapping_list = form == 0;
		options.mapping_count = form & 1;
		options.five_levels = form == 3;
		open_options(&f, &options);
		add_program(&f.p);
		/* One leaf holds seven at most: ten need a node above. */
		build_hang_mappings(&f.p, 2 + form % 2, form < 4 ? BUILD_MAPLE_ARANGE :
								   BUILD_MAPLE_RANGE);
		read_process(&f, false);
		check_program(&f);
		assert_int_not_equal(f.process->space.root, 0);
		close_fixture(&f);
	}
}

/* What an object's reader takes along: its file with all mappings of it, or the mapping alone. */
static void test_excerpt(void **state)
{
	_cleanup_(guest_process_destroy) struct guest_process *libc = NULL, *vdso = NULL;
	struct fixture fixture, *f = &fixture;
	const struct guest_mapping *mapping;

	(void)state;
	open_fixture(f);
	add_program(&f->p);
	build_hang_mappings(&f->p, 2, BUILD_MAPLE_ARANGE);
	read_process(f, false);
	mapping = mapping_at(f, 0x7ffff7000000);
	assert_int_equal(guest_process_excerpt(f->process, mapping - f->process->mappings.data,
					       &libc), 0);
	assert_int_equal(libc->files.nr, 1);
	assert_string_equal(libc->files.data[0].path, "/usr/libc.so.6");
	assert_ptr_not_equal(libc->files.data[0].path, file_at(f, 0x7ffff7000000)->path);
	assert_int_equal(libc->mappings.nr, 2);
	assert_int_equal(libc->mappings.data[0].start.addr, 0x7ffff7000000);
	assert_int_equal(libc->mappings.data[0].file, 0);
	assert_int_equal(libc->mappings.data[1].start.addr, 0x7ffff7300000);
	assert_int_equal(libc->mm, f->process->mm);
	assert_int_equal(libc->space.root, f->process->space.root);
	mapping = mapping_at(f, 0x8000000fe000);
	assert_int_equal(guest_process_excerpt(f->process, mapping - f->process->mappings.data,
					       &vdso), 0);
	assert_int_equal(vdso->files.nr, 0);
	assert_int_equal(vdso->mappings.nr, 1);
	assert_int_equal(vdso->mappings.data[0].kind, GUEST_MAPPING_VDSO);
	close_fixture(f);
}

static void test_copy(void **state)
{
	_cleanup_(guest_process_destroy) struct guest_process *copy = NULL;
	struct fixture fixture, *f = &fixture;

	(void)state;
	open_fixture(f);
	add_program(&f->p);
	build_hang_mappings(&f->p, 2, BUILD_MAPLE_ARANGE);
	read_process(f, false);
	assert_int_equal(guest_process_copy(f->process, &copy), 0);
	assert_int_equal(guest_process_size(copy), guest_process_size(f->process));
	assert_memory_equal(copy->mappings.data, f->process->mappings.data,
			    copy->mappings.nr * sizeof(*copy->mappings.data));
	for (size_t i = 0; i < copy->files.nr; i++) {
		assert_string_equal(copy->files.data[i].path, f->process->files.data[i].path);
		assert_ptr_not_equal(copy->files.data[i].path, f->process->files.data[i].path);
	}
	assert_int_equal(copy->task, f->process->task);
	assert_int_equal(copy->mm, f->process->mm);
	assert_int_equal(copy->pid, f->process->pid);
	assert_int_equal(copy->start_time, f->process->start_time);
	assert_int_equal(copy->stamp, f->process->stamp);
	assert_int_equal(copy->exe, f->process->exe);
	assert_memory_equal(&copy->space, &f->process->space, sizeof(copy->space));
	close_fixture(f);
}

/* However often a file is mapped, and the one that is asked for is among them. */
static void test_excerpt_limit(void **state)
{
	struct guest_process process = { .exe = GUEST_NO_FILE };
	struct guest_mapped_file file = { .path = (char *)"/x" };

	(void)state;
	assert_int_equal(vec_push(&process.files, file), 0);
	for (u64 i = 0; i < 1000; i++) {
		struct guest_mapping mapping = {
			.start = GVA(i * 4096), .end = GVA(i * 4096 + 4096),
		};

		assert_int_equal(vec_push(&process.mappings, mapping), 0);
	}
	for (size_t i = 0; i < 1000; i += 37) {
		_cleanup_(guest_process_destroy) struct guest_process *excerpt = NULL;

		assert_int_equal(guest_process_excerpt(&process, i, &excerpt), 0);
		assert_in_range(excerpt->mappings.nr, GUEST_EXCERPT_MAPPINGS - 1,
				GUEST_EXCERPT_MAPPINGS);
		assert_non_null(guest_process_find(excerpt, GVA(i * 4096)));
	}
	vec_deinit(&process.files);
	vec_deinit(&process.mappings);
}

static void test_deep_tree(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	for (u64 i = 0; i < 200; i++)
		build_vma(&f.p, 0x10000 + i * 0x3000, 0x12000 + i * 0x3000, RW, 0, 0);
	build_hang_mappings(&f.p, 4, BUILD_MAPLE_ARANGE);
	read_process(&f, false);
	assert_int_equal(f.process->mappings.nr, 200);
	for (u64 i = 0; i < 200; i++)
		assert_int_equal(f.process->mappings.data[i].start.addr, 0x10000 + i * 0x3000);
	close_fixture(&f);
}

/* Mappings that touch fill a leaf without empty slots, the last one to the very end. */
static void test_full_leaf(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	for (u64 i = 0; i < 15; i++)
		build_vma(&f.p, i * 0x1000, (i + 1) * 0x1000, RW, 0, 0);
	build_hang_mappings(&f.p, 1, 0);
	read_process(&f, false);
	assert_int_equal(f.process->mappings.nr, 15);
	close_fixture(&f);
}

static void test_no_mappings(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	read_process(&f, false);
	assert_int_equal(f.process->mappings.nr, 0);
	assert_null(mapping_at(&f, 0x1000));
	/* A root that is an entry, which only the address 0 could have. */
	build_set(&f.p, f.p.mm + BUILD_MM_ROOT, f.p.task);
	read_process(&f, true);
	close_fixture(&f);
}

static void test_vsyscall(void **state)
{
	const u64 variables = BUILD_GUEST_VARIABLES;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	build_set_u32(&f.p, f.build.start + variables + BUILD_GUEST_VSYSCALL_MODE, 1);
	build_set(&f.p, f.build.start + variables + BUILD_GUEST_GATE_VMA + BUILD_VMA_FLAGS,
		  BUILD_VM_EXEC);
	read_process(&f, false);
	assert_int_equal(f.process->mappings.nr, 1);
	check_mapping(&f, 0xffffffffff600000, 0xffffffffff601000, PROT_EXEC,
		      GUEST_MAPPING_VSYSCALL);
	/* Not in a 32-bit process. */
	build_set(&f.p, f.p.mm + BUILD_MM_TASK_SIZE, 0xffffe000);
	read_process(&f, false);
	assert_int_equal(f.process->mappings.nr, 0);
	close_fixture(&f);
}

/* One mapping of @file; its name. */
static void check_path(struct fixture *f, u64 file, const char *path, bool deleted)
{
	f->p.nr_vmas = 0;
	build_vma(&f->p, TEXT, TEXT + 0x1000, RX, file, 0);
	build_hang_mappings(&f->p, 1, 0);
	read_process(f, false);
	assert_string_equal(file_at(f, TEXT)->path, path);
	assert_int_equal(file_at(f, TEXT)->deleted, deleted);
}

static void test_paths(void **state)
{
	struct build_process *p;
	struct fixture f;
	u64 srv, data, disk, bin, inner, inode;

	(void)state;
	open_fixture(&f);
	p = &f.p;
	inode = build_inode(p, 7, 100);
	/* A file system on /srv/data, another one on its folder bin. */
	srv = build_dentry(p, p->root, "srv");
	data = build_dentry(p, srv, "data");
	disk = build_mount(p, p->root_mount, data, build_dentry(p, 0, "/"));
	bin = build_dentry(p, build_get(p, disk + BUILD_MOUNT_MNT), "bin");
	inner = build_mount(p, disk, bin, build_dentry(p, 0, "/"));
	check_path(&f, build_file(p, p->root_mount, srv, inode), "/srv", false);
	check_path(&f, build_file(p, disk, bin, inode), "/srv/data/bin", false);
	check_path(&f, build_file(p, inner,
				  build_dentry(p, build_get(p, inner + BUILD_MOUNT_MNT), "prog"),
				  inode), "/srv/data/bin/prog", false);
	check_path(&f, build_file(p, disk, build_get(p, disk + BUILD_MOUNT_MNT), inode),
		   "/srv/data", false);
	check_path(&f, build_file(p, p->root_mount, p->root, inode), "/", false);
	/* A long name is not in the dentry itself. */
	check_path(&f, build_file(p, p->root_mount,
				  build_dentry(p, srv, "a-name-that-is-too-long-for-the-dentry-its"
					       "elf-and-so-is-somewhere-else.so.1.2.3"), inode),
		   "/srv/a-name-that-is-too-long-for-the-dentry-itself-and-so-is-somewhere-else"
		   ".so.1.2.3", false);
	close_fixture(&f);
}

static void test_chroot(void **state)
{
	struct build_process *p;
	struct fixture f;
	u64 jail, etc, inode;

	(void)state;
	open_fixture(&f);
	p = &f.p;
	inode = build_inode(p, 7, 100);
	jail = build_dentry(p, p->root, "jail");
	etc = build_dentry(p, jail, "etc");
	build_set(p, p->fs + BUILD_FS_ROOT + 8, jail);
	check_path(&f, build_file(p, p->root_mount, etc, inode), "/etc", false);
	check_path(&f, build_file(p, p->root_mount, jail, inode), "/", false);
	/* What is outside has its name from the top. */
	check_path(&f, build_file(p, p->root_mount, build_dentry(p, p->root, "outside"), inode),
		   "/outside", false);
	close_fixture(&f);
}

static void test_deleted(void **state)
{
	struct build_process *p;
	struct fixture f;
	u64 dentry, inode, shm;

	(void)state;
	open_fixture(&f);
	p = &f.p;
	inode = build_inode(p, 7, 100);
	dentry = build_dentry(p, p->root, "gone");
	build_set(p, dentry + BUILD_DENTRY_HASHED, 0);
	check_path(&f, build_file(p, p->root_mount, dentry, inode), "/gone", true);
	/* Files without a folder, in a mount of the kernel's own. */
	shm = build_mount(p, 0, 0, build_dentry(p, 0, "/"));
	check_path(&f, build_file(p, shm, build_dentry(p, 0, "memfd:doublemapper"), inode),
		   "/memfd:doublemapper", true);
	check_path(&f, build_file(p, shm, build_dentry(p, 0, "dev/zero"), inode), "/dev/zero",
		   true);
	check_path(&f, build_file(p, shm, build_dentry(p, 0, "[perf_event]"), inode),
		   "anon_inode:[perf_event]", false);
	/* A folder that was mounted elsewhere and left: up to its top. */
	check_path(&f, build_file(p, shm, build_dentry(p, build_dentry(p, 0, "/"), "x"), inode),
		   "/x", false);
	close_fixture(&f);
}

static void test_overlay(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct fixture f;
	u64 lower, file;

	(void)state;
	options.backing_files = true;
	open_options(&f, &options);
	lower = build_dentry(&f.p, f.p.root, "lower");
	file = build_file(&f.p, f.p.root_mount, lower, build_inode(&f.p, 7, 100));
	build_set(&f.p, file + BUILD_FILE_BYTES, f.p.root_mount + BUILD_MOUNT_MNT);
	build_set(&f.p, file + BUILD_FILE_BYTES + 8, build_dentry(&f.p, f.p.root, "merged"));
	check_path(&f, file, "/lower", false);
	build_set_u32(&f.p, file + BUILD_FILE_MODE, 1 << 25);
	check_path(&f, file, "/merged", false);
	assert_int_equal(file_at(&f, TEXT)->key.ino, 7);
	close_fixture(&f);
}

/* One mapping whose name cannot be read: it is there, without it. */
static void check_no_path(struct fixture *f, u64 file)
{
	f->p.nr_vmas = 0;
	build_vma(&f->p, TEXT, TEXT + 0x1000, RX, file, 0);
	build_hang_mappings(&f->p, 1, 0);
	read_process(f, true);
	assert_string_equal(file_at(f, TEXT)->path, "");
}

static void test_hostile_paths(void **state)
{
	struct build_process *p;
	struct fixture f;
	u64 inode, a, b, mount, dentry;

	(void)state;
	open_fixture(&f);
	p = &f.p;
	inode = build_inode(p, 7, 100);
	/* Folders that are in each other. */
	a = build_dentry(p, p->root, "a");
	b = build_dentry(p, a, "b");
	build_set(p, a + BUILD_DENTRY_PARENT, b);
	check_no_path(&f, build_file(p, p->root_mount, b, inode));
	/* Mounts that are on each other. */
	dentry = build_dentry(p, 0, "/");
	mount = build_mount(p, 0, 0, dentry);
	a = build_mount(p, mount, dentry, dentry);
	build_set(p, mount + BUILD_MOUNT_PARENT, a);
	check_no_path(&f, build_file(p, mount, dentry, inode));
	/* 300 folders with long names: more than a path may have. */
	a = p->root;
	for (unsigned int i = 0; i < 300; i++)
		a = build_dentry(p, a, "0123456789abcdef0123456789abcdef");
	check_no_path(&f, build_file(p, p->root_mount, a, inode));
	/* Names that cannot be. */
	dentry = build_dentry(p, p->root, "name");
	build_set_u32(p, dentry + BUILD_DENTRY_LEN, 0);
	check_no_path(&f, build_file(p, p->root_mount, dentry, inode));
	build_set_u32(p, dentry + BUILD_DENTRY_LEN, 0xffffffff);
	check_no_path(&f, build_file(p, p->root_mount, dentry, inode));
	build_set_u32(p, dentry + BUILD_DENTRY_LEN, 9);
	check_no_path(&f, build_file(p, p->root_mount, dentry, inode));
	check_no_path(&f, build_file(p, p->root_mount, build_dentry(p, p->root, "a/b"), inode));
	build_set(p, dentry + BUILD_DENTRY_NAME, 0xdead000000000100);
	check_no_path(&f, build_file(p, p->root_mount, dentry, inode));
	check_no_path(&f, build_file(p, 0xdead000000000000, p->root, inode));
	check_no_path(&f, build_file(p, p->root_mount, 0, inode));
	close_fixture(&f);
}

static void test_hostile_tree(void **state)
{
	struct build_process *p;
	struct fixture f;
	u64 root, node;

	(void)state;
	open_fixture(&f);
	p = &f.p;
	add_program(p);
	build_hang_mappings(p, 2, BUILD_MAPLE_ARANGE);
	root = build_get(p, p->mm + BUILD_MM_ROOT);
	node = root & ~255ULL;
	/* A node that is its own last child. */
	build_set(p, node + 80 + 3 * 8, root & ~2ULL);
	read_process(&f, true);
	assert_in_range(f.process->mappings.nr, 1, 10);
	/* Its own every child, which would be the twelfth power of ten. */
	for (unsigned int i = 0; i < 10; i++)
		build_set(p, node + 80 + i * 8, root & ~2ULL);
	read_process(&f, true);
	/* Pivots that go back, a type that is not known, no memory. */
	build_hang_mappings(p, 2, BUILD_MAPLE_ARANGE);
	node = build_get(p, p->mm + BUILD_MM_ROOT) & ~255ULL;
	build_set(p, node + 16, 0x1000);
	read_process(&f, true);
	build_set(p, p->mm + BUILD_MM_ROOT, node | 9 << 3 | 2);
	read_process(&f, true);
	build_set(p, p->mm + BUILD_MM_ROOT, 0xdead000000000000 | 3 << 3 | 2);
	read_process(&f, true);
	assert_int_equal(f.process->mappings.nr, 0);
	build_set(p, p->mm + BUILD_MM_ROOT, ~0xffULL | 3 << 3 | 2);
	read_process(&f, true);
	close_fixture(&f);
}

static void test_hostile_list(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct fixture f;
	struct build_process *p = &f.p;

	(void)state;
	options.mapping_list = true;
	open_options(&f, &options);
	add_program(p);
	build_hang_mappings(p, 0, 0);
	/* The last one leads to the first. */
	build_set(p, p->vmas[9] + BUILD_VMA_NEXT, p->vmas[0]);
	read_process(&f, true);
	assert_int_equal(f.process->mappings.nr, 10);
	build_set(p, p->vmas[9] + BUILD_VMA_NEXT, p->vmas[9]);
	read_process(&f, true);
	build_set(p, p->vmas[4] + BUILD_VMA_NEXT, ~0ULL);
	read_process(&f, true);
	assert_int_equal(f.process->mappings.nr, 5);
	close_fixture(&f);
}

/* One spoiled value in the second mapping: it is left out, the others are there. */
static void spoil_vma(struct fixture *f, u32 offset, u64 value)
{
	u64 place = f->p.vmas[1] + offset, before = build_get(&f->p, place);

	build_set(&f->p, place, value);
	read_process(f, true);
	assert_int_equal(f->process->mappings.nr, 9);
	assert_null(mapping_at(f, TEXT + 0x4000));
	build_set(&f->p, place, before);
}

static void test_torn_mapping(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	add_program(&f.p);
	build_hang_mappings(&f.p, 2, BUILD_MAPLE_ARANGE);
	spoil_vma(&f, BUILD_VMA_MM, 0);
	spoil_vma(&f, BUILD_VMA_START, TEXT + 0x4100);
	spoil_vma(&f, BUILD_VMA_START, TEXT + 0x5000);
	spoil_vma(&f, BUILD_VMA_END, TEXT + 0x4000);
	spoil_vma(&f, BUILD_VMA_END, ~0xfffULL);
	/* A file that is not there: the mapping is, without one. */
	build_set(&f.p, f.p.vmas[1] + BUILD_VMA_FILE, 0xdead000000000000);
	read_process(&f, true);
	assert_int_equal(f.process->mappings.nr, 10);
	assert_int_equal(mapping_at(&f, TEXT + 0x4000)->file, GUEST_NO_FILE);
	assert_int_equal(mapping_at(&f, TEXT + 0x4000)->kind, GUEST_MAPPING_FILE);
	close_fixture(&f);
}

static void test_other_task(void **state)
{
	struct wire_task task;
	struct guest_process *process = NULL;
	struct fixture f;
	u64 stamp;

	(void)state;
	open_fixture(&f);
	add_program(&f.p);
	task = build_process_task(&f.p);
	task.tid++;
	assert_int_equal(guest_process_read(f.guest, &task, &process), -ESTALE);
	assert_int_equal(guest_process_stamp(f.guest, &task, &stamp), -ESTALE);
	task = build_process_task(&f.p);
	task.mm = f.p.task;
	assert_int_equal(guest_process_read(f.guest, &task, &process), -ESTALE);
	task.mm = 0;
	assert_int_equal(guest_process_read(f.guest, &task, &process), -ENOENT);
	task = build_process_task(&f.p);
	task.task = 0xffffdead00000000;
	assert_int_equal(guest_process_read(f.guest, &task, &process), -ESTALE);
	assert_null(process);
	close_fixture(&f);
}

static void test_unknown_types(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct fixture f;

	(void)state;
	options.no_user_types = true;
	open_options(&f, &options);
	assert_int_equal(try_read(&f), -EOPNOTSUPP);
	close_fixture(&f);
}

static u64 stamp_of(struct fixture *f)
{
	struct wire_task task = build_process_task(&f->p);
	u64 stamp;

	assert_int_equal(guest_process_stamp(f->guest, &task, &stamp), 0);
	return stamp;
}

static void test_stamp(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);

	(void)state;
	for (unsigned int count = 0; count < 2; count++) {
		struct fixture f;
		u64 stamp, reads, node;

		options.mapping_count = count;
		open_options(&f, &options);
		add_program(&f.p);
		build_hang_mappings(&f.p, 2, BUILD_MAPLE_ARANGE);
		read_process(&f, false);
		reads = mem_fake_reads(f.build.mem);
		stamp = stamp_of(&f);
		assert_true(mem_fake_reads(f.build.mem) - reads < 32);
		assert_int_equal(stamp, f.process->stamp);
		assert_int_equal(stamp_of(&f), stamp);
		build_set(&f.p, f.p.mm + BUILD_MM_EXEC, 77);
		assert_int_not_equal(stamp_of(&f), stamp);
		build_set(&f.p, f.p.mm + BUILD_MM_EXEC, 0);
		build_set_u32(&f.p, f.p.task + BUILD_TASK_EXEC_ID, 1);
		assert_int_not_equal(stamp_of(&f), stamp);
		build_set_u32(&f.p, f.p.task + BUILD_TASK_EXEC_ID, 0);
		/* By the count alone, or by a leaf that was replaced. */
		build_set_u32(&f.p, f.p.mm + BUILD_MM_SEQ, 5);
		assert_int_equal(stamp_of(&f) != stamp, count);
		node = build_get(&f.p, f.p.mm + BUILD_MM_ROOT) & ~255ULL;
		stamp = stamp_of(&f);
		build_set(&f.p, node + 80, build_get(&f.p, node + 80) + 0x100);
		assert_int_equal(stamp_of(&f) != stamp, !count);
		close_fixture(&f);
	}
}

/* A source that changes the guest as it is read. */
struct changing {
	struct mem_reader reader;
	struct fixture *f;
	unsigned int reads;
};

static int changing_read(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	struct changing *c = container_of(reader, struct changing, reader);

	if (c->reads++ % 4 == 0)
		build_set_u32(&c->f->p, c->f->p.mm + BUILD_MM_SEQ, c->reads);
	return mem_read(mem_fake_reader(c->f->build.mem), gpa, out, size);
}

static void test_changing(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct fixture f;
	struct changing changing = { .reader.read = changing_read, .f = &f };
	struct vcpu_regs regs;

	(void)state;
	options.mapping_count = true;
	open_options(&f, &options);
	guest_destroy(f.guest);
	regs = build_guest_regs(&f.build);
	assert_int_equal(guest_create(&changing.reader, NULL, &f.guest), 0);
	assert_int_equal(guest_identify(f.guest, &regs, NULL), 0);
	assert_int_equal(try_read(&f), -EAGAIN);
	add_program(&f.p);
	build_hang_mappings(&f.p, 2, BUILD_MAPLE_ARANGE);
	read_process(&f, true);
	assert_int_equal(f.process->mappings.nr, 10);
	close_fixture(&f);
}

/* Any page of the objects may be missing, and any read may be the last. */
static void test_missing(void **state)
{
	struct fixture f;
	u64 reads;

	(void)state;
	open_fixture(&f);
	add_program(&f.p);
	build_hang_mappings(&f.p, 3, BUILD_MAPLE_ARANGE);
	reads = mem_fake_reads(f.build.mem);
	read_process(&f, false);
	reads = mem_fake_reads(f.build.mem) - reads;
	for (u64 after = 0; after < reads; after++) {
		int err;

		mem_fake_fail(f.build.mem, after, -ESRCH);
		err = try_read(&f);
		assert_true(err == -ESRCH || !err);
		mem_fake_fail(f.build.mem, after, -EFAULT);
		err = try_read(&f);
		assert_true(err == -ESTALE || err == -EFAULT || err == -EAGAIN || !err);
		mem_fake_fail(f.build.mem, 0, 0);
	}
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_excerpt),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_excerpt_limit),
		cmocka_unit_test(test_deep_tree),
		cmocka_unit_test(test_full_leaf),
		cmocka_unit_test(test_no_mappings),
		cmocka_unit_test(test_vsyscall),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_chroot),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_hostile_paths),
		cmocka_unit_test(test_hostile_tree),
		cmocka_unit_test(test_hostile_list),
		cmocka_unit_test(test_torn_mapping),
		cmocka_unit_test(test_other_task),
		cmocka_unit_test(test_unknown_types),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_changing),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
