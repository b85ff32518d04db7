/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's operating system as seen from outside: its kernel, modules, tables and symbols, all
 * read out of guest memory, all of it untrusted.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include "base/types.h"
#include "guest/elf-kernel.h"
#include "mem/reader.h"
#include "mmu/translate.h"
#include "model/wire.h"
#include "symbols/symtab.h"
#include "unwind/cfi.h"

#define GUEST_BUILD_ID_MAX 20
#define GUEST_RELEASE_LEN 65
#define GUEST_BANNER_LEN 256
#define GUEST_MODULE_NAME_LEN 56

enum guest_os {
	GUEST_OS_UNKNOWN,	/* no kernel found there, or not one that we know */
	GUEST_OS_LINUX,
	GUEST_OS_GIVEN,		/* what its owner says: see guest_set_elf() */
};

struct guest_build_id {
	u8 size;	/* 0: none */
	u8 data[GUEST_BUILD_ID_MAX];
};

struct guest_kernel {
	enum guest_os os;
	char release[GUEST_RELEASE_LEN];	/* "6.1.0-18-amd64" */
	char banner[GUEST_BANNER_LEN];		/* "Linux version …" */
	struct guest_build_id build_id;
	gva_t start;		/* _text */
	gva_t text_end;		/* _etext */
	gva_t end;		/* _end */
	gva_t reference;	/* of a symbol that /proc/kallsyms has, */
	const char *reference_name;	/* which tells readers where it was; lives as the guest */
	u64 kaslr_offset;	/* start - the link address; 0 when unknown */
	bool is_32;		/* of i386: addresses here are sign-extended */
	bool has_btf;
	bool has_orc;
};

struct guest_module {
	char name[GUEST_MODULE_NAME_LEN];
	gva_t start;		/* of its text */
	u64 size;
	struct guest_build_id build_id;
	const struct symtab *symbols;	/* absolute guest addresses; owned by the guest */
};

/*
 * Kernels that were parsed before, by build id: in memory for the guests that are created with it,
 * and in the folder @dir for later (NULL: in memory only). What a guest says about its build id is
 * not believed: a kernel from the cache is used when the bytes that it was made of are the same in
 * this guest. Guests share it in one thread, and must be destroyed before it.
 */
struct guest_cache;

int guest_cache_create(const char *dir, struct guest_cache **ret);
void guest_cache_destroy(struct guest_cache *cache);
DEFINE_CLEANUP(struct guest_cache *, guest_cache_destroy)

struct guest;

/*
 * @mem must outlive the guest. @cache may be NULL: every kernel is parsed anew. A guest belongs to
 * one thread at a time, const or not: text and symbols are fetched when they are first asked for.
 */
int guest_create(const struct mem_reader *mem, struct guest_cache *cache, struct guest **ret);
void guest_destroy(struct guest *guest);
DEFINE_CLEANUP(struct guest *, guest_destroy)

/*
 * Finds the kernel through @regs of any vCPU (a kernel-mode pc, else LSTAR). 0 when identified
 * (also when it was already), -ENOENT when no kernel that we know is there, else the first error.
 * @ret_why (may be NULL) then points to a constant that says what was missing.
 */
int guest_identify(struct guest *guest, const struct vcpu_regs *regs, const char **ret_why);

/*
 * The guest runs @elf, which must outlive it, and no Linux is looked for: guest_identify() is 0
 * once that file's code is seen where it is said to be. Before the first guest_identify().
 */
void guest_set_elf(struct guest *guest, const struct elf_kernel *elf);

/* Never NULL; .os says whether anything was identified. */
const struct guest_kernel *guest_kernel(const struct guest *guest);

/*
 * Absolute guest addresses (KASLR applied); NULL before identification, or out of memory. Made on
 * first use, 12 MB for a Debian kernel: recording does not need it.
 */
const struct symtab *guest_kernel_symbols(const struct guest *guest);

/*
 * Reads the module list again; cheap when nothing changed. Modules that went away keep their old
 * entry until then, and pointers to a struct guest_module are good until then. -ESTALE when
 * another kernel runs there now (a reboot, kexec): destroy the guest and start anew.
 */
int guest_refresh_modules(struct guest *guest);

/*
 * Whether its memory is read by the kernel's own page tables. One that has just begun runs on
 * tables that it gives up later: until then it is to be refreshed now and then.
 */
bool guest_is_settled(const struct guest *guest);
size_t guest_nr_modules(const struct guest *guest);
const struct guest_module *guest_module(const struct guest *guest, size_t i);

/*
 * What capture needs; .valid is 0 when the layouts are not known. Without BTF they may be later:
 * guest_identify() looks again.
 */
void guest_capture_config(const struct guest *guest, struct wire_guest *ret);

/* Callbacks for struct unwind_ops; @ctx is the guest. */
int guest_find_row(void *ctx, gva_t pc, struct cfi_row *ret_row);
/* The rule of the file that was given; -ENOENT: none, or no file was. */
int guest_find_given_row(const struct guest *guest, gva_t pc, struct cfi_row *ret_row);
int guest_check_kernel_call(void *ctx, gva_t ret_addr);
bool guest_is_kernel_text(void *ctx, gva_t addr);

/* Whose text holds @addr: NULL symtab when nobody's. *@ret_module is NULL for the kernel itself. */
const struct symtab *guest_find_symbols(const struct guest *guest, gva_t addr,
					const struct guest_module **ret_module);

/* The kernel's and the modules' symbols in /proc/kallsyms' format, for ~/.debug. */
int guest_write_kallsyms(const struct guest *guest, char **ret_text, size_t *ret_size);

#endif
