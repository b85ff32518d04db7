/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hardware backend against a kernel that is not there: system calls of this program's own in
 * libc's place. What the kernel is asked for is looked at, and what it may answer is answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "vpmu-access.h"

#define SELECT 0xc0010000	/* of VPMU_AMD_K7 */
#define COUNTER 0xc0010004
#define USER (1U << 16)
#define KERNEL (1U << 17)
#define ENABLE (1U << 22)
#define CYCLES (ENABLE | USER | KERNEL | 0x76)

static struct {
	int error;				/* of perf_event_open(), positive; 0: it works */
	struct perf_event_attr attr;		/* the last one that was asked for */
	unsigned int nr_opened;
	int last_fd;
	unsigned int nr_enable, nr_disable, nr_period;
	uint64_t period;
	bool told;				/* pages say whether the event is on a counter */
	bool full;				/* pinned events are in error at once */
	uint64_t counted;			/* by an event that has just been opened */
} kernel;

long syscall(long number, ...);
int ioctl(int fd, unsigned long request, ...);
ssize_t read(int fd, void *buffer, size_t size);

/* What read() gives. */
struct answer {
	uint64_t value, enabled, running;
};

/* Of the last event from now on; in error it gives 0 bytes. */
static void answer_all(struct answer values, bool error)
{
	if (ftruncate(kernel.last_fd, 4096) ||
	    (!error && pwrite(kernel.last_fd, &values, sizeof(values), 4096) != sizeof(values)))
		abort();
}

static void answer(uint64_t value, bool error)
{
	answer_all((struct answer){ value, 200, 100 }, error);	/* a pinned event is not scaled */
}

/* An event is a file: its first page is what is mapped, and what read() gives. */
static int open_file(void)
{
	int fd = memfd_create("perf_event", MFD_CLOEXEC);
	struct perf_event_mmap_page page = { .cap_user_rdpmc = kernel.told, .index = kernel.told
		? 3 : 0 };

	if (fd < 0 || ftruncate(fd, 8192) || pwrite(fd, &page, sizeof(page), 0) != sizeof(page))
		abort();
	kernel.nr_opened++;
	kernel.last_fd = fd;
	answer_all((struct answer){ kernel.counted }, kernel.full && kernel.attr.pinned);
	return fd;
}

long syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	va_list args;

	if (number != SYS_perf_event_open)
		return number == SYS_gettid ? gettid() : -1;
	va_start(args, number);
	attr = va_arg(args, const struct perf_event_attr *);
	va_end(args);
	kernel.attr = *attr;
	if (kernel.error) {
		errno = kernel.error;
		return -1;
	}
	return open_file();
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	(void)fd;
	va_start(args, request);
	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
		kernel.nr_enable++;
		break;
	case PERF_EVENT_IOC_DISABLE:
		kernel.nr_disable++;
		break;
	case PERF_EVENT_IOC_PERIOD:
		kernel.nr_period++;
		kernel.period = *va_arg(args, uint64_t *);
		break;
	}
	va_end(args);
	return 0;
}

/* An event can be read any number of times. */
ssize_t read(int fd, void *buffer, size_t size)
{
	struct iovec where = { buffer, size };

	return fd == kernel.last_fd ? pread(fd, buffer, size, 4096) : readv(fd, &where, 1);
}

static int start_perf(struct build_vpmu *b, const struct vpmu_perf_options *perf,
		      enum vpmu_policy policy)
{
	struct vpmu_vm_options options;
	int err;

	build_vpmu_options(b, VPMU_AMD_K7, 1, &options);
	options.backend.ops->destroy(options.backend.self);
	options.policy = policy;
	err = vpmu_backend_perf(perf, &options.backend);
	if (!err)
		build_vpmu_start(b, &options);
	return err;
}

static int start(struct build_vpmu *b, bool raw, enum vpmu_policy policy)
{
	struct vpmu_perf_options perf = { .size = sizeof(perf), .signal = SIGUSR1, .raw = raw };

	return start_perf(b, &perf, policy);
}

static int start_host_mode(struct build_vpmu *b, enum vpmu_policy policy)
{
	struct vpmu_perf_options perf = {
		.size = sizeof(perf), .signal = SIGUSR1, .host_mode = true };

	return start_perf(b, &perf, policy);
}

static int reset(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	signal(SIGUSR1, SIG_IGN);
	return 0;
}

static void test_probe(void **state)
{
	static const struct { int kernel, err; } errors[] = {
		{ ENOENT, -EOPNOTSUPP }, { EOPNOTSUPP, -EOPNOTSUPP }, { EINVAL, -EOPNOTSUPP },
		{ EACCES, -EACCES }, { EPERM, -EACCES }, { EBUSY, -EBUSY }, { EMFILE, -EMFILE },
	};
	struct build_vpmu b;
	int err;

	(void)state;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	assert_int_equal(kernel.nr_opened, 1);
	assert_true(kernel.attr.exclude_host);
	build_vpmu_deinit(&b);
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		kernel.error = errors[i].kernel;
		assert_int_equal(start(&b, false, VPMU_POLICY_FAIL), errors[i].err);
	}
}

