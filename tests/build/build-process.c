/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes and files of a guest. */
#include "build-process.h"

#include <string.h>
#include <sys/stat.h>

#include "mmu/walk.h"

#define LARGE (2ULL << 20)
#define OBJECTS_GPA (512ULL << 20)
#define VMEMMAP_GPA (640ULL << 20)
#define USER_TABLES_GPA (672ULL << 20)
#define PID 1234
#define XA_NODE(address) ((address) | 2)

static void check(int err)
{
	if (err)
		abort();
}

void build_set(struct build_process *p, u64 address, u64 value)
{
	build_guest_poke_u64(p->g, address, value);
}

void build_set_u32(struct build_process *p, u64 address, u32 value)
{
	build_guest_poke(p->g, address, &value, sizeof(value));
}

u64 build_get(const struct build_process *p, u64 address)
{
	struct mmu_space space = build_pagetable_space(&p->g->pages);
	u64 value;

	check(mmu_read(&space, mem_fake_reader(p->g->mem), GVA(address), &value, sizeof(value)));
	return value;
}

u64 build_object(struct build_process *p, size_t size, size_t align)
{
	u64 at = ALIGN_UP(p->next, align);

	p->next = at + size;
	if (p->next > BUILD_OBJECTS + BUILD_OBJECTS_SIZE)
		abort();
	for (u64 page = ALIGN_DOWN(at, 4096); page < p->next; page += 4096)
		if (!mem_fake_page(p->g->mem, GPA(OBJECTS_GPA + page - BUILD_OBJECTS)))
			abort();
	return at;
}

/* By large pages, which arm64 does not have of this size. */
static void map_area(struct build_process *p, u64 gva, u64 gpa, u64 size)
{
	struct build_pagetable *pages = &p->g->pages;

	if (p->g->options.arm64) {
		check(build_pagetable_map_range(pages, gva, gpa, size, MMU_WRITE));
		return;
	}
	for (u64 at = 0; at < size; at += LARGE)
		check(build_pagetable_map(pages, gva + at, gpa + at, LARGE, MMU_WRITE));
}

static void map_areas(struct build_process *p)
{
	map_area(p, BUILD_OBJECTS, OBJECTS_GPA, BUILD_OBJECTS_SIZE);
	map_area(p, BUILD_VMEMMAP + BUILD_DATA_PFN * BUILD_PAGE_BYTES, VMEMMAP_GPA, LARGE);
	if (!p->g->options.arm64) {
		build_guest_share_tables(p->g);
		build_set(p, p->g->start + BUILD_GUEST_VARIABLES, BUILD_VMEMMAP);
	}
	build_set_u32(p, p->g->start + BUILD_GUEST_VARIABLES + BUILD_GUEST_VSYSCALL_MODE, 2);
}

static void make_task(struct build_process *p)
{
	p->task = build_object(p, 256, 64);
	p->mm = build_object(p, BUILD_MM_BYTES, 64);
	p->fs = build_object(p, 64, 8);
	build_set_u32(p, p->task + BUILD_TASK_PID, PID);
	build_set_u32(p, p->task + BUILD_TASK_TGID, PID);
	build_set(p, p->task + BUILD_TASK_MM, p->mm);
	build_set(p, p->task + BUILD_TASK_START, 5000000000);
	build_set(p, p->task + BUILD_TASK_LEADER, p->task);
	build_set(p, p->task + BUILD_TASK_FS, p->fs);
	build_set(p, p->mm + BUILD_MM_TASK_SIZE, 0x7ffffffff000);
	build_set(p, p->mm + BUILD_MM_TOTAL, 100);
}

/* Its top page is in the direct map; it and the others are made as the tables grow. */
static void make_tables(struct build_process *p)
{
	const struct build_guest_options *options = &p->g->options;
	u64 pgd = BUILD_OBJECTS + BUILD_OBJECTS_SIZE;

	check(options->arm64 ?
		      build_pagetable_init_arm64(&p->user, p->g->mem, p->g->pages.page_shift,
						 p->g->pages.bits, false, GPA(USER_TABLES_GPA)) :
		      build_pagetable_init(&p->user, p->g->mem,
					   options->five_levels ? MMU_MODE_X86_5LEVEL :
								  MMU_MODE_X86_4LEVEL,
					   GPA(USER_TABLES_GPA)));
	map_area(p, pgd, USER_TABLES_GPA, LARGE);
	build_set(p, p->mm + BUILD_MM_PGD, pgd);
}

/*
 * Where the array of struct page is, arm64's kernels do not say: the first task has it, which the
 * idle task leads to, in the pages of its stack.
 */
