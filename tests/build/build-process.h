/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes and files in a guest of build-guest-image.h: a task with an address space, mappings in
 * a tree or a list, mounts, names, inodes and the page cache. All objects are in one area of the
 * direct map, each behind the other; one process's page tables apart. In guests of arm64 addresses
 * are x86's, too.
 */
#ifndef BUILD_PROCESS_H
#define BUILD_PROCESS_H

#include "build-guest-image.h"
#include "guest/guest.h"
#include "model/wire.h"

#define BUILD_OBJECTS 0xffff888100000000ULL	/* guest address of the area */
#define BUILD_OBJECTS_SIZE (4ULL << 20)
#define BUILD_VMEMMAP 0xffffea4000000000ULL
#define BUILD_STACK 0xffff888200000000ULL	/* of the first task, on arm64 */
#define BUILD_DATA_PFN 0x30000ULL		/* of the first page of a file */

/* Structures of the BTF. */
enum {
	BUILD_FS_ROOT = 24,

	BUILD_MM_ROOT = 0x48, BUILD_MM_PGD = 0x60, BUILD_MM_COUNT = 0x70, BUILD_MM_SEQ = 0x74,
	BUILD_MM_TOTAL = 0x80, BUILD_MM_EXEC = 0x98, BUILD_MM_START_BRK = 0xb0,
	BUILD_MM_BRK = 0xb8, BUILD_MM_STACK = 0xc0, BUILD_MM_TASK_SIZE = 0x58,
	BUILD_MM_VDSO = 0xf0, BUILD_MM_VDSO_IMAGE = 0xf8, BUILD_MM_EXE = 0x100,
	BUILD_MM_BYTES = 0x140,

	BUILD_VMA_START = 0, BUILD_VMA_END = 8, BUILD_VMA_MM = 16, BUILD_VMA_FLAGS = 32,
	BUILD_VMA_NEXT = 40, BUILD_VMA_OPS = 64, BUILD_VMA_PGOFF = 72, BUILD_VMA_FILE = 80,
	BUILD_VMA_PRIVATE = 88, BUILD_VMA_BYTES = 128,

	BUILD_MAPLE_LEAF = 1, BUILD_MAPLE_RANGE = 2, BUILD_MAPLE_ARANGE = 3,

	BUILD_FILE_MODE = 4, BUILD_FILE_INODE = 24, BUILD_FILE_PATH = 40, BUILD_FILE_BYTES = 64,
	BUILD_DENTRY_HASHED = 16, BUILD_DENTRY_PARENT = 24, BUILD_DENTRY_QSTR = 32,
	BUILD_DENTRY_LEN = 36, BUILD_DENTRY_NAME = 40, BUILD_DENTRY_INLINE = 56,
	BUILD_DENTRY_BYTES = 128,
	BUILD_MOUNT_PARENT = 16, BUILD_MOUNT_POINT = 24, BUILD_MOUNT_MNT = 32,
	BUILD_MOUNT_BYTES = 96,

	BUILD_INODE_MODE = 0, BUILD_INODE_SB = 40, BUILD_INODE_MAPPING = 48,
	BUILD_INODE_NUMBER = 64, BUILD_INODE_SIZE = 80, BUILD_INODE_GENERATION = 96,
	BUILD_INODE_DATA = 128, BUILD_INODE_BYTES = 256,
	BUILD_SB_DEV = 16, BUILD_SB_MAGIC = 88,
	BUILD_MAPPING_PAGES = 16,

	BUILD_XA_PARENT = 8, BUILD_XA_SLOTS = 40, BUILD_XA_BYTES = 576,
	BUILD_PAGE_HEAD = 8, BUILD_PAGE_MAPPING = 24, BUILD_PAGE_INDEX = 32,
	BUILD_PAGE_BYTES = 64, BUILD_PAGE_UPTODATE = 3,

	BUILD_AREA_ADDRESS = 8, BUILD_AREA_PAGES = 32,

