/* SPDX-License-Identifier: GPL-2.0-only */
/* Files out of a guest's page cache: arrays of every form, holes, and memory that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "build-process.h"
#include "guest/file.h"

#define USUAL 6		/* 6.12's form */
#define PAGE 4096ULL
#define TEXT 0x555555550000ULL
#define NR_PAGES 700ULL		/* of the usual file: two levels of nodes */
#define SIZE (NR_PAGES * PAGE - 1000)

struct fixture {
	struct build_guest build;
	struct build_process p;
	struct guest *guest;
	struct guest_process *process;
	struct guest_file file;
	struct file_image *image;
	u64 inode;
	u64 head;		/* of the inode's array */
};

static void read_process(struct fixture *f)
{
	struct wire_task task = build_process_task(&f->p);

	guest_process_destroy(f->process);
	f->process = NULL;
	assert_int_equal(guest_process_read(f->guest, &task, &f->process), 0);
}

/* A process with one text mapping of a file of @size bytes. */
static void open_options(struct fixture *f, const struct build_guest_options *options, u64 size)
{
	struct vcpu_regs regs;
	u64 file;

	*f = (struct fixture){ .process = NULL };
	build_guest_init(&f->build, options);
	build_process_init(&f->p, &f->build);
	file = build_named_file(&f->p, "libx.so", 9, size);
	f->inode = build_get(&f->p, file + BUILD_FILE_INODE);
	f->head = build_get(&f->p, f->inode + BUILD_INODE_MAPPING) + BUILD_MAPPING_PAGES;
	build_vma(&f->p, TEXT, TEXT + ALIGN_UP(size, build_guest_page(&f->build)),
		  BUILD_VM_READ | BUILD_VM_EXEC, file, 0);
	build_hang_mappings(&f->p, 1, 0);
	regs = build_guest_regs(&f->build);
	assert_int_equal(guest_create(mem_fake_reader(f->build.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	read_process(f);
	assert_int_equal(f->process->files.nr, 1);
	assert_int_equal(guest_file_open(f->guest, &f->process->files.data[0], &f->file), 0);
	assert_int_equal(f->file.size, size);
}

static void open_sized(struct fixture *f, u64 size)
{
	const struct build_guest_options options = build_guest_release(USUAL);

	open_options(f, &options, size);
}

static void open_fixture(struct fixture *f)
{
	open_sized(f, SIZE);
}

static void close_fixture(struct fixture *f)
{
	file_image_destroy(f->image);
	guest_process_destroy(f->process);
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
}

static int try_image(struct fixture *f)
{
	file_image_destroy(f->image);
	f->image = NULL;
	return guest_file_image(f->guest, f->process, 0, &f->image);
}

/* Pages that are known have the right bytes; how many those are. */
static u64 count_good(const struct fixture *f)
{
	u64 nr = 0, page = build_guest_page(&f->build);

	for (u64 at = 0; at < f->image->size; at += page) {
		u64 part = MIN(page, f->image->size - at);

		if (!file_image_has(f->image, at, part))
			continue;
		nr++;
		for (u64 i = 0; i < part; i++)
			assert_int_equal(f->image->data[at + i], build_page_byte(at / page, i));
	}
	return nr;
}

static void check_image(struct fixture *f, u64 nr_pages)
{
	assert_int_equal(try_image(f), 0);
	assert_int_equal(count_good(f), nr_pages);
}

static void test_small_pages(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, NR_PAGES, 0);
	check_image(&f, NR_PAGES);
	close_fixture(&f);
}

/* Every order: spans of slots, whole slots of the level above, and spans of those. */
static void test_folios(void **state)
{
	(void)state;
	for (unsigned int order = 1; order <= 9; order++) {
		u64 nr = ALIGN_DOWN(NR_PAGES, 1ULL << order);
		struct fixture f;

		open_fixture(&f);
		build_cache_fill(&f.p, f.inode, 0, nr, order);
		check_image(&f, nr);
		/* From the middle of one to the middle of another. */
		file_image_destroy(f.image);
		assert_int_equal(file_image_create(SIZE, &f.image), 0);
		assert_int_equal(guest_file_image_range(&f.file, 100 * PAGE + 1, 200 * PAGE,
							f.image), 0);
		assert_int_equal(count_good(&f), 201);
		assert_true(file_image_has(f.image, 100 * PAGE, 201 * PAGE));
		close_fixture(&f);
	}
}

static void test_mixed(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, 4, 0);
	build_cache_fill(&f.p, f.inode, 4, 4, 2);
	build_cache_fill(&f.p, f.inode, 8, 8, 3);
	build_cache_fill(&f.p, f.inode, 64, 64, 6);
	build_cache_fill(&f.p, f.inode, 130, 1, 0);
	check_image(&f, 81);
	assert_int_equal(file_image_missing(f.image), NR_PAGES - 81);
	/* What came since then is filled in, the rest stays as it is. */
	build_cache_fill(&f.p, f.inode, 200, 8, 3);
	assert_int_equal(guest_file_image_range(&f.file, 0, SIZE, f.image), 0);
	assert_int_equal(count_good(&f), 89);
	close_fixture(&f);
}

/* Before 5.17 each page of a huge one has a slot with the head, or with the page itself, in it. */
static void test_old_huge_page(void **state)
{
	struct fixture f;
	u64 pfn;

	(void)state;
	open_fixture(&f);
	pfn = build_folio(&f.p, f.inode, 64, 4);
	build_folio_data(&f.p, pfn, 64, 4);
	for (u64 i = 0; i < 16; i++)
		build_cache_store(&f.p, f.inode, 64 + i, 0, build_page(pfn + (i < 8 ? 0 : i)));
	/* One that is not of this folio. */
	build_cache_store(&f.p, f.inode, 80, 0, build_page(pfn));
	check_image(&f, 16);
	close_fixture(&f);
}

static void test_one_page(void **state)
{
	struct fixture f;

	(void)state;
	open_sized(&f, 100);
	assert_int_equal(try_image(&f), -ENODATA);
	build_cache_fill(&f.p, f.inode, 0, 1, 0);
	check_image(&f, 1);
	assert_int_equal(f.image->size, 100);
	close_fixture(&f);
}

/* Shadows of evicted pages, swap entries and the array's own marks are holes. */
static void test_values(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, 8, 0);
	build_cache_store(&f.p, f.inode, 1, 0, 0x12345 << 1 | 1);
	build_cache_store(&f.p, f.inode, 2, 0, 256 << 2 | 2);	/* retry */
	build_cache_store(&f.p, f.inode, 3, 0, 257 << 2 | 2);	/* zero */
	build_cache_store(&f.p, f.inode, 4, 0, 0);
	check_image(&f, 4);
	/* The only entry of a small file. */
	close_fixture(&f);
	open_sized(&f, PAGE);
	build_set(&f.p, f.head, 0x12345 << 1 | 1);
	assert_int_equal(try_image(&f), -ENODATA);
	close_fixture(&f);
}