static void test_attributes(void **state)
{
	struct build_vpmu b;
	struct f_owner_ex owner;
	int err;

	(void)state;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	wr(&b, COUNTER + 1, BIT(48) - 5000);
	wr(&b, SELECT + 1, ENABLE | KERNEL | 0xc0);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	/* By number where the processor is of a vendor that has guests' models, else by name. */
	if (kernel.attr.type == PERF_TYPE_RAW)
		assert_int_equal(kernel.attr.config, 0xc0);
	else
		assert_int_equal(kernel.attr.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(kernel.attr.sample_period, 5000);
	assert_true(kernel.attr.exclude_host && kernel.attr.pinned && kernel.attr.exclude_user);
	assert_false(kernel.attr.exclude_kernel || kernel.attr.exclude_guest || kernel.attr.freq ||
		     kernel.attr.disabled || kernel.attr.inherit);
	/* Of a thread it means nothing, and arm64 refuses it. */
	assert_false(kernel.attr.exclude_idle);
	assert_int_equal(fcntl(kernel.last_fd, F_GETSIG), SIGUSR1);
	assert_int_equal(fcntl(kernel.last_fd, F_GETOWN_EX, &owner), 0);
	assert_int_equal(owner.type, F_OWNER_TID);
	assert_int_equal(owner.pid, gettid());
	build_vpmu_deinit(&b);
}

static void test_counts(void **state)
{
	struct vpmu_exit left;
	struct build_vpmu b;
	uint64_t value;
	int err;

	(void)state;
	kernel.told = true;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	wr(&b, COUNTER, BIT(48) - 5000);
	wr(&b, SELECT, CYCLES | 1U << 20);
	kernel.nr_opened = 0;
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.nr_opened, 1);
	answer(4000, false);
	vpmu_exit(b.vpmu, &left);
	assert_false(left.pmi);
	assert_int_equal(vpmu_rdmsr(b.vpmu, COUNTER, &value), VPMU_OK);
	assert_int_equal(value, BIT(48) - 1000);
	/* Nothing to arm: the event goes on. */
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.nr_period, 0);
	answer(5007, false);
	vpmu_exit(b.vpmu, &left);
	assert_true(left.pmi);
	assert_int_equal(vpmu_rdmsr(b.vpmu, COUNTER, &value), VPMU_OK);
	assert_int_equal(value, 7);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.nr_period, 1);
	assert_int_equal(kernel.period, BIT(48) - 7);
	answer(5007, false);
	vpmu_exit(b.vpmu, &left);
	assert_false(left.overflowed);
	/* Off and on. */
	wr(&b, SELECT, 0x76 | USER | KERNEL);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(kernel.nr_disable, 1);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.nr_enable, 1);
	answer(5008, false);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(vpmu_rdmsr(b.vpmu, COUNTER, &value), VPMU_OK);
	assert_int_equal(value, 8);
	build_vpmu_deinit(&b);
}

/* read() gives nothing for a pinned event that is in error. */
static void test_lost(void **state)
{
	struct vpmu_exit left;
	struct build_vpmu b;
	int err;

	(void)state;
	kernel.told = true;
	err = start(&b, false, VPMU_POLICY_EVICT);
	assert_int_equal(err, 0);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(0, true);
	vpmu_exit(b.vpmu, &left);
	assert_int_equal(left.lost, 1);
	build_vpmu_deinit(&b);
}

/* Where pages tell nothing, read() has to. */
static void test_untold(void **state)
{
	struct build_vpmu b;
	int err;

	(void)state;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(9, false);
	vpmu_exit(b.vpmu, NULL);
	answer(0, true);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), -EBUSY);
	/* Tried anew. */
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

