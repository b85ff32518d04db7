/* SPDX-License-Identifier: GPL-2.0-only */
/* The VMMs that are known: by what they are recognised, where their name is, what kicks them. */
#ifndef VM_VMM_KINDS_H
#define VM_VMM_KINDS_H

#include "base/types.h"

#define VMM_NAME_OPTIONS 3

/* How an option's value holds the VM's name. */
enum vmm_naming {
	VMM_NAMING_PLAIN,	/* it is the name */
	VMM_NAMING_QEMU,	/* "X,…" or "…,guest=X,…", a comma in X doubled */
	VMM_NAMING_SOCKET,	/* a socket's path, or "path=PATH,…"; see vmm_name_from_socket() */
};

struct vmm_name_option {
	const char *option;	/* NULL behind the last */
	enum vmm_naming naming;
};

struct vmm_kind {
	const char *name;
	const char *programs[4];	/* the program's name begins with one of these */
	const char *thread;		/* its vCPUs' threads are named so, and a number; or NULL */
	struct vmm_name_option options[VMM_NAME_OPTIONS + 1];
	int kick;			/* signal below the real-time ones; 0: see next */
	int kick_rt;			/* SIGRTMIN + kick_rt - 1; 0: none */
};

/*
 * The kind of VMM that @program, the file's name, is, or the one whose vCPU thread is called
 * @thread (may be NULL). NULL when it is not known.
 */
const struct vmm_kind *vmm_kind_find(const char *program, const char *thread);

/*
 * The signal that @kind (may be NULL) kicks its vCPUs with, when it is among those that it catches
 * now, bit NUMBER - 1 of @caught; else 0: it must not be kicked.
 */
int vmm_kind_kick(const struct vmm_kind *kind, u64 caught);

#endif