/* A page that is being read in, that is another file's by now, or at another place of this one. */
static void test_not_the_page(void **state)
{
	struct fixture f;
	u64 page;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, 8, 0);
	page = build_page(BUILD_DATA_PFN + 3);
	check_image(&f, 8);
	build_set(&f.p, page, 0);
	check_image(&f, 7);
	build_set(&f.p, page, 1 << BUILD_PAGE_UPTODATE);
	build_set(&f.p, page + BUILD_PAGE_MAPPING, f.p.task);
	check_image(&f, 7);
	build_set(&f.p, page + BUILD_PAGE_MAPPING, f.head - BUILD_MAPPING_PAGES);
	build_set(&f.p, page + BUILD_PAGE_INDEX, 4);
	check_image(&f, 7);
	build_set(&f.p, page + BUILD_PAGE_INDEX, 2);
	check_image(&f, 7);
	build_set(&f.p, page + BUILD_PAGE_INDEX, 3);
	check_image(&f, 8);
	/* Its bytes are not on the host. */
	mem_fake_drop(f.build.mem, GPA((BUILD_DATA_PFN + 3) * PAGE));
	check_image(&f, 7);
	close_fixture(&f);
}

static void test_hostile_array(void **state)
{
	struct fixture f;
	u64 root, below;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, NR_PAGES, 0);
	root = build_get(&f.p, f.head) - 2;
	below = build_get(&f.p, root + BUILD_XA_SLOTS + 8) - 2;
	check_image(&f, NR_PAGES);
	/* A node below itself, one with another's parent, with a shift that cannot be. */
	build_set(&f.p, root + BUILD_XA_SLOTS + 8, root | 2);
	check_image(&f, NR_PAGES - 64);
	build_set(&f.p, root + BUILD_XA_SLOTS + 8, below | 2);
	build_set(&f.p, below + BUILD_XA_PARENT, below);
	check_image(&f, NR_PAGES - 64);
	build_set(&f.p, below + BUILD_XA_PARENT, root);
	build_guest_poke(&f.build, below, &(u8){ 6 }, 1);
	check_image(&f, NR_PAGES - 64);
	build_guest_poke(&f.build, below, &(u8){ 0 }, 1);
	check_image(&f, NR_PAGES);
	for (unsigned int shift = 1; shift < 256; shift++) {
		build_guest_poke(&f.build, root, &(u8){ shift }, 1);
		if (!try_image(&f))
			count_good(&f);
	}
	build_guest_poke(&f.build, root, &(u8){ 6 }, 1);
	/* Siblings of siblings, of what comes later, of nodes. */
	for (u64 i = 0; i < 64; i++)
		build_set(&f.p, below + BUILD_XA_SLOTS + i * 8, (i * 7 % 62) << 2 | 2);
	check_image(&f, NR_PAGES - 64);
	/* Pages that are nowhere. */
	build_set(&f.p, below + BUILD_XA_SLOTS, BUILD_VMEMMAP + 8);
	build_set(&f.p, below + BUILD_XA_SLOTS + 8, f.p.task);
	build_set(&f.p, below + BUILD_XA_SLOTS + 16, 0xdead000000000000);
	check_image(&f, NR_PAGES - 64);
	build_set(&f.p, f.head, 0xdead000000000002);
	assert_int_equal(try_image(&f), -ENODATA);
	close_fixture(&f);
}

