/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that a guest's kernel made itself and that no file has: BPF programs, their trampolines and
 * dispatchers, ftrace's trampolines, and the instructions that kprobes displaced.
 */
#ifndef GUEST_KSYMS_H
#define GUEST_KSYMS_H

#include "guest/guest.h"

#define GUEST_KSYM_NAME_LEN 256
#define GUEST_MAX_KSYMS 16384	/* of one kind */

struct guest_ksym {
	gva_t start, end;
	bool bpf;	/* as /proc/kallsyms has it: of module [bpf]; else of [__builtin__…] */
	/* "bpf_prog_<tag>_<name>", guest's bytes; "ftrace_trampoline", "kprobe_insn_page", … */
	char name[GUEST_KSYM_NAME_LEN];
};

/* A result that is not 0 ends the walk and is returned. */
typedef int guest_ksym_fn(void *ctx, const struct guest_ksym *ksym);

/*
 * Calls @fn for each, in no order. Entries that make no sense are left out. -ENOENT: the guest is
 * not identified; -EOPNOTSUPP: this kernel has no such lists (BPF's: before 5.7, ftrace's: before
 * 5.9), or their types are not known; -EFAULT or -EBADMSG: a list could not be followed to its end,
 * the others were.
 */
int guest_for_each_ksym(const struct guest *guest, guest_ksym_fn *fn, void *ctx);

#endif
