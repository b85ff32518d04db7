/* SPDX-License-Identifier: GPL-2.0-only */
/* A file's bytes out of guest memory. */
#include "guest/file.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "guest/file-ranges.h"
#include "guest/guest-private.h"
#include "guest/page-cache.h"

#define PAGE ((u64)FILE_IMAGE_PAGE)
#define READS_PER_PAGE 12	/* nodes and translations included */
#define READS_BASE 256
#define MAX_SEGMENTS 256
#define MAX_NOTES 65536

/* Of a file system that keeps pages of another size: include/uapi/linux/magic.h. */
#define HUGETLBFS_MAGIC 0x958458f6

/* Without a variable that says so, "struct page" are here: Documentation/arch/x86/x86_64/mm.rst. */
#define VMEMMAP_4LEVEL 0xffffea0000000000ULL
#define VMEMMAP_5LEVEL 0xffd4000000000000ULL

/* A reading under way. */
struct session {
	struct guest_view view;
	struct kread k;
	struct page_cache cache;
};

/* @nr_pages of FILE_IMAGE_PAGE, which are not fewer than the guest's. */
static int session_begin(struct session *session, const struct guest *guest, u64 nr_pages)
{
	int err = guest_get_view(guest, &session->view);

	if (err)
		return err;
	if (!layout_has_pages(&session->view.layout->user))
		return -EOPNOTSUPP;
	kread_init(&session->k, session->view.mem, &session->view.space,
		   READS_BASE + nr_pages * READS_PER_PAGE);
	session->cache = (struct page_cache){
		.k = &session->k, .layout = &session->view.layout->user,
		.page = mmu_page_bytes(&session->view.space),
	};
	return 0;
}

static int session_of_file(struct session *session, const struct guest_file *file, u64 nr_pages)
{
	int err = session_begin(session, file->guest, nr_pages);

	if (err)
		return err;
	session->cache.mapping = file->mapping;
	session->cache.vmemmap = file->vmemmap;
	return 0;
}

/*
 * On arm64 it depends on the size of addresses that the kernel was built for, on where memory
 * begins and on the release. But any kernel stack is made of pages that its struct vm_struct lists,
 * and is mapped: the first task's, after the one that has none of these.
 */
static int find_vmemmap_arm64(struct session *session, const struct guest *guest, u64 *ret)
{
	const struct user_layout *layout = &session->view.layout->user;
	u64 first = guest_place(guest, PLACE_INIT_TASK), task, area, address, pages, page;
	struct mmu_mapping at;

	if (!first || layout->task_list == LAYOUT_NONE || layout->task_stack_area == LAYOUT_NONE ||
	    layout->area_address == LAYOUT_NONE || layout->area_pages == LAYOUT_NONE)
		return -EOPNOTSUPP;
	if (kread_u64(&session->k, first + layout->task_list, &task) ||
	    kread_u64(&session->k, task - layout->task_list + layout->task_stack_area, &area) ||
	    kread_u64(&session->k, area + layout->area_address, &address) ||
	    kread_u64(&session->k, area + layout->area_pages, &pages) ||
	    kread_u64(&session->k, pages, &page) ||
	    mmu_translate(&session->view.space, session->view.mem, GVA(address), &at))
		return -ESTALE;
	*ret = page - at.gpa.addr / session->cache.page * layout->page_bytes;
	return 0;
}

static int find_vmemmap(struct session *session, const struct guest *guest, u64 *ret)
{
	u64 variable = guest_place(guest, PLACE_VMEMMAP_BASE);
	u8 mode = session->view.space.mode & ~MMU_MODE_F_NO_NX;

	if (session->view.space.arch == VCPU_ARCH_ARM64)
		return find_vmemmap_arm64(session, guest, ret);
	if (variable)
		return kread_u64(&session->k, variable, ret);
	*ret = mode == MMU_MODE_X86_5LEVEL ? VMEMMAP_5LEVEL : VMEMMAP_4LEVEL;
	return 0;
}

/* Whether the inode is still that of the key: its memory may be used again. */
static int check_inode(struct session *session, const struct kobject *inode,
		       const struct guest_file_key *key)
{
	const struct user_layout *layout = &session->view.layout->user;
	u64 sb = kobject_u64(inode, layout->inode_sb), magic = 0;
	u32 dev;
	int err = kread(&session->k, sb + layout->sb_dev, &dev, sizeof(dev));

	if (!err && layout->sb_magic != LAYOUT_NONE)
		err = kread_u64(&session->k, sb + layout->sb_magic, &magic);
	if (err)
		return err == -EFAULT ? -ESTALE : err;
	if (magic == HUGETLBFS_MAGIC)
		return -EOPNOTSUPP;
	if (kobject_u64(inode, layout->inode_number) != key->ino ||
	    kobject_u32(inode, layout->inode_generation) != key->generation ||
	    dev != (key->major << 20 | key->minor))
		return -ESTALE;
	return 0;
}

