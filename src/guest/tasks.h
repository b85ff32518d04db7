/* SPDX-License-Identifier: GPL-2.0-only */
/* All processes of a guest, in the kernel's own list of them. */
#ifndef GUEST_TASKS_H
#define GUEST_TASKS_H

#include "guest/guest.h"

#define GUEST_MAX_PROCESSES 65536

/* A result that is not 0 ends the walk and is returned. */
typedef int guest_task_fn(void *ctx, const struct wire_task *task);

/*
 * Calls @fn for the main thread of each process, the oldest first, as a sample would have it; .mm
 * is 0 for kernel threads. -ENOENT: the guest is not identified; -EOPNOTSUPP: this kernel's types
 * or its list are not known; -EFAULT or -EBADMSG: the list could not be followed to its end, which
 * also happens when a process ends at this moment: what came before is good.
 */
int guest_for_each_process(const struct guest *guest, guest_task_fn *fn, void *ctx);

#endif
