/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stopping a thread for a moment with ptrace. It is seized for each stop and let go after it: other
 * tracers have their turn, the VMM's signals pass us by, and when we die it runs on.
 */
#ifndef CAPTURE_TRACEE_H
#define CAPTURE_TRACEE_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/types.h"

enum tracee_state {
	TRACEE_IDLE,		/* not ours */
	TRACEE_STOPPING,	/* seized, the stop is on its way */
	TRACEE_STOPPED,
	TRACEE_GONE,		/* the thread ended */
};

struct tracee {
	pid_t tid;
	enum tracee_state state;
	int signal;	/* to hand on when it is let go; 0: none */
};

/* Asks the thread to stop. -ESRCH: it is gone; -EPERM: somebody else traces it. */
int tracee_stop(struct tracee *tracee);

/* Looks whether it has stopped by now; @wait: until it has. The new state. */
enum tracee_state tracee_check(struct tracee *tracee, bool wait);

/*
 * Whether the thread, stopped, is in or on its way out of ioctl(KVM_RUN). -EFAULT when its
 * registers cannot be had.
 */
int tracee_in_kvm_run(const struct tracee *tracee, bool *ret);

/* Lets the thread go on as if nothing had been. Waits for a stop under way: it must not stay. */
void tracee_release(struct tracee *tracee);

#endif