int guest_file_open(const struct guest *guest, const struct guest_mapped_file *mapped,
		    struct guest_file *ret)
{
	struct guest_file file = { .guest = guest, .key = mapped->key };
	struct session session;
	const struct user_layout *layout;
	struct kobject inode;
	int err = session_begin(&session, guest, 0);

	if (err)
		return err;
	if (!mapped->regular)
		return -ENODATA;
	layout = &session.view.layout->user;
	err = kobject_read(&session.k, mapped->key.inode, layout->inode_bytes, &inode);
	if (err)
		return err == -EFAULT ? -ESTALE : err;
	err = check_inode(&session, &inode, &mapped->key);
	if (err)
		return err;
	file.page = session.cache.page;
	file.size = kobject_u64(&inode, layout->inode_size);
	file.mapping = kobject_u64(&inode, layout->inode_mapping);
	if (!file.size || file.size > INT64_MAX)
		return -ENODATA;
	err = find_vmemmap(&session, guest, &file.vmemmap);
	if (err)
		return err;
	*ret = file;
	return 0;
}

/* Bytes of one range, page by page. */
struct range {
	u64 offset;
	size_t size;
	u8 *out;
	size_t got;
	u32 page;	/* bytes of one */
};

static int copy_page(void *ctx, u64 offset, const u8 *bytes)
{
	struct range *range = ctx;
	u64 start = MAX(offset, range->offset);
	u64 end = MIN(offset + range->page, range->offset + range->size);

	memcpy(range->out + (start - range->offset), bytes + (start - offset), end - start);
	range->got += end - start;
	return 0;
}

int guest_file_read(const struct guest_file *file, u64 offset, void *out, size_t size)
{
	struct range range = { .offset = offset, .size = size, .out = out, .page = file->page };
	struct session session;
	int err;

	if (offset > file->size || size > file->size - offset)
		return -ENODATA;
	if (!size)
		return 0;
	err = session_of_file(&session, file, size / PAGE + 2);
	if (!err)
		err = page_cache_for_each(&session.cache, offset / file->page,
					  (offset + size - 1) / file->page, copy_page, &range);
	if (err)
		return err;
	return range.got == size ? 0 : -ENODATA;
}

/* An image under way. */
struct filling {
	struct file_image *image;
	u32 page;
};

static int set_page(void *ctx, u64 offset, const u8 *bytes)
{
	struct filling *filling = ctx;

	for (u64 at = 0; at < filling->page; at += PAGE)
		file_image_set_page(filling->image, offset + at, bytes + at);
	return 0;
}

/* Whether all of a page of @bytes is there, but for what is beyond the file's end. */
static bool has_page(const struct file_image *image, u64 offset, u64 bytes)
{
	return file_image_has(image, offset, MIN(bytes, image->size - offset));
}

int guest_file_image_range(const struct guest_file *file, u64 offset, u64 size,
			   struct file_image *image)
{
	struct filling filling = { .image = image, .page = file->page };
	u64 page = file->page, at = ALIGN_DOWN(offset, page), end;
	struct session session;
	int err = 0;

	if (image->size != file->size)
		return -ESTALE;
	if (offset >= image->size)
		return 0;
	end = offset + MIN(size, image->size - offset);
	/* Stretches of pages that are not known yet. */
	while (!err && at < end) {
		u64 start = at;

		for (; at < end && !has_page(image, at, page); at += page)
			;
		if (at > start)
			err = session_of_file(&session, file, (at - start) / PAGE) ?:
			      page_cache_for_each(&session.cache, start / page, at / page - 1,
						  set_page, &filling);
		for (; at < end && has_page(image, at, page); at += page)
			;
	}
	return err;
}