static void test_inodes(void **state)
{
	struct guest_mapped_file mapped;
	struct guest_file file;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	mapped = f.process->files.data[0];
	mapped.key.generation++;
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ESTALE);
	mapped = f.process->files.data[0];
	mapped.key.ino++;
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ESTALE);
	mapped = f.process->files.data[0];
	mapped.key.minor++;
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ESTALE);
	mapped = f.process->files.data[0];
	mapped.key.inode = 0xdead000000000000;
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ESTALE);
	mapped = f.process->files.data[0];
	mapped.regular = false;
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ENODATA);
	mapped.regular = true;
	build_set(&f.p, f.inode + BUILD_INODE_SIZE, 0);
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ENODATA);
	build_set(&f.p, f.inode + BUILD_INODE_SIZE, ~0ULL);
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -ENODATA);
	build_set(&f.p, f.inode + BUILD_INODE_SIZE, INT64_MAX);
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), 0);
	assert_int_equal(try_image(&f), -E2BIG);
	build_set(&f.p, f.p.sb + BUILD_SB_MAGIC, 0x958458f6);
	assert_int_equal(guest_file_open(f.guest, &mapped, &file), -EOPNOTSUPP);
	close_fixture(&f);
}

static void test_read(void **state)
{
	u8 bytes[3 * 4096];
	struct fixture f;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, 8, 2);
	assert_int_equal(guest_file_read(&f.file, 4000, bytes, 8000), 0);
	for (u64 i = 0; i < 8000; i++)
		assert_int_equal(bytes[i], build_page_byte((4000 + i) / PAGE, (4000 + i) % PAGE));
	assert_int_equal(guest_file_read(&f.file, 0, bytes, 0), 0);
	assert_int_equal(guest_file_read(&f.file, 8 * PAGE - 1, bytes, 1), 0);
	assert_int_equal(guest_file_read(&f.file, 8 * PAGE - 1, bytes, 2), -ENODATA);
	assert_int_equal(guest_file_read(&f.file, SIZE, bytes, 1), -ENODATA);
	assert_int_equal(guest_file_read(&f.file, ~0ULL, bytes, 2), -ENODATA);
	close_fixture(&f);
}

static void test_large_file(void **state)
{
	const u64 size = GUEST_FILE_MAX_EAGER + PAGE, at = GUEST_FILE_MAX_EAGER - PAGE;
	struct fixture f;

	(void)state;
	open_sized(&f, size);
	build_cache_fill(&f.p, f.inode, at / PAGE, 2, 0);
	assert_int_equal(try_image(&f), -ENODATA);	/* nothing that would be chosen */
	assert_int_equal(file_image_create(size, &f.image), 0);
	assert_int_equal(guest_file_image_range(&f.file, at, 2 * PAGE, f.image), 0);
	assert_int_equal(count_good(&f), 2);
	/* Not an image of this file. */
	file_image_destroy(f.image);
	assert_int_equal(file_image_create(size - 1, &f.image), 0);
	assert_int_equal(guest_file_image_range(&f.file, at, PAGE, f.image), -ESTALE);
	close_fixture(&f);
}