	BUILD_KSYM_NAME = 16, BUILD_KSYM_NAME_SIZE = 128, BUILD_KSYM_LIST = 144,
	BUILD_KSYM_BYTES = 200,
	BUILD_OPS_TRAMPOLINE = 0x80, BUILD_OPS_SIZE = 0x88, BUILD_OPS_LIST = 0x90,
	BUILD_OPS_BYTES = 0xc0,
	BUILD_INSN_CACHE_PAGES = 24, BUILD_INSN_PAGE_LIST = 0, BUILD_INSN_PAGE_CODE = 16,
	BUILD_INSN_PAGE_BYTES = 48,
};

/* vm_flags */
enum {
	BUILD_VM_READ = 1, BUILD_VM_WRITE = 2, BUILD_VM_EXEC = 4, BUILD_VM_SHARED = 0x88,
};

#define BUILD_MAX_VMAS 256

struct build_process {
	struct build_guest *g;
	u64 next;			/* in the area */
	u64 next_pfn;
	struct build_pagetable user;	/* the process's own tables */
	u64 task, mm, fs;
	u64 sb;				/* of all inodes */
	u64 root_mount, root;		/* the struct mount and the dentry of "/" */
	u64 vmas[BUILD_MAX_VMAS];	/* ascending */
	unsigned int nr_vmas;
};

/* A process 1234 of one thread without mappings, in @g. */
void build_process_init(struct build_process *p, struct build_guest *g);

/* Its task as a sample has it. */
struct wire_task build_process_task(const struct build_process *p);

/* Zeroed memory in the area, aligned; and what is in it. */
u64 build_object(struct build_process *p, size_t size, size_t align);
void build_set(struct build_process *p, u64 address, u64 value);
void build_set_u32(struct build_process *p, u64 address, u32 value);
u64 build_get(const struct build_process *p, u64 address);

/* Makes the word at *@place, a list's head or last link, lead to @link, which is *@place then. */
void build_list_add(struct build_process *p, u64 *place, u64 link);

/* What is read of the guest, identified; NULL when it cannot be. To guest_destroy(). */
struct guest *build_process_identify(const struct build_process *p);

/* @parent 0: its own, as a mount's root is. */
u64 build_dentry(struct build_process *p, u64 parent, const char *name);
u64 build_mount(struct build_process *p, u64 parent, u64 mountpoint, u64 root);
u64 build_inode(struct build_process *p, u64 number, u64 size);
u64 build_file(struct build_process *p, u64 mount, u64 dentry, u64 inode);

/* A file "/usr/NAME" of @size bytes in the root's mount. */
u64 build_named_file(struct build_process *p, const char *name, u64 number, u64 size);

/* Appends a mapping, @file 0: anonymous. Returns the struct vm_area_struct. */
u64 build_vma(struct build_process *p, u64 start, u64 end, u32 flags, u64 file, u64 page);

/*
 * Hangs the mappings in: in a list with .mapping_list, else in a maple tree of @levels nodes from
 * top to leaf, the ones between of type @type.
 */
void build_hang_mappings(struct build_process *p, unsigned int levels, unsigned int type);

/* One page or folio of 2^@order pages of the file's; its first page's number. */
u64 build_folio(struct build_process *p, u64 inode, u64 index, unsigned int order);

/* Fills pages with what build_page_byte() says. */
void build_folio_data(struct build_process *p, u64 pfn, u64 index, unsigned int order);
u8 build_page_byte(u64 index, size_t i);

/* The address of a struct page. */
u64 build_page(u64 pfn);

/* Puts @entry for 2^@order pages from @index on into the inode's page cache. */
void build_cache_store(struct build_process *p, u64 inode, u64 index, unsigned int order,
		       u64 entry);

/* All of it: folios of 2^@order pages, with their data, stored. */
void build_cache_fill(struct build_process *p, u64 inode, u64 first, u64 nr, unsigned int order);

#endif
