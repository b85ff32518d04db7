/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small guest in fake memory: page tables, a kernel image with code, banner, notes, BTF,
 * kallsyms, ORC tables, and modules. Nothing runs in it, but all that is read from outside is
 * there.
 */
#ifndef BUILD_GUEST_IMAGE_H
#define BUILD_GUEST_IMAGE_H

#include "build-kallsyms.h"
#include "build-pagetable.h"
#include "unwind/orc.h"

#define BUILD_GUEST_FUNCTIONS 600

/* Offsets into the image. */
enum {
	BUILD_GUEST_FUNCTION = 0x1000,		/* the first one */
	BUILD_GUEST_FUNCTION_SIZE = 0x100,
	BUILD_GUEST_ETEXT = 0x80000,
	BUILD_GUEST_BANNER = 0x80000,
	BUILD_GUEST_NOTES = 0x80200,
	BUILD_GUEST_BTF = 0x81000,
	BUILD_GUEST_KALLSYMS = 0x90000,
	BUILD_GUEST_ORC_IP = 0xc0000,
	BUILD_GUEST_ORC = 0xc8000,
	BUILD_GUEST_MODULES = 0xd0000,
	BUILD_GUEST_PAGE_TABLE = 0xd1000,
	BUILD_GUEST_BOOT_PARAMS = 0xd2000,
	BUILD_GUEST_VARIABLES = 0xd3000,	/* vmemmap_base is the first */
	BUILD_GUEST_INIT_STACK = 0xd4000,
	BUILD_GUEST_PERCPU = 0xe0000,
	BUILD_GUEST_INITTEXT = 0xf0000,
	BUILD_GUEST_END = 0x120000,
};

/* In BUILD_GUEST_VARIABLES. */
enum {
	BUILD_GUEST_VSYSCALL_MODE = 8,
	BUILD_GUEST_BPF_KALLSYMS = 16,
	BUILD_GUEST_TRAMPOLINES = 32,
	BUILD_GUEST_KPROBE_SLOTS = 48,
	BUILD_GUEST_OPTPROBE_SLOTS = 96,
	BUILD_GUEST_GATE_VMA = 0x100,
	BUILD_GUEST_SPECIAL_OPS = 0x300,
	BUILD_GUEST_INIT_TASK = 0x400,
};

/* In every function: a call at its start that returns to +5, and one that returns to +0x20. */
#define BUILD_GUEST_RETURN 0x20

/* Structures of the BTF. */
enum {
	BUILD_TASK_PID = 0x98,
	BUILD_TASK_TGID = 0x9c,
	BUILD_TASK_COMM = 0xb8,
	BUILD_TASK_STACK = 0x20,
	BUILD_TASK_MM = 0x50,
	BUILD_TASK_START = 0xd0,
	BUILD_TASK_LEADER = 0xd8,
	BUILD_TASK_EXEC_ID = 0xe0,
	BUILD_TASK_FS = 0xe8,
	BUILD_TASK_LIST = 0xf0,
	BUILD_TASK_STACK_AREA = 0xa0,
	BUILD_TASK_ALT_STACK = 0x60,
	BUILD_TASK_PARENT = 0x70,
	BUILD_TASK_EXIT_STATE = 0x78,
	BUILD_PERCPU_TASK = 0x1fb80,
	BUILD_PERCPU_HOT = 0x351c0,
	BUILD_HOT_IRQ_STACK = 32,
};

struct build_guest_options {
	u64 start;		/* 0: a place of KASLR's */
	struct build_kallsyms_format kallsyms;
	enum orc_format orc;
	bool no_btf;
	bool text_symbols_only;	/* no KALLSYMS_ALL */
	bool pcpu_hot;		/* 6.2 to 6.14 */
	bool module_memory;	/* 6.4 */
	bool fred;
	bool five_levels;	/* of page tables */
	bool arm64;		/* its page tables, and places of image and modules */
	u8 page_shift;		/* of arm64; 0: 12, 4 KiB */
	bool no_typetab;	/* before 5.2 */
	u32 thread_size;	/* 0: 16 KiB */
	bool mapping_list;	/* of a process, before 6.1 */
	bool mapping_count;	/* of its changes, from 6.4 */
	bool backing_files;	/* below an overlay, from 6.7 */
	bool no_user_types;	/* the BTF lacks those of processes */
};

/* As a kernel that can do with 52 bits has them on a CPU that cannot. */
#define BUILD_GUEST_ARM64_BITS(options) ((options)->page_shift == 14 ? 47 : 48)

/* What a release of build_kallsyms_releases had otherwise. */
struct build_guest_options build_guest_release(size_t release);

struct build_guest {
	struct build_guest_options options;
	struct mem_fake *mem;
	struct build_pagetable pages;	/* of some process, not the kernel's own */
	u64 start;
	u8 build_id[20];
	struct build_kallsyms_places kallsyms;	/* as offsets into the image */
	u64 next_gpa;
	u64 next_module;		/* address */
	u64 last_module;		/* struct module */
};

void build_guest_init(struct build_guest *g, const struct build_guest_options *options);
void build_guest_deinit(struct build_guest *g);

/* Bytes of its smallest page. */
u64 build_guest_page(const struct build_guest *g);

/* In kernel mode, somewhere in the first function. */
struct vcpu_regs build_guest_regs(const struct build_guest *g);

/* Writes guest memory where it is mapped. */
void build_guest_poke(struct build_guest *g, u64 gva, const void *data, size_t size);
void build_guest_poke_u64(struct build_guest *g, u64 gva, u64 value);

/* Gives the kernel's own page table what was added to the process's upper half. */
void build_guest_share_tables(struct build_guest *g);

/* The guest address of function @i, which is called "func_<i>". */
u64 build_guest_function(const struct build_guest *g, unsigned int i);

struct build_guest_module {
	u64 address;		/* of its struct module */
	u64 list;		/* of the list entry in it */
	u64 text, text_size;
	u64 init_text;
	u64 kallsyms;		/* of its struct mod_kallsyms */
	u64 symtab, strtab;
	u64 nr_orcs;		/* where the count is */
	u8 build_id[20];
};

/*
 * Puts a module at the list's end. Its code is @nr functions "<name>_<i>" of 64 bytes, each with a
 * call that returns to +0x10.
 */
struct build_guest_module build_guest_add_module(struct build_guest *g, const char *name, u32 nr);

#endif