/* Text that is in the process's tables and in no page cache: a device's memory, or a copy. */
static void test_from_process(void **state)
{
	struct fixture f;
	u64 pfn;

	(void)state;
	open_fixture(&f);
	build_cache_fill(&f.p, f.inode, 0, 4, 0);
	pfn = build_folio(&f.p, f.inode, 4, 0);
	build_folio_data(&f.p, pfn, 4, 0);
	assert_int_equal(build_pagetable_map(&f.p.user, TEXT + 4 * PAGE, pfn * PAGE, PAGE,
					     MMU_USER | MMU_EXEC), 0);
	check_image(&f, 5);
	build_set(&f.p, build_page(pfn) + BUILD_PAGE_MAPPING, f.p.task | 1);	/* its own copy */
	check_image(&f, 4);
	build_set(&f.p, build_page(pfn) + BUILD_PAGE_MAPPING, 0);	/* free, or the kernel's */
	check_image(&f, 4);
	build_set(&f.p, build_page(pfn) + BUILD_PAGE_MAPPING,
		  build_get(&f.p, f.inode + BUILD_INODE_MAPPING));
	check_image(&f, 5);
	/* What may be written is not taken. */
	build_set(&f.p, f.p.vmas[0] + BUILD_VMA_FLAGS,
		  BUILD_VM_READ | BUILD_VM_EXEC | BUILD_VM_WRITE);
	read_process(&f);
	check_image(&f, 4);
	close_fixture(&f);
}

/* A file that is only the headers and a note of a build id in its second page. */
static void put_elf(struct fixture *f, bool wide, u64 note_at)
{
	static const u8 note[36] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab,
				     0xcd };
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_phoff = 64, .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr),
	};
	Elf64_Phdr segments[2] = { { .p_type = PT_LOAD },
				   { .p_type = PT_NOTE, .p_offset = note_at, .p_filesz = 36 } };
	Elf32_Ehdr small_header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1 },
		.e_phoff = 64, .e_phnum = 2, .e_phentsize = sizeof(Elf32_Phdr),
	};
	Elf32_Phdr small[2] = { { .p_type = PT_LOAD },
				{ .p_type = PT_NOTE, .p_offset = note_at, .p_filesz = 36 } };
	u64 gpa = BUILD_DATA_PFN * PAGE;
	struct mem_fake *mem = f->build.mem;

	mem_fake_set(mem, GPA(gpa), wide ? (void *)&header : &small_header,
		     wide ? sizeof(header) : sizeof(small_header));
	mem_fake_set(mem, GPA(gpa + 64), wide ? (void *)segments : small,
		     wide ? sizeof(segments) : sizeof(small));
	if (note_at < 4 * PAGE)
		mem_fake_set(mem, GPA(gpa + note_at), note, sizeof(note));
}

static void test_build_id(void **state)
{
	struct build_id id = { 0 };
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(guest_file_build_id(&f.file, &id), -ENODATA);
	build_cache_fill(&f.p, f.inode, 0, 4, 0);
	assert_int_equal(guest_file_build_id(&f.file, &id), -EBADMSG);
	for (unsigned int wide = 0; wide < 2; wide++) {
		id.size = 0;
		put_elf(&f, wide, PAGE + 100);
		assert_int_equal(guest_file_build_id(&f.file, &id), 0);
		assert_int_equal(id.size, 20);
		assert_int_equal(id.data[0], 0xab);
		id.size = 0;
		file_image_destroy(f.image);
		f.image = NULL;
		assert_int_equal(guest_file_image(f.guest, f.process, 0, &f.image), 0);
		assert_int_equal(guest_image_build_id(f.image, &id), 0);
		assert_int_equal(id.size, 20);
		/* Across a page's border, in a page that is not there, beyond the end. */
		put_elf(&f, wide, PAGE - 10);
		assert_int_equal(guest_file_build_id(&f.file, &id), 0);
		put_elf(&f, wide, 4 * PAGE - 10);
		assert_int_equal(guest_file_build_id(&f.file, &id), -ENODATA);
		put_elf(&f, wide, wide ? ~0ULL : 0xfffffff0);
		assert_int_equal(guest_file_build_id(&f.file, &id), -ENODATA);
	}
	close_fixture(&f);
}

