/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf's cache of symbols by build id, in perf's own layout, so that stock perf finds there what
 * was read out of a guest:
 *
 *	[kernel.kallsyms]/<build id>/kallsyms	a kernel's symbols
 *	<path>/<build id>/elf			an object, a module too; also debug, vdso
 *	.build-id/xx/yyyy… -> ../../<that folder>
 *
 * Any number of programs may add to it at once: files appear whole, and what is there already
 * under a build id stays (but what was made of a part of a file yields to more of it). Adding holds
 * a shared lock, removing (symbols/cache-admin.h) an exclusive one; readers need none, what they
 * have open stays theirs. Stock perf knows nothing of the lock.
 *
 * A folder that was made here has an empty file "kvmprof" in it: limits that nobody asked for
 * by hand apply to these only. Any number of threads may find and add in one struct symcache.
 */
#ifndef SYMBOLS_CACHE_H
#define SYMBOLS_CACHE_H

#include "base/types.h"
#include "objfile/build-id.h"
#include "objfile/file-image.h"
#include "symbols/elf-synth.h"

enum symcache_kind {
	SYMCACHE_ELF,
	SYMCACHE_DEBUG,
	SYMCACHE_VDSO,
	SYMCACHE_KALLSYMS,
	SYMCACHE_NR_KINDS,
};

struct symcache;

/* @dir NULL: perf's own, symcache_default_dir(). Nothing is made before it is needed. */
int symcache_create(const char *dir, struct symcache **ret);
void symcache_destroy(struct symcache *cache);
DEFINE_CLEANUP(struct symcache *, symcache_destroy)

const char *symcache_dir(const struct symcache *cache);

/*
 * Whether files can be put into it, as far as that can be told without making any: 0, or why not.
 * What is not there yet can be made where the first folder that is may be written to.
 */
int symcache_check(const struct symcache *cache);

/*
 * From here on no more than @max bytes of files of programs are added, 0: no limit. What a guest
 * has mapped is its own choice: one page at many places makes files of any size. What kernels have
 * is bounded where it is read, and comes last.
 */
void symcache_limit_added(struct symcache *cache, u64 max);

/* buildid.dir of $PERF_CONFIG, else of ~/.perfconfig or /etc/perfconfig, else ~/.debug. */
int symcache_default_dir(char *ret, size_t size);

/* The file's name in its folder: "elf" and so on. */
const char *symcache_kind_name(enum symcache_kind kind);

/* The file of that kind; -ENOENT when there is none. */
int symcache_find(const struct symcache *cache, const struct build_id *id,
		  enum symcache_kind kind, char *ret_path, size_t size);

/* Says that the file @path, which symcache_find() gave, is being used: its turn to go is last. */
void symcache_touch(const char *path);

/*
 * These return 0 also when the build id has that file already. -EINVAL: no build id; -E2BIG: a
 * file of programs beyond symcache_limit_added().
 *
 * A kernel's symbols, as /proc/kallsyms text. Only the lines of the kernel itself are kept:
 * modules lie elsewhere after the next boot, and perf would believe the text.
 */
int symcache_add_kallsyms(struct symcache *cache, const struct build_id *id, const char *text,
			  size_t size);

/* Module @name of kernel @release (NULL: not known), made of @from. */
int symcache_add_module(struct symcache *cache, const char *release, const char *name,
			const struct elf_synth *from);

/*
 * The bytes of a file that the guest has under @path, ELF with build id @id. -EBADMSG when it is
 * not, has another build id, or ends before its sections and segments do: half a file under its
 * build id would mislead perf.
 */
int symcache_add_file(struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
		      const char *path, const void *data, size_t size);

/*
 * A file that the guest has under @path, as far as it is known, under the build id that is in it;
 * @id, unless it is NULL or none, must be that. When all is known the file is stored as by
 * symcache_add_file(); else a small file of the known symbols (elf_synth_program()), which a later
 * call with more of it replaces, and *@ret_partial (may be NULL) is true. -EBADMSG: another build
 * id, or not an ELF file; -ENODATA: what is known is not worth storing: no build id, no symbol.
 */
int symcache_add_image(struct symcache *cache, const struct build_id *id, const char *path,
		       const struct file_image *image, bool *ret_partial);

#endif
