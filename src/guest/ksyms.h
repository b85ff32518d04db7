/* SPDX-License-Identifier: GPL-2.0-only */
/* Code that a guest's kernel made itself: BPF programs, their trampolines and dispatchers. */
#ifndef GUEST_KSYMS_H
#define GUEST_KSYMS_H

#include "guest/guest.h"

#define GUEST_KSYM_NAME_LEN 256
#define GUEST_MAX_KSYMS 16384

struct guest_ksym {
	gva_t start, end;
	char name[GUEST_KSYM_NAME_LEN];	/* "bpf_prog_<tag>_<name>", as in kallsyms; guest's bytes */
};

/* A result that is not 0 ends the walk and is returned. */
typedef int guest_ksym_fn(void *ctx, const struct guest_ksym *ksym);

/*
 * Calls @fn for each, in no order; the kernel shows them in /proc/kallsyms as of module [bpf].
 * Entries that make no sense are left out. -ENOENT: the guest is not identified; -EOPNOTSUPP: this
 * kernel has no such list (before 5.7), or its types are not known; -EFAULT or -EBADMSG: the list
 * could not be followed to its end.
 */
int guest_for_each_bpf_symbol(const struct guest *guest, guest_ksym_fn *fn, void *ctx);

#endif