static void make_stack_arm64(struct build_process *p)
{
	u64 idle = p->g->start + BUILD_GUEST_VARIABLES + BUILD_GUEST_INIT_TASK;
	u64 page = build_guest_page(p->g), area = build_object(p, 64, 8);
	u64 pages = build_object(p, sizeof(u64), 8), pfn = BUILD_DATA_PFN - 1;

	check(build_pagetable_map(&p->g->pages, BUILD_STACK, pfn * page, page, MMU_WRITE));
	build_set(p, pages, build_page(pfn));
	build_set(p, area + BUILD_AREA_ADDRESS, BUILD_STACK);
	build_set(p, area + BUILD_AREA_PAGES, pages);
	build_set(p, p->task + BUILD_TASK_STACK_AREA, area);
	build_set(p, idle + BUILD_TASK_LIST, p->task + BUILD_TASK_LIST);
	build_guest_poke(p->g, idle + BUILD_TASK_COMM, "swapper/0", sizeof("swapper/0"));
}

void build_process_init(struct build_process *p, struct build_guest *g)
{
	*p = (struct build_process){
		.g = g, .next = BUILD_OBJECTS, .next_pfn = BUILD_DATA_PFN,
	};
	map_areas(p);
	make_task(p);
	make_tables(p);
	if (g->options.arm64)
		make_stack_arm64(p);
	p->sb = build_object(p, 128, 64);
	build_set_u32(p, p->sb + BUILD_SB_DEV, 8 << 20 | 1);
	p->root = build_dentry(p, 0, "/");
	p->root_mount = build_mount(p, 0, 0, p->root);
	build_set(p, p->fs + BUILD_FS_ROOT, p->root_mount + BUILD_MOUNT_MNT);
	build_set(p, p->fs + BUILD_FS_ROOT + 8, p->root);
}

struct wire_task build_process_task(const struct build_process *p)
{
	return (struct wire_task){ .task = p->task, .mm = p->mm, .tid = PID, .pid = PID };
}

u64 build_dentry(struct build_process *p, u64 parent, const char *name)
{
	u64 dentry = build_object(p, BUILD_DENTRY_BYTES, 64), at = dentry + BUILD_DENTRY_INLINE;
	size_t len = strlen(name);

	if (len >= BUILD_DENTRY_BYTES - BUILD_DENTRY_INLINE)
		at = build_object(p, len + 1, 8);
	build_guest_poke(p->g, at, name, len + 1);
	build_set(p, dentry + BUILD_DENTRY_PARENT, parent ? parent : dentry);
	build_set(p, dentry + BUILD_DENTRY_HASHED, parent ? p->sb : 0);
	build_set_u32(p, dentry + BUILD_DENTRY_LEN, len);
	build_set(p, dentry + BUILD_DENTRY_NAME, at);
	return dentry;
}

u64 build_mount(struct build_process *p, u64 parent, u64 mountpoint, u64 root)
{
	u64 mount = build_object(p, BUILD_MOUNT_BYTES, 64);

	build_set(p, mount + BUILD_MOUNT_PARENT, parent ? parent : mount);
	build_set(p, mount + BUILD_MOUNT_POINT, parent ? mountpoint : root);
	build_set(p, mount + BUILD_MOUNT_MNT, root);
	return mount;
}

u64 build_inode(struct build_process *p, u64 number, u64 size)
{
	u64 inode = build_object(p, BUILD_INODE_BYTES, 64);

	build_set_u32(p, inode + BUILD_INODE_MODE, S_IFREG | 0755);
	build_set(p, inode + BUILD_INODE_SB, p->sb);
	build_set(p, inode + BUILD_INODE_MAPPING, inode + BUILD_INODE_DATA);
	build_set(p, inode + BUILD_INODE_NUMBER, number);
	build_set(p, inode + BUILD_INODE_SIZE, size);
	build_set_u32(p, inode + BUILD_INODE_GENERATION, 77);
	return inode;
}

u64 build_file(struct build_process *p, u64 mount, u64 dentry, u64 inode)
{
	u64 file = build_object(p, BUILD_FILE_BYTES + 16, 64);

	build_set(p, file + BUILD_FILE_PATH, mount + BUILD_MOUNT_MNT);
	build_set(p, file + BUILD_FILE_PATH + 8, dentry);
	build_set(p, file + BUILD_FILE_INODE, inode);
	return file;
}

u64 build_named_file(struct build_process *p, const char *name, u64 number, u64 size)
{
	u64 folder = build_dentry(p, p->root, "usr");

	return build_file(p, p->root_mount, build_dentry(p, folder, name),
			  build_inode(p, number, size));
}

