/* SPDX-License-Identifier: GPL-2.0-only */
/* Which program a VMM is, what it calls its VM, and how its vCPU threads can be kicked. */
#ifndef VM_VMM_H
#define VM_VMM_H

#include "base/proc.h"
#include "vm/vm.h"

/*
 * Fills @vm's .vmm, .name and signals from the process @vm->pid and what the threads of its vCPUs
 * are called. -ESRCH when it is gone.
 */
int vmm_identify(const struct proc *proc, struct vm *vm);

/* Whether @pid has some vCPU's run page mapped, as every VMM has. */
bool vmm_has_run_page(const struct proc *proc, pid_t pid);

/* Fills the .run_hva of @vm's vCPUs from the process's mappings. */
int vmm_find_run_pages(const struct proc *proc, struct vm *vm);

/* The parts that parse, for tests. What they are given is text that the VMM wrote. */

/* The signals that a process catches, by the text of /proc/PID/status; 0 when it does not say. */
u64 vmm_parse_caught(const char *status);

/* Fills .run_hva by the text of /proc/PID/maps, which is changed. */
void vmm_parse_run_pages(char *maps, struct vm *vm);

#endif
