/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recorder keeps of its capabilities, and that this is enough for perf. In a child each. */
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/types.h"
#include "engine/privileges.h"

/* Words of CAP_TO_INDEX(). */
struct words {
	u32 permitted[2], effective[2];
};

static bool get(struct words *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		ret->permitted[i] = data[i].permitted;
		ret->effective[i] = data[i].effective;
	}
	return true;
}

static bool has(const struct words *words, unsigned int capability)
{
	return words->permitted[CAP_TO_INDEX(capability)] & CAP_TO_MASK(capability);
}

/* The exit status of @fn in a child. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int drop_and_look(void)
{
	struct words before, after;

	if (!get(&before) || privileges_drop() || !get(&after))
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 2;
	for (unsigned int i = 0; i < 2; i++) {
		if (after.permitted[i] & ~before.permitted[i])
			return 3;
		if (after.effective[i] != after.permitted[i])
			return 4;
	}
	if (has(&after, CAP_SETUID) || has(&after, CAP_SYS_MODULE) || has(&after, CAP_NET_ADMIN))
		return 5;
	return has(&after, CAP_SYS_PTRACE) == has(&before, CAP_SYS_PTRACE) &&
	       has(&after, CAP_IPC_LOCK) == has(&before, CAP_IPC_LOCK) ? 0 : 6;
}

static void test_kept(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_and_look), 0);
}

static int open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* An event that includes the kernel takes CAP_PERFMON at paranoid levels from 2 on. */
static int drop_and_open(void)
{
	if (open_event() < 0)
		return 0;	/* nothing to lose */
	return privileges_drop() || open_event() < 0;
}

static void test_perf_works_after(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_and_open), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_perf_works_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
