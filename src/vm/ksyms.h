/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of a few host kernel symbols. */
#ifndef VM_KSYMS_H
#define VM_KSYMS_H

#include "base/proc.h"

struct ksym {
	const char *name;
	u64 addr;	/* 0: not found */
};

/*
 * Looks all @syms up in /proc/kallsyms; a name with a compiler's suffix (".llvm.…", ".isra.0")
 * counts. -EPERM when the kernel hides addresses from us.
 */
int ksyms_find(const struct proc *proc, struct ksym *syms, size_t nr);

#endif
