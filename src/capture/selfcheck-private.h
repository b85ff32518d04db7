/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of selfcheck_host(). */
#ifndef CAPTURE_SELFCHECK_PRIVATE_H
#define CAPTURE_SELFCHECK_PRIVATE_H

#include "capture/selfcheck.h"

/*
 * KVM, and registers in kvm_run by a VM of our own that never runs. Why no guest can run here, a
 * constant; NULL when one can.
 */
const char *selfcheck_kvm(struct selfcheck *check, const struct vm_host *host);

/* Types, maps, iterators, and each capture program loaded. */
void selfcheck_bpf(struct selfcheck *check, const struct vm_host *host);

/* Each kind of event. */
void selfcheck_perf(struct selfcheck *check);

/* Reading and stopping another process; who we are. */
void selfcheck_process(struct selfcheck *check);

/*
 * By what the deferred mode makes the vCPUs of a VM exit whose VMM has the signal @kick_signal for
 * it, 0: none that is known, if nothing else is asked for; @task_work: capture_has_task_work().
 */
void selfcheck_kick(int kick_signal, bool task_work, char *out, size_t size);

/* The first line of file @path without its end, or "" with an errno. */
int selfcheck_read_line(const char *path, char *out, size_t size);

#endif
