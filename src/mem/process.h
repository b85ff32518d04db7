/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest memory of a live VM: the memory slots say where the VMM has it, process_vm_readv() fetches
 * it. Nothing is stopped, so what is read may be changing.
 *
 * Threads: any number may read, also while one sets the slots.
 */
#ifndef MEM_PROCESS_H
#define MEM_PROCESS_H

#include <sys/types.h>

#include "mem/reader.h"
#include "mem/slots.h"

struct mem_process;

/*
 * @start_time is proc_start_time() of @pid from when it was known to be the VMM, or 0: then @pid
 * must be held otherwise. -ESRCH when the process is gone or is another one by now, -EPERM when
 * we may not. Copies @slots.
 */
int mem_process_open(pid_t pid, u64 start_time, const struct mem_slots *slots,
		     struct mem_process **ret);
void mem_process_close(struct mem_process *process);
DEFINE_CLEANUP(struct mem_process *, mem_process_close)

/* The VM's slots have changed. */
void mem_process_set_slots(struct mem_process *process, const struct mem_slots *slots);

/*
 * Beside mem_read()'s errors: -ESRCH when the VMM has ended (the pid is never read once another
 * process has it), -EPERM, -EOPNOTSUPP for memory that the host may not read (guest_memfd).
 */
const struct mem_reader *mem_process_reader(const struct mem_process *process);

/* The slot that holds @gpa, or NULL. */
const struct mem_slot *mem_slots_find(const struct mem_slots *slots, gpa_t gpa);

#endif
