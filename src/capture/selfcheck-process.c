/* SPDX-License-Identifier: GPL-2.0-only */
/* What we may do to other processes, tried on one of our own. */
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.h"
#include "base/strbuf.h"
#include "capture/selfcheck-private.h"

/* Linux 5.8; the headers may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

static const struct {
	unsigned int number;
	const char *name;
} wanted_capabilities[] = {
	{ CAP_SYS_ADMIN, "SYS_ADMIN" }, { CAP_SYS_PTRACE, "SYS_PTRACE" },
	{ CAP_PERFMON, "PERFMON" },	{ CAP_BPF, "BPF" },
};

static int read_capabilities(u64 *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*ret = data[0].effective | (u64)data[1].effective << 32;
	return 0;
}

static void check_capabilities(struct selfcheck *check)
{
	_cleanup_strbuf_ struct strbuf missing = STRBUF_INIT;
	u64 has = 0;
	int err = read_capabilities(&has);

	for (size_t i = 0; i < ARRAY_SIZE(wanted_capabilities) && !err; i++) {
		if (!(has >> wanted_capabilities[i].number & 1))
			strbuf_addf(&missing, " CAP_%s", wanted_capabilities[i].name);
	}
	if (err)
		selfcheck_add(check, "privileges", SELFCHECK_NO, NULL, "capget(): %s",
			      error_text(err));
	else if (missing.len)
		selfcheck_add(check, "privileges", SELFCHECK_NO, "be root", "missing:%s",
			      strbuf_cstr(&missing));
	else
		selfcheck_add(check, "privileges", SELFCHECK_YES, NULL,
			      "all capabilities that recording takes");
}

static void check_lockdown(struct selfcheck *check)
{
	char text[64];

	if (selfcheck_read_line("/sys/kernel/security/lockdown", text, sizeof(text)))
		selfcheck_add(check, "lockdown", SELFCHECK_NONE, NULL, "the kernel has none");
	else if (strstr(text, "[confidentiality]"))
		selfcheck_add(check, "lockdown", SELFCHECK_NO,
			      "boot with lockdown=integrity or none",
			      "is \"confidentiality\", which keeps kernel memory from us");
	else
		selfcheck_add(check, "lockdown", SELFCHECK_YES, NULL, "%s", text);
}

static const char marker[] = "kvmprof";

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static int read_child(pid_t pid)
{
	char text[sizeof(marker)] = "";
	struct iovec local = { text, sizeof(text) };
	struct iovec remote = { (void *)(uintptr_t)marker, sizeof(marker) };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return n == sizeof(marker) && !strcmp(text, marker) ? 0 : -EIO;
}

/* As mode ptrace does it with a vCPU's thread. */
static int stop_child(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, &status, __WALL) != pid)
		return -errno;
	if (!WIFSTOPPED(status))
		return -ECHILD;
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) ? -errno : 0;
}

static const char *ptrace_remedy(void)
{
	char scope[16];

	if (selfcheck_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		return "be root";
	return *scope == '3' ? "kernel.yama.ptrace_scope is 3: boot with another" :
			       "be root (see kernel.yama.ptrace_scope)";
}

static void add_result(struct selfcheck *check, const char *name, int err, const char *what)
{
	if (err)
		selfcheck_add(check, name, SELFCHECK_NO, ptrace_remedy(), "%s", error_text(err));
	else
		selfcheck_add(check, name, SELFCHECK_YES, NULL, "%s", what);
}

void selfcheck_process(struct selfcheck *check)
{
	pid_t pid = start_child();
	int err = pid < 0 ? -errno : 0;

	check_capabilities(check);
	check_lockdown(check);
	add_result(check, "process.memory", err ?: read_child(pid),
		   "another process's memory can be read");
	add_result(check, "process.ptrace", err ?: stop_child(pid),
		   "another process can be stopped");
	if (err)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
