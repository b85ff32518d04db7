/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can come out of wait() for a seized and interrupted thread (ptrace(2), "Stopped states"):
 * the stop that was asked for; a signal about to be delivered first, which is handed on; a group
 * stop (SIGSTOP), in which detaching leaves the thread; its end.
 */
#include "capture/tracee.h"

#include <elf.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/errors.h"

int tracee_stop(struct tracee *tracee)
{
	if (ptrace(PTRACE_SEIZE, tracee->tid, NULL, NULL)) {
		if (errno == ESRCH)
			tracee->state = TRACEE_GONE;
		return -errno;
	}
	tracee->signal = 0;
	tracee->state = TRACEE_STOPPING;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL)) {
		tracee->state = TRACEE_GONE;	/* nothing else makes it fail */
		return -ESRCH;
	}
	return 0;
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

enum tracee_state tracee_check(struct tracee *tracee, bool wait)
{
	int status;
	pid_t pid;

	if (tracee->state != TRACEE_STOPPING)
		return tracee->state;
	do {
		pid = waitpid(tracee->tid, &status, __WALL | (wait ? 0 : WNOHANG));
	} while (pid < 0 && errno == EINTR && wait);
	if (pid == 0 || (pid < 0 && errno == EINTR))
		return tracee->state;
	if (pid < 0 || !WIFSTOPPED(status)) {
		tracee->state = TRACEE_GONE;
		return tracee->state;
	}
	tracee->signal = is_event_stop(status) ? 0 : WSTOPSIG(status);
	tracee->state = TRACEE_STOPPED;
	return tracee->state;
}

int tracee_in_kvm_run(const struct tracee *tracee, bool *ret)
{
	struct user_regs_struct regs;
	struct iovec room = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, tracee->tid, (void *)NT_PRSTATUS, &room))
		return -EFAULT;
#ifdef __aarch64__
	*ret = regs.regs[8] == SYS_ioctl && (u32)regs.regs[1] == KVM_RUN;
#else
	*ret = regs.orig_rax == SYS_ioctl && (u32)regs.rsi == KVM_RUN;
#endif
	return 0;
}

void tracee_release(struct tracee *tracee)
{
	tracee_check(tracee, true);
	if (tracee->state == TRACEE_STOPPED) {
		ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(long)tracee->signal);
		tracee->state = TRACEE_IDLE;
	}
	tracee->signal = 0;
}
