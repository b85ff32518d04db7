/* SPDX-License-Identifier: GPL-2.0-only */
/* Which program a VMM is, what it calls its VM, and how its vCPU threads can be kicked. */
#ifndef VM_VMM_H
#define VM_VMM_H

#include "base/proc.h"
#include "vm/vm.h"

/* Fills @vm's .vmm, .name and signals from the process @vm->pid. -ESRCH when it is gone. */
int vmm_identify(const struct proc *proc, struct vm *vm);

/* Whether @pid has some vCPU's run page mapped, as every VMM has. */
bool vmm_has_run_page(const struct proc *proc, pid_t pid);

/* Fills the .run_hva of @vm's vCPUs from the process's mappings. */
int vmm_find_run_pages(const struct proc *proc, struct vm *vm);

/* The parts that parse, for tests. What they are given is text that the VMM wrote. */

/* The name of VMM kind @vmm for the program called @program; NULL when it is not known. */
const char *vmm_kind_name(const char *program);

/*
 * The VM's name by the command line of a VMM of kind @vmm, @size bytes with a NUL after the last;
 * false when it gives none.
 */
bool vmm_parse_name(const char *vmm, const char *cmdline, size_t size, char *out, size_t out_size);

/* The signals that a process catches, by the text of /proc/PID/status; 0 when it does not say. */
u64 vmm_parse_caught(const char *status);

/* The signal that VMM kind @vmm kicks with when it catches @caught; 0: none. */
int vmm_find_kick(const char *vmm, u64 caught);

/* Fills .run_hva by the text of /proc/PID/maps, which is changed. */
void vmm_parse_run_pages(char *maps, struct vm *vm);

#endif