/* What of the file @process has at @gva, in one of its pages. -EFAULT: nothing, or no more. */
static int read_mapped_page(struct session *session, const struct guest_process *process, gva_t gva,
			    u8 page[FILE_IMAGE_PAGE])
{
	struct mmu_mapping place, again;
	int err = mmu_translate(&process->space, session->k.mem, gva, &place);

	if (err || !page_cache_owns(&session->cache, place.gpa.addr))
		return -EFAULT;
	err = kread_physical(&session->k, place.gpa.addr, page, FILE_IMAGE_PAGE);
	if (err)
		return err;
	/* What was freed meanwhile has another's bytes. */
	if (mmu_translate(&process->space, session->k.mem, gva, &again) ||
	    again.gpa.addr != place.gpa.addr || !page_cache_owns(&session->cache, place.gpa.addr))
		return -EFAULT;
	return 0;
}

/* One mapping's pages. */
static int fill_from_mapping(struct session *session, const struct guest_process *process,
			     const struct guest_mapping *mapping, struct file_image *image)
{
	u64 size = mapping->end.addr - mapping->start.addr;

	for (u64 at = 0; at < size; at += PAGE) {
		u64 offset = mapping->offset + at;
		u8 page[FILE_IMAGE_PAGE];
		int err;

		if (offset < at || offset >= image->size)
			break;
		if (!session->k.left)
			return -E2BIG;
		session->k.left--;
		if (has_page(image, offset, PAGE))
			continue;
		err = read_mapped_page(session, process, GVA(mapping->start.addr + at), page);
		if (!err)
			file_image_set_page(image, offset, page);
		else if (err != -EFAULT)
			return err;
	}
	return 0;
}

int guest_file_fill_from_process(const struct guest_file *file, const struct guest_process *process,
				 u32 index, struct file_image *image)
{
	struct session session;
	int err;

	if (image->size != file->size)
		return -ESTALE;
	if (!process->space.root)
		return 0;
	err = session_of_file(&session, file, image->size / PAGE + 1);
	for (size_t i = 0; !err && i < process->mappings.nr; i++) {
		const struct guest_mapping *mapping = &process->mappings.data[i];

		if (mapping->file == index && !mapping->shared &&
		    mapping->prot == (PROT_READ | PROT_EXEC))
			err = fill_from_mapping(&session, process, mapping, image);
	}
	return err;
}

static int read_all(const struct guest_file *file, const struct guest_process *process, u32 index,
		    struct file_image *image)
{
	int err = guest_file_image_range(file, 0, file->size, image);

	if (!err && file_image_missing(image))
		err = guest_file_fill_from_process(file, process, index, image);
	return err;
}

int guest_file_image(const struct guest *guest, const struct guest_process *process, u32 index,
		     struct file_image **ret)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	struct guest_file file;
	int err;

	if (index >= process->files.nr)
		return -EINVAL;
	err = guest_file_open(guest, &process->files.data[index], &file);
	if (err)
		return err;
	err = file_image_create(file.size, &image);
	if (!err)
		err = file.size > GUEST_FILE_MAX_EAGER ? file_ranges_read(&file, image) :
		      read_all(&file, process, index, image);
	if (err)
		return err;
	if (file_image_missing(image) == (file.size + PAGE - 1) / PAGE)
		return -ENODATA;
	*ret = TAKE_PTR(image);
	return 0;
}

/* Where the bytes of an ELF file come from. */
typedef int read_fn(const void *source, u64 offset, void *out, size_t size);

static int read_file(const void *source, u64 offset, void *out, size_t size)
{
	return guest_file_read(source, offset, out, size);
}

static int read_image(const void *source, u64 offset, void *out, size_t size)
{
	const struct file_image *image = source;

	if (!file_image_has(image, offset, size))
		return -ENODATA;
	memcpy(out, image->data + offset, size);
	return 0;
}

/* What the ELF header says about the program headers, of either word size. */
struct elf_facts {
	bool wide;
	u64 offset;	/* of the program headers */
	u32 size, nr;
};

