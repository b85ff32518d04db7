/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One build of a guest kernel: all that is the same wherever and in whichever guest it is loaded.
 * Made once from an image, or read from the cache, and shared by all guests that run it.
 */
#ifndef GUEST_KERNEL_BUILD_H
#define GUEST_KERNEL_BUILD_H

#include "base/vec.h"
#include "guest/guest.h"
#include "guest/image.h"
#include "guest/kallsyms.h"
#include "guest/layout.h"
#include "unwind/orc.h"

/* A place in the image; .known 0 when the kernel has no such symbol. */
struct build_place {
	u64 offset;
	u32 known;
	u32 absolute;	/* 1: .offset is the value itself: a per-CPU offset before 6.15 */
};

/* The places that are looked up by name once. */
enum build_place_id {
	PLACE_ETEXT,
	PLACE_END,
	PLACE_SINITTEXT,
	PLACE_EINITTEXT,
	PLACE_MODULES,		/* list head of modules */
	PLACE_PAGE_TABLE,	/* the kernel's own top page table */
	PLACE_BOOT_PARAMS,
	PLACE_CURRENT_TASK,	/* per-CPU, the member of pcpu_hot included; arm64: __entry_task */
	PLACE_IRQ_STACK,	/* per-CPU hardirq_stack_ptr, the same; arm64: irq_stack_ptr */
	PLACE_LOADED_MM,	/* per-CPU cpu_tlbstate.loaded_mm */
	PLACE_RETHOOK,		/* trampolines that tracing returns to in a caller's stead */
	PLACE_KRETPROBE,
	PLACE_GRAPH,
	PLACE_VMEMMAP_BASE,	/* variable: the address of the first struct page */
	PLACE_SPECIAL_OPS,	/* vm_ops of the vDSO and its like */
	PLACE_GATE_VMA,		/* the vsyscall page's mapping, of no process */
	PLACE_VSYSCALL_MODE,
	PLACE_INIT_TASK,	/* the task that the list of all begins at */
	PLACE_BPF_KALLSYMS,	/* list head of BPF programs and trampolines */
	PLACE_TRAMPOLINES,	/* list head of ftrace's */
	PLACE_KPROBE_PAGES,	/* list heads of pages with instructions that kprobes displaced */
	PLACE_OPTPROBE_PAGES,
	PLACE_NR,
};

/* Bytes of the image that the build was made of and that are the same at every address. */
enum build_span_id {
	SPAN_BANNER,
	SPAN_NAMES,
	SPAN_ADDRESSES,
	SPAN_BTF,
	SPAN_ORC_IP,
	SPAN_ORC,
	SPAN_NR,
};

struct build_span {
	u64 offset;
	u64 size;	/* 0: the kernel has none */
};

/* A symbol table for one load address, shared by the guests whose kernel is there. */
struct build_symtab {
	u64 start;
	unsigned int users;
	struct symtab *symtab;
};

struct kernel_build {
	unsigned int users;
	char release[GUEST_RELEASE_LEN];
	char banner[GUEST_BANNER_LEN];
	struct guest_build_id build_id;
	u64 build_id_offset;	/* where in the image its bytes are */
	u64 image_size;
	u32 thread_size;	/* bytes of a kernel stack */
	u32 pt_regs_top;	/* from the stack's end down to the end of the user pt_regs */
	u32 word;		/* bytes of a long: 8, or 4 of i386 */
	bool has_btf;
	bool partial;		/* there was more, but it made no sense or was not found */
	struct build_place places[PLACE_NR];
	struct kernel_layout layout;
	struct kallsyms *symbols;
	struct orc_table *orc;	/* addresses are offsets into the image; NULL: none */
	struct build_span spans[SPAN_NR];
	VEC(struct build_symtab) symtabs;
};

/*
 * Makes it from an image that was read in @space, of which the architecture and the size of a page
 * count. -ENOENT when there is no symbol table in it; *@ret_why then says so. What else is missing
 * is left out.
 */
int kernel_build_create(const struct image *image, const struct mmu_space *space,
			struct kernel_build **ret, const char **ret_why);

struct kernel_build *kernel_build_get(struct kernel_build *build);

/* The last one frees it. NULL-safe. */
void kernel_build_put(struct kernel_build *build);
DEFINE_CLEANUP(struct kernel_build *, kernel_build_put)

/*
 * Takes over what layout_i386_find() found of the kernel whose image is at @start. Before anybody
 * else has the build.
 */
struct layout_i386;
void kernel_build_set_i386(struct kernel_build *build, u64 start, const struct layout_i386 *found);

/* The guest address of a place; 0 when it is not known. Per-CPU places: what to add to GS base. */
u64 kernel_build_address(const struct kernel_build *build, enum build_place_id id, u64 start);

/*
 * The table of absolute addresses for a kernel that is loaded at @start. Guests at one address,
 * which microVMs without KASLR all are, share it.
 */
int kernel_build_get_symtab(struct kernel_build *build, u64 start, const struct symtab **ret);
void kernel_build_put_symtab(struct kernel_build *build, const struct symtab *symtab);

#endif