u64 build_vma(struct build_process *p, u64 start, u64 end, u32 flags, u64 file, u64 page)
{
	u64 vma = build_object(p, BUILD_VMA_BYTES, 64);

	build_set(p, vma + BUILD_VMA_START, start);
	build_set(p, vma + BUILD_VMA_END, end);
	build_set(p, vma + BUILD_VMA_MM, p->mm);
	build_set(p, vma + BUILD_VMA_FLAGS, flags);
	build_set(p, vma + BUILD_VMA_FILE, file);
	build_set(p, vma + BUILD_VMA_PGOFF, page);
	if (p->nr_vmas == BUILD_MAX_VMAS)
		abort();
	p->vmas[p->nr_vmas++] = vma;
	build_set_u32(p, p->mm + BUILD_MM_COUNT, p->nr_vmas);
	return vma;
}

static void hang_list(struct build_process *p)
{
	u64 place = p->mm + BUILD_MM_ROOT;

	for (unsigned int i = 0; i < p->nr_vmas; i++) {
		build_set(p, place, p->vmas[i]);
		place = p->vmas[i] + BUILD_VMA_NEXT;
	}
	build_set(p, place, 0);
}

/* A node being filled. The pivot of the last slot stays 0 where there is one. */
struct maple {
	u64 node, enode;
	unsigned int nr, pivot, slot;
};

static struct maple make_maple(struct build_process *p, unsigned int type)
{
	struct maple maple = {
		.node = build_object(p, 256, 256),
		.pivot = 8,
		.slot = type == BUILD_MAPLE_ARANGE ? 80 : 128,
	};

	maple.enode = maple.node | type << 3 | 4;
	return maple;
}

static void put_slot(struct build_process *p, struct maple *maple, u64 entry, u64 to, bool last)
{
	build_set(p, maple->node + maple->slot + maple->nr * 8, entry);
	if (!last || !maple->nr)
		build_set(p, maple->node + maple->pivot + maple->nr * 8, to);
	maple->nr++;
}

/* A leaf for [@first, @last], which has the @nr mappings from @i on. */
static u64 make_leaf(struct build_process *p, unsigned int i, unsigned int nr, u64 first, u64 last)
{
	struct maple leaf = make_maple(p, BUILD_MAPLE_LEAF);

	for (unsigned int end = i + nr; i < end; i++) {
		u64 from = build_get(p, p->vmas[i] + BUILD_VMA_START);
		u64 to = build_get(p, p->vmas[i] + BUILD_VMA_END) - 1;

		if (from > first)
			put_slot(p, &leaf, 0, from - 1, false);
		put_slot(p, &leaf, p->vmas[i], to, to == last);
		first = to + 1;
	}
	if (!nr || first - 1 != last)
		put_slot(p, &leaf, 0, last, true);
	return leaf.enode;
}

static u64 make_node(struct build_process *p, unsigned int levels, unsigned int type,
		     unsigned int i, unsigned int nr, u64 first, u64 last)
{
	struct maple maple;
	unsigned int end = i + nr, step = (nr + 3) / 4;	/* four children */

	if (levels == 1)
		return make_leaf(p, i, nr, first, last);
	maple = make_maple(p, type);
	for (; i < end; i += step) {
		unsigned int part = MIN(step, end - i);
		bool is_last = i + part == end;
		u64 to = is_last ? last :
			 build_get(p, p->vmas[i + part - 1] + BUILD_VMA_END) - 1;

		put_slot(p, &maple, make_node(p, levels - 1, type, i, part, first, to), to,
			 is_last);
		first = to + 1;
	}
	return maple.enode;
}

void build_hang_mappings(struct build_process *p, unsigned int levels, unsigned int type)
{
	if (p->g->options.mapping_list)
		hang_list(p);
	else
		build_set(p, p->mm + BUILD_MM_ROOT,
			  make_node(p, levels, type, 0, p->nr_vmas, 0, UINT64_MAX) | 2);
}

u64 build_page(u64 pfn)
{
	return BUILD_VMEMMAP + pfn * BUILD_PAGE_BYTES;
}

u8 build_page_byte(u64 index, size_t i)
{
	return (index * 31 + i * 7 + (i >> 8)) & 0xff;
}

static void make_struct_page(struct build_process *p, u64 pfn)
{
	u64 gpa = VMEMMAP_GPA + (pfn - BUILD_DATA_PFN) * BUILD_PAGE_BYTES;

	if (!mem_fake_page(p->g->mem, GPA(gpa)))
		abort();
}