/* As many notes as there may be segments, each as large as they may be: a few pages are read. */
static void test_many_notes(void **state)
{
	static Elf64_Phdr segments[256];
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_phoff = 64, .e_phnum = 0xffff, .e_phentsize = sizeof(Elf64_Phdr),
	};
	const u64 gpa = BUILD_DATA_PFN * PAGE;
	struct build_id id = { 0 };
	struct fixture f;
	u64 reads;

	(void)state;
	open_sized(&f, 70 * PAGE);
	build_cache_fill(&f.p, f.inode, 0, 70, 0);
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++)
		segments[i] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = 8 * PAGE,
					    .p_filesz = 16 * PAGE };
	mem_fake_set(f.build.mem, GPA(gpa), &header, sizeof(header));
	mem_fake_set(f.build.mem, GPA(gpa + 64), segments, sizeof(segments));
	reads = mem_fake_reads(f.build.mem);
	assert_int_equal(guest_file_build_id(&f.file, &id), -ENOENT);
	assert_in_range(mem_fake_reads(f.build.mem) - reads, 16, 30 * 8);
	close_fixture(&f);
}

/* Two pages at @vdso, none of which has been touched. */
static void map_vdso(struct fixture *f, u64 vdso)
{
	build_vma(&f->p, vdso, vdso + 2 * PAGE, BUILD_VM_READ | BUILD_VM_EXEC, 0, 0);
	build_hang_mappings(&f->p, 1, 0);
	build_set(&f->p, f->p.mm + BUILD_MM_VDSO, vdso);
	read_process(f);
}

static void test_vdso(void **state)
{
	const u64 vdso = 0x7fff00000000, gpa = (BUILD_DATA_PFN + 100) * PAGE;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), -ENOENT);
	map_vdso(&f, vdso);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), -ENODATA);
	build_folio_data(&f.p, BUILD_DATA_PFN + 100, 0, 1);
	assert_int_equal(build_pagetable_map_range(&f.p.user, vdso, gpa, 2 * PAGE,
						   MMU_USER | MMU_EXEC), 0);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), 0);
	assert_int_equal(f.image->size, 2 * PAGE);
	assert_int_equal(count_good(&f), 2);
	close_fixture(&f);
}

/* Where the kernel's copy is not known a page that was not touched is missing, and no more. */
static void test_half_vdso(void **state)
{
	const u64 vdso = 0x7fff00000000, gpa = (BUILD_DATA_PFN + 100) * PAGE;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	map_vdso(&f, vdso);
	build_folio_data(&f.p, BUILD_DATA_PFN + 100, 0, 1);
	assert_int_equal(build_pagetable_map_range(&f.p.user, vdso, gpa, PAGE,
						   MMU_USER | MMU_EXEC), 0);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), 0);
	assert_true(file_image_has(f.image, 0, PAGE));
	assert_int_equal(file_image_missing(f.image), 1);
	close_fixture(&f);
}

/* Pages that the process has not touched are in the kernel's copy, if that is the same one. */
static void test_untouched_vdso(void **state)
{
	const u64 vdso = 0x7fff00000000;
	struct fixture f;
	u64 image, data;

	(void)state;
	open_fixture(&f);
	map_vdso(&f, vdso);
	image = build_object(&f.p, 32, 8);
	data = build_object(&f.p, 2 * PAGE, PAGE);
	for (u64 i = 0; i < 2 * PAGE; i++)
		build_guest_poke(&f.build, data + i, &(u8){ build_page_byte(i / PAGE, i % PAGE) },
				 1);
	build_set(&f.p, image, data);
	build_set(&f.p, image + 8, 2 * PAGE);
	build_set(&f.p, f.p.mm + BUILD_MM_VDSO_IMAGE, image);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), 0);
	assert_int_equal(count_good(&f), 2);
	file_image_destroy(f.image);
	f.image = NULL;
	build_set(&f.p, image + 8, PAGE);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), -ENODATA);
	build_set(&f.p, f.p.mm + BUILD_MM_VDSO_IMAGE, 0xdead000000000000);
	assert_int_equal(guest_vdso_image(f.guest, f.process, &f.image), -ENODATA);
	close_fixture(&f);
}

