/* SPDX-License-Identifier: GPL-2.0-only */
/* Giving up what a recorder does not need. */
#include "engine/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/types.h"

/* Added in Linux 5.8; before it CAP_SYS_ADMIN was needed for the same. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

/*
 * process_vm_readv and PTRACE_SEIZE; perf_event_open on other users' threads; BPF maps and
 * iterators; /proc/PID of other users; ~/.debug and the output file; RLIMIT_MEMLOCK before 5.11.
 */
static const unsigned int kept[] = {
	CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
	CAP_SYS_RESOURCE,
};

static void set_capability(struct __user_cap_data_struct *data, unsigned int capability)
{
	struct __user_cap_data_struct *word = &data[CAP_TO_INDEX(capability)];

	word->permitted |= CAP_TO_MASK(capability);
	word->effective |= CAP_TO_MASK(capability);
}

int privileges_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct __user_cap_data_struct next[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (syscall(SYS_capget, &header, now))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		set_capability(next, kept[i]);
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		next[i].permitted &= now[i].permitted;
		next[i].effective &= next[i].permitted;
	}
	if (syscall(SYS_capset, &header, next))
		return -errno;
	return 0;
}