u64 build_folio(struct build_process *p, u64 inode, u64 index, unsigned int order)
{
	u64 pfn = ALIGN_UP(p->next_pfn, 1ULL << order), page = build_page(pfn);

	p->next_pfn = pfn + (1ULL << order);
	for (u64 i = 0; i < 1ULL << order; i++) {
		make_struct_page(p, pfn + i);
		if (i)
			build_set(p, build_page(pfn + i) + BUILD_PAGE_HEAD, page | 1);
	}
	build_set(p, page, 1ULL << BUILD_PAGE_UPTODATE);
	build_set(p, page + BUILD_PAGE_MAPPING, build_get(p, inode + BUILD_INODE_MAPPING));
	build_set(p, page + BUILD_PAGE_INDEX, index);
	return pfn;
}

void build_folio_data(struct build_process *p, u64 pfn, u64 index, unsigned int order)
{
	u64 page = build_guest_page(p->g);

	for (u64 at = 0; at < page << order; at += MEM_FAKE_PAGE) {
		u8 *bytes = mem_fake_page(p->g->mem, GPA(pfn * page + at));

		if (!bytes)
			abort();
		for (size_t i = 0; i < MEM_FAKE_PAGE; i++)
			bytes[i] = build_page_byte(index + at / page, at % page + i);
	}
}

static u64 make_xa_node(struct build_process *p, u8 shift, u64 parent)
{
	u64 node = build_object(p, BUILD_XA_BYTES, 64);

	build_guest_poke(p->g, node, &shift, 1);
	build_set(p, node + BUILD_XA_PARENT, parent);
	return node;
}

static u8 shift_of(const struct build_process *p, u64 node)
{
	return build_get(p, node) & 0xff;
}

/* The root node, high enough for @index and for entries of 2^@level pages. */
static u64 grow(struct build_process *p, u64 head, u64 index, unsigned int level)
{
	u64 entry = build_get(p, head), node;

	if (entry < 4096) {
		node = make_xa_node(p, 0, 0);
	} else if ((entry & 3) != 2) {		/* one page so far */
		node = make_xa_node(p, 0, 0);
		build_set(p, node + BUILD_XA_SLOTS, entry);
	} else {
		node = entry - 2;
	}
	while (index >> shift_of(p, node) >= 64 || shift_of(p, node) < level) {
		u64 above = make_xa_node(p, shift_of(p, node) + 6, 0);

		build_set(p, above + BUILD_XA_SLOTS, XA_NODE(node));
		build_set(p, node + BUILD_XA_PARENT, above);
		node = above;
	}
	build_set(p, head, XA_NODE(node));
	return node;
}

void build_cache_store(struct build_process *p, u64 inode, u64 index, unsigned int order,
		       u64 entry)
{
	u64 head = build_get(p, inode + BUILD_INODE_MAPPING) + BUILD_MAPPING_PAGES, node, slot;
	unsigned int level = order - order % 6;

	if (!index && !order && !build_get(p, head)) {
		build_set(p, head, entry);
		return;
	}
	node = grow(p, head, index + (1ULL << order) - 1, level);
	while (shift_of(p, node) > level) {
		u8 shift = shift_of(p, node);
		u64 below;

		slot = node + BUILD_XA_SLOTS + (index >> shift) % 64 * 8;
		if (!build_get(p, slot))
			build_set(p, slot, XA_NODE(make_xa_node(p, shift - 6, node)));
		below = build_get(p, slot) - 2;
		node = below;
	}
	slot = (index >> level) % 64;
	build_set(p, node + BUILD_XA_SLOTS + slot * 8, entry);
	for (u64 i = 1; i < 1ULL << (order - level); i++)
		build_set(p, node + BUILD_XA_SLOTS + (slot + i) * 8, slot << 2 | 2);
}

void build_cache_fill(struct build_process *p, u64 inode, u64 first, u64 nr, unsigned int order)
{
	for (u64 index = first; index < first + nr; index += 1ULL << order) {
		u64 pfn = build_folio(p, inode, index, order);

		build_folio_data(p, pfn, index, order);
		build_cache_store(p, inode, index, order, build_page(pfn));
	}
}

void build_list_add(struct build_process *p, u64 *place, u64 link)
{
	build_set(p, *place, link);
	*place = link;
}

struct guest *build_process_identify(const struct build_process *p)
{
	struct vcpu_regs regs = build_guest_regs(p->g);
	struct guest *guest;

	if (guest_create(mem_fake_reader(p->g->mem), NULL, &guest))
		return NULL;
	if (guest_identify(guest, &regs, NULL)) {
		guest_destroy(guest);
		return NULL;
	}
	return guest;
}