/* The page says which counter it is: 3 means number 2. */
static void test_place(void **state)
{
	struct vpmu_stats stats;
	struct build_vpmu b;
	int err;

	(void)state;
	kernel.told = true;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	wr(&b, SELECT + 2, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(0, false);
	vpmu_exit(b.vpmu, NULL);
	vpmu_get_stats(b.vpmu, &stats, sizeof(stats));
	assert_int_equal(stats.elsewhere, 0);
	wr(&b, SELECT + 2, 0);
	wr(&b, SELECT + 1, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(0, false);
	vpmu_exit(b.vpmu, NULL);
	vpmu_get_stats(b.vpmu, &stats, sizeof(stats));
	assert_int_equal(stats.elsewhere, 1);
	build_vpmu_deinit(&b);
}

/* Before entry the page says that the counter is gone. */
static void test_gone(void **state)
{
	struct perf_event_mmap_page page = { .cap_user_rdpmc = 1, .index = 0 };
	struct vpmu_entry entry;
	struct build_vpmu b;
	int err;

	(void)state;
	kernel.told = true;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(7, false);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(pwrite(kernel.last_fd, &page, sizeof(page), 0), sizeof(page));
	answer(7, true);
	assert_int_equal(vpmu_enter(b.vpmu, &entry), -EBUSY);
	assert_int_equal(entry.missing, 1);
	build_vpmu_deinit(&b);
}

/* What was counted outside is left out, and does not bring the overflow nearer. */
static void test_host_mode(void **state)
{
	struct vpmu_exit left;
	struct build_vpmu b;
	uint64_t value;

	(void)state;
	assert_int_equal(start_host_mode(&b, VPMU_POLICY_FAIL), 0);
	assert_true(kernel.attr.exclude_guest);
	assert_false(kernel.attr.exclude_host);
	wr(&b, COUNTER, BIT(48) - 5000);
	wr(&b, SELECT, CYCLES | 1U << 20);
	kernel.counted = 300;
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.attr.sample_period, 5000);
	assert_int_equal(kernel.period, 5000);
	answer(4300, false);
	vpmu_exit(b.vpmu, &left);
	assert_false(left.pmi);
	assert_true(kernel.period >= BIT(47));
	assert_int_equal(rd(&b, COUNTER), BIT(48) - 1000);
	answer(9000, false);
	assert_int_equal(vpmu_rdpmc(b.vpmu, 0, true, &value), VPMU_OK);
	assert_int_equal(value, BIT(48) - 1000);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.period, 1000);
	answer(10007, false);
	vpmu_exit(b.vpmu, &left);
	assert_true(left.pmi);
	assert_int_equal(rd(&b, COUNTER), 7);
	/* Where the guest has stopped it nothing is read. */
	wr(&b, SELECT, 0);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(11000, false);
	vpmu_exit(b.vpmu, &left);
	assert_int_equal(rd(&b, COUNTER), 7);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_int_equal(kernel.period, BIT(48) - 7);
	answer(11001, false);
	vpmu_exit(b.vpmu, &left);
	assert_int_equal(rd(&b, COUNTER), 8);
	/* Lost within. */
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	answer(0, true);
	vpmu_exit(b.vpmu, &left);
	assert_int_equal(left.lost, 1);
	assert_int_equal(rd(&b, COUNTER), 8);
	build_vpmu_deinit(&b);
}

/* Of one that takes turns the times are those inside, too. */
static void test_host_mode_turns(void **state)
{
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start_host_mode(&b, VPMU_POLICY_MULTIPLEX), 0);
	wr(&b, SELECT, CYCLES);
	kernel.full = true;
	kernel.counted = 500;
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	assert_false(kernel.attr.pinned);
	answer_all((struct answer){ 900, 1000, 200 }, false);
	vpmu_exit(b.vpmu, NULL);
	/* 400 in 200 of 1000. */
	assert_int_equal(rd(&b, COUNTER), 2000);
	build_vpmu_deinit(&b);
}

static void test_refused(void **state)
{
	struct vpmu_entry entry;
	struct build_vpmu b;
	int err;

	(void)state;
	kernel.told = true;
	err = start(&b, false, VPMU_POLICY_FAIL);
	assert_int_equal(err, 0);
	/*
	 * Without a meaning of its own, and raw ones are not wished for: the kernel is not asked.
	 */
	wr(&b, SELECT, ENABLE | KERNEL | 0x12d0);
	kernel.nr_opened = 0;
	assert_int_equal(vpmu_enter(b.vpmu, &entry), 0);
	assert_int_equal(entry.refused, 1);
	assert_int_equal(kernel.nr_opened, 0);
	vpmu_exit(b.vpmu, NULL);
	/* The kernel does not know it. */
	kernel.error = ENOENT;
	wr(&b, SELECT + 1, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, &entry), 0);
	assert_int_equal(entry.refused, 3);
	vpmu_exit(b.vpmu, NULL);
	/* The kernel could, but not now. */
	kernel.error = EBUSY;
	wr(&b, SELECT + 2, CYCLES);
	assert_int_equal(vpmu_enter(b.vpmu, &entry), -EBUSY);
	assert_int_equal(entry.missing, 4);
	build_vpmu_deinit(&b);
}

static void test_options(void **state)
{
	struct vpmu_perf_options perf = { .size = sizeof(perf) };
	struct vpmu_backend backend;

	(void)state;
	assert_int_equal(vpmu_backend_perf(&perf, &backend), -EINVAL);
	perf.signal = SIGUSR1;
	perf.size = 1;
	assert_int_equal(vpmu_backend_perf(&perf, &backend), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_probe, reset),
		cmocka_unit_test_setup(test_attributes, reset),
		cmocka_unit_test_setup(test_counts, reset),
		cmocka_unit_test_setup(test_lost, reset),
		cmocka_unit_test_setup(test_untold, reset),
		cmocka_unit_test_setup(test_place, reset),
		cmocka_unit_test_setup(test_gone, reset),
		cmocka_unit_test_setup(test_host_mode, reset),
		cmocka_unit_test_setup(test_host_mode_turns, reset),
		cmocka_unit_test_setup(test_refused, reset),
		cmocka_unit_test_setup(test_options, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
