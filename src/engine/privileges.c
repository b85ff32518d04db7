/* SPDX-License-Identifier: GPL-2.0-only */
/* Giving up what a recorder does not need. */
#include "engine/privileges.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
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
 * iterators; /proc/PID of other users; ~/.debug and the output file; RLIMIT_MEMLOCK before 5.11;
 * perf's buffers beyond kernel.perf_event_mlock_kb, which the vCPUs of a large host need.
 */
static const unsigned int kept[] = {
	CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
	CAP_SYS_RESOURCE, CAP_IPC_LOCK,
};

struct capabilities {
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int set_capabilities(const struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, capabilities->words) ? -errno : 0;
}

/* Into @to, if @from has it. */
static void keep(const struct capabilities *from, unsigned int capability, struct capabilities *to)
{
	unsigned int word = CAP_TO_INDEX(capability);
	u32 mask = CAP_TO_MASK(capability) & from->words[word].permitted;

	to->words[word].permitted |= mask;
	to->words[word].effective |= mask;
}

/*
 * Vendors' kernels have a kernel.perf_event_paranoid above 2 that mainline has not: all of perf is
 * shut off, and in Ubuntu's kernels CAP_PERFMON does not open it, only CAP_SYS_ADMIN does.
 */
static bool perf_works(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	_cleanup_close_ int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
					 PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

int privileges_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct capabilities now = { 0 }, next = { 0 }, trial;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (syscall(SYS_capget, &header, now.words))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		keep(&now, kept[i], &next);
	/* What is no more in effect can come back, what is no more permitted cannot. */
	trial = next;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		trial.words[i].permitted = now.words[i].permitted;
	err = set_capabilities(&trial);
	if (err)
		return err;
	if (!perf_works())
		keep(&now, CAP_SYS_ADMIN, &next);
	return set_capabilities(&next);
}
