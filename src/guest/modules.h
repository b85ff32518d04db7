/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel modules of a running guest: its list of struct module, and all that they lead to. */
#ifndef GUEST_MODULES_H
#define GUEST_MODULES_H

#include "base/vec.h"
#include "guest/guest.h"
#include "guest/layout.h"
#include "mem/reader.h"
#include "mmu/translate.h"
#include "unwind/orc.h"

#define MODULES_MAX 4096

struct module {
	struct guest_module public;
	u64 init_start;		/* text that is thrown away after loading; 0: none */
	u64 init_size;
	struct orc_table *orc;	/* guest addresses; NULL: none */
	struct symtab *symtab;

	/* To see whether it is still the same. */
	u64 address;		/* of its struct module */
	u64 identity;
	bool kept;		/* in a refresh: taken over from the list before */
};

struct modules {
	VEC(struct module *) list;	/* ascending by start */
};

/* How to read them. */
struct modules_source {
	const struct mem_reader *mem;
	struct mmu_space space;
	const struct kernel_layout *layout;
	u64 list_head;		/* guest address of the kernel's "modules" */
};

/*
 * Brings @modules up to date; those that are unchanged are kept as they are. On an error @modules
 * is as before: -EFAULT or -EBADMSG when the list could not be followed to its end, which also
 * happens when the guest changes it at this moment.
 */
int modules_refresh(struct modules *modules, const struct modules_source *source);

/*
 * Finds the list's head, of which the kernel has no symbol, in [@start, @end), where the kernel is:
 * a list whose first entry, not in the kernel itself, is a struct module by its name and state.
 * .list_head is not looked at. -ENOENT: none is found, or the kernel has no modules.
 */
int modules_search(const struct modules_source *source, u64 start, u64 end, u64 *ret_head);
void modules_deinit(struct modules *modules);

/* The module whose text holds @address, or NULL. */
const struct module *modules_find(const struct modules *modules, u64 address);

#endif
