/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where things are in struct task_struct of a kernel that carries no BTF (before 5.2, and many that
 * are built for microVMs): found in three tasks that every Linux has and of which enough is known.
 */
#ifndef GUEST_TASK_FIND_H
#define GUEST_TASK_FIND_H

#include "guest/kread.h"
#include "guest/layout.h"

/*
 * Fills in .task_pid, .task_tgid, .task_comm, .task_stack, .task_mm and .user.task_list from the
 * tasks in the guest's memory, the first of which is at @init_task. -ENOENT, and nothing is
 * changed, when they cannot be told for certain; the guest may not have made its first processes
 * yet.
 */
int task_find_layout(struct kernel_layout *layout, struct kread *k, u64 init_task);

#endif
