/* SPDX-License-Identifier: GPL-2.0-only */
/* Which program a VMM is, what it calls its VM, and how its vCPU threads can be kicked. */
#ifndef VM_VMM_H
#define VM_VMM_H

#include "base/proc.h"
#include "vm/vm.h"

/* Fills @vm's .vmm, .name and .kick_signal from the process @vm->pid. -ESRCH when it is gone. */
int vmm_identify(const struct proc *proc, struct vm *vm);

/* Fills the .run_hva of @vm's vCPUs from the process's mappings. */
int vmm_find_run_pages(const struct proc *proc, struct vm *vm);

#endif