/* What is not in the cache is read of the process, which has it at the same place. */
static void check_page_of_process(struct fixture *f, u64 index)
{
	u64 page = build_guest_page(&f->build), pfn = build_folio(&f->p, f->inode, index, 0);

	build_folio_data(&f->p, pfn, index, 0);
	assert_int_equal(build_pagetable_map(&f->p.user, TEXT + index * page, pfn * page, page,
					     MMU_USER | MMU_EXEC), 0);
	assert_int_equal(guest_file_fill_from_process(&f->file, f->process, 0, f->image), 0);
	assert_true(file_image_has(f->image, index * page, page));
}

/* Kernels of arm64 are built for pages of 4, 16 or 64 KiB, and count a file's by that. */
static void test_page_sizes(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);

	(void)state;
	options.arm64 = true;
	for (options.page_shift = 12; options.page_shift <= 16; options.page_shift += 2) {
		const u64 page = 1ULL << options.page_shift, size = 70 * page - 1000;
		static u8 bytes[3 << 16];
		struct fixture f;

		open_options(&f, &options, size);
		build_cache_fill(&f.p, f.inode, 0, 8, 0);
		build_cache_fill(&f.p, f.inode, 8, 8, 3);
		build_cache_fill(&f.p, f.inode, 66, 4, 0);
		check_image(&f, 20);
		assert_int_equal(file_image_missing(f.image), 50 * page / PAGE);
		check_page_of_process(&f, 20);
		assert_int_equal(count_good(&f), 21);
		/* From one page into the next but one, and into one that is not there. */
		assert_int_equal(guest_file_read(&f.file, 10 * page - 9, bytes, page + 18), 0);
		for (u64 i = 0; i < page + 18; i++) {
			u64 at = 10 * page - 9 + i;

			assert_int_equal(bytes[i], build_page_byte(at / page, at % page));
		}
		assert_int_equal(guest_file_read(&f.file, 16 * page - 1, bytes, 2), -ENODATA);
		/* A few bytes lead to their whole page. */
		file_image_destroy(f.image);
		assert_int_equal(file_image_create(size, &f.image), 0);
		assert_int_equal(guest_file_image_range(&f.file, 8 * page - 1, 2, f.image), 0);
		assert_int_equal(count_good(&f), 2);
		assert_true(file_image_has(f.image, 7 * page, 2 * page));
		/* Where a mapping begins in its file is counted in pages, too. */
		build_set(&f.p, f.p.vmas[0] + BUILD_VMA_PGOFF, 3);
		read_process(&f);
		assert_int_equal(f.process->mappings.data[0].offset, 3 * page);
		close_fixture(&f);
	}
}

/* Without what leads to it, the array of struct page is nowhere. */
static void test_no_stack_pages(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct guest_file file;
	struct fixture f;

	(void)state;
	options.arm64 = true;
	options.page_shift = 14;
	open_options(&f, &options, SIZE);
	build_set(&f.p, f.p.task + BUILD_TASK_STACK_AREA, 0);
	assert_int_equal(guest_file_open(f.guest, &f.process->files.data[0], &file), -ESTALE);
	close_fixture(&f);
}

/* Any read may be the last. */
static void test_read_errors(void **state)
{
	struct fixture f;
	u64 reads;

	(void)state;
	open_sized(&f, 70 * PAGE);
	build_cache_fill(&f.p, f.inode, 0, 70, 0);
	reads = mem_fake_reads(f.build.mem);
	check_image(&f, 70);
	reads = mem_fake_reads(f.build.mem) - reads;
	for (u64 after = 0; after < reads; after++) {
		mem_fake_fail(f.build.mem, after, -ESRCH);
		assert_int_equal(try_image(&f), -ESRCH);
		mem_fake_fail(f.build.mem, after, -EFAULT);
		if (!try_image(&f))
			count_good(&f);
		mem_fake_fail(f.build.mem, 0, 0);
	}
	/* Three for each page, and few besides: the translations are kept. */
	assert_in_range(reads, 3 * 70, 5 * 70);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_pages),
		cmocka_unit_test(test_folios),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_old_huge_page),
		cmocka_unit_test(test_one_page),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_not_the_page),
		cmocka_unit_test(test_hostile_array),
		cmocka_unit_test(test_inodes),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_from_process),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_many_notes),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_half_vdso),
		cmocka_unit_test(test_untouched_vdso),
		cmocka_unit_test(test_page_sizes),
		cmocka_unit_test(test_no_stack_pages),
		cmocka_unit_test(test_read_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