static int read_elf_header(read_fn *read, const void *source, struct elf_facts *ret)
{
	union {
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} header;
	int err = read(source, 0, &header, sizeof(header.narrow));

	if (err)
		return err;
	if (memcmp(header.narrow.e_ident, ELFMAG, SELFMAG) ||
	    header.narrow.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EBADMSG;
	ret->wide = header.narrow.e_ident[EI_CLASS] == ELFCLASS64;
	if (ret->wide)
		err = read(source, 0, &header, sizeof(header));
	if (err)
		return err;
	ret->offset = ret->wide ? header.wide.e_phoff : header.narrow.e_phoff;
	ret->nr = ret->wide ? header.wide.e_phnum : header.narrow.e_phnum;
	ret->size = ret->wide ? header.wide.e_phentsize : header.narrow.e_phentsize;
	if (ret->size != (ret->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return -EBADMSG;
	return 0;
}

/* The place of the notes in a segment. False: it is no segment of notes. */
static bool find_notes(const struct elf_facts *elf, const u8 *segment, u64 *ret_offset,
		       u64 *ret_size)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (elf->wide)
		memcpy(&wide, segment, sizeof(wide));
	else
		memcpy(&narrow, segment, sizeof(narrow));
	*ret_offset = elf->wide ? wide.p_offset : narrow.p_offset;
	*ret_size = elf->wide ? wide.p_filesz : narrow.p_filesz;
	return (elf->wide ? wide.p_type : narrow.p_type) == PT_NOTE && *ret_size;
}

/* MAX_NOTES of them in all, and all headers at once: who asks does so for every file it sees. */
static int read_build_id(read_fn *read, const void *source, struct build_id *ret)
{
	_cleanup_free_ u8 *notes = malloc(MAX_NOTES);
	u8 segments[MAX_SEGMENTS * sizeof(Elf64_Phdr)];
	u64 left = MAX_NOTES, offset, size;
	struct elf_facts elf;
	int err = notes ? read_elf_header(read, source, &elf) : -ENOMEM, missing = 0;

	if (err)
		return err;
	elf.nr = MIN(elf.nr, MAX_SEGMENTS);
	err = elf.nr ? read(source, elf.offset, segments, elf.nr * elf.size) : -ENOENT;
	for (u32 i = 0; i < elf.nr && !err; i++) {
		if (!find_notes(&elf, segments + i * elf.size, &offset, &size) || size > left)
			continue;
		left -= size;
		err = read(source, offset, notes, size);
		if (err == -ENODATA)
			missing = err;
		else if (!err && !build_id_from_notes(notes, size, false, ret))
			return 0;
		err = err == -ENODATA ? 0 : err;
	}
	return err ? err : missing ? missing : -ENOENT;
}

int guest_file_build_id(const struct guest_file *file, struct build_id *ret)
{
	return read_build_id(read_file, file, ret);
}

int guest_image_build_id(const struct file_image *image, struct build_id *ret)
{
	return read_build_id(read_image, image, ret);
}

static const struct guest_mapping *find_vdso(const struct guest_process *process)
{
	vec_for_each(&process->mappings, mapping)
		if (mapping->kind == GUEST_MAPPING_VDSO)
			return mapping;
	return NULL;
}

/* The kernel's copy of what is mapped with @size bytes. 0: not known. */
static u64 find_vdso_data(const struct guest_view *view, const struct guest_process *process,
			  u64 size)
{
	const struct user_layout *layout = &view->layout->user;
	u64 image, data, its_size;
	struct kread k;

	kread_init(&k, view->mem, &view->space, READS_BASE);
	if (layout->mm_vdso_image == LAYOUT_NONE || layout->vdso_data == LAYOUT_NONE ||
	    layout->vdso_size == LAYOUT_NONE ||
	    kread_u64(&k, process->mm + layout->mm_vdso_image, &image) ||
	    kread_u64(&k, image + layout->vdso_data, &data) ||
	    kread_u64(&k, image + layout->vdso_size, &its_size))
		return 0;
	return its_size == size ? data : 0;
}

int guest_vdso_image(const struct guest *guest, const struct guest_process *process,
		     struct file_image **ret)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	const struct guest_mapping *vdso = find_vdso(process);
	struct guest_view view;
	int err = guest_get_view(guest, &view);
	u64 size, data;

	if (err)
		return err;
	if (!vdso || !process->space.root)
		return -ENOENT;
	size = vdso->end.addr - vdso->start.addr;
	if (size > GUEST_VDSO_MAX_SIZE)
		return -E2BIG;
	data = find_vdso_data(&view, process, size);
	err = file_image_create(size, &image);
	for (u64 at = 0; !err && at < size; at += PAGE) {
		u8 page[FILE_IMAGE_PAGE];

		err = mmu_read(&process->space, view.mem, GVA(vdso->start.addr + at), page,
			       sizeof(page));
		if (err == -EFAULT && data)
			err = mmu_read(&view.space, view.mem, GVA(data + at), page, sizeof(page));
		if (!err)
			file_image_set_page(image, at, page);
		/* Not touched by the process: a hole, as of section headers that nobody reads. */
		err = err == -EFAULT ? 0 : err;
	}
	if (!err && file_image_missing(image) * PAGE >= size)
		err = -ENODATA;
	if (err)
		return err;
	*ret = TAKE_PTR(image);
	return 0;
}
