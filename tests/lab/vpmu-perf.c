/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vpmu-perf: libvpmu's hardware backend on a real PMU, without a guest. What stands for the guest
 * is this thread between vpmu_enter() and vpmu_exit(): a loop of a known number of instructions.
 * For a machine on which `instructions` of user mode are exact and cycles are a fixed multiple of
 * them, as the arm64 lab host's are with --icount. Speaks TAP.
 *
 * The library's own instructions of the two calls count, too: a fixed number, which is told. It is
 * known from a run with an empty loop.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/types.h"
#include "vpmu/vpmu.h"

#define BIT(n) (1ULL << (n))
#define FULL BIT(48)		/* where a counter overflows */
#define MAX_REPORTS 64
#define MAX_HELD 16
#define HOLDER "holds-counters"	/* a process' name has 15 characters */

/* Intel's registers and AMD's: SDM vol. 4, "Architectural MSRs"; APM vol. 2, "Core Performance". */
#define INTEL_PMC 0xc1
#define INTEL_SELECT 0x186
#define INTEL_FIXED 0x309
#define INTEL_FIXED_CONTROL 0x38d
#define INTEL_STATUS 0x38e
#define INTEL_CONTROL 0x38f
#define INTEL_RESET 0x390
#define INTEL_A_PMC 0x4c1
#define AMD_SELECT 0xc0010200
#define AMD_COUNTER 0xc0010201
#define USER (1U << 16)
#define KERNEL (1U << 17)
#define INTERRUPT (1U << 20)
#define ENABLE (1U << 22)
#define INTEL_CYCLES (ENABLE | USER | 0x3c)
#define INSTRUCTIONS (ENABLE | USER | 0xc0)
#define AMD_CYCLES (ENABLE | USER | 0x76)
#define CHANGED BIT(63)

struct test {
	struct vpmu_vm *vm;
	struct vpmu *vpmu;
	struct vpmu_report reports[MAX_REPORTS];
	unsigned int nr_reports;
	unsigned int nr_asked;		/* calls of the evict callback */
	struct holder *gives;		/* who is made to give a counter then; NULL: nobody */
};

/* A process that has pinned events of the whole CPU, one a counter. */
struct holder {
	pid_t pid;
	int to, from;		/* one byte is an order, one the number that it holds then */
};

static unsigned int nr_points, nr_failed, nr_counters;
static volatile sig_atomic_t nr_signals;

/* ------------------------------------------------------------------- points */

static __attribute__((format(printf, 2, 3))) void point(bool good, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	printf("%sok %u - ", good ? "" : "not ", ++nr_points);
	vprintf(name, args);
	puts("");
	va_end(args);
	nr_failed += !good;
}

static void same(const char *name, uint64_t wanted, uint64_t got)
{
	point(wanted == got, "%s", name);
	if (wanted != got)
		printf("# wanted %llu, got %llu\n", (unsigned long long)wanted,
		       (unsigned long long)got);
}

static void between(const char *name, uint64_t least, uint64_t most, uint64_t got)
{
	point(got >= least && got <= most, "%s", name);
	printf("# %llu, of %llu to %llu\n", (unsigned long long)got, (unsigned long long)least,
	       (unsigned long long)most);
}

static __attribute__((noreturn)) void give_up(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ------------------------------------------------------------------ the work */

#define LOOP_INSTRUCTIONS 2	/* a round */

#if defined(__aarch64__)
static __attribute__((noinline)) void loop(uint64_t rounds)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}
#else
#define LOOP_INSTRUCTIONS 2

static __attribute__((noinline)) void loop(uint64_t rounds)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}
#endif

static void on_signal(int number)
{
	(void)number;
	nr_signals++;
}

/* -------------------------------------------------------------- who holds what */

static int open_pinned(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		give_up("perf_event_open");
	return fd;
}

/* On a counter? */
static bool counts(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value);
}

/* Holds as many counters as each byte says, or can be had: those that can count instructions. */
static void hold(int from, int to)
{
	int fds[MAX_HELD], nr = 0;
	uint8_t wanted;

	prctl(PR_SET_NAME, HOLDER);
	while (read(from, &wanted, 1) == 1) {
		while (nr > wanted)
			close(fds[--nr]);
		while (nr < wanted && nr < MAX_HELD) {
			fds[nr] = open_pinned();
			if (!counts(fds[nr])) {
				close(fds[nr]);
				break;
			}
			nr++;
		}
		wanted = (uint8_t)nr;
		if (write(to, &wanted, 1) != 1)
			break;
	}
	_exit(0);
}

static void holder_start(struct holder *holder)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		give_up("pipe");
	fflush(stdout);
	holder->pid = fork();
	if (holder->pid < 0)
		give_up("fork");
	if (!holder->pid) {
		close(to[1]);
		close(from[0]);
		hold(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	holder->to = to[1];
	holder->from = from[0];
}

/* Makes it hold @nr; what it holds then. */
static unsigned int holder_hold(const struct holder *holder, unsigned int nr)
{
	uint8_t byte = (uint8_t)nr;

	if (write(holder->to, &byte, 1) != 1 || read(holder->from, &byte, 1) != 1)
		give_up("the process that holds counters");
	return byte;
}

static void holder_end(struct holder *holder)
{
	close(holder->to);
	close(holder->from);
	waitpid(holder->pid, NULL, 0);
}

/* -------------------------------------------------------------------- a vPMU */

static void take_report(void *context, const struct vpmu_report *report)
{
	struct test *test = context;

	if (test->nr_reports < MAX_REPORTS)
		test->reports[test->nr_reports++] = *report;
}

static bool evict(void *context, const struct vpmu_report *report)
{
	struct test *test = context;

	(void)report;
	test->nr_asked++;
	if (!test->gives)
		return false;
	holder_hold(test->gives, nr_counters - test->nr_asked);
	return true;
}

static void start_mode(struct test *test, enum vpmu_model model, enum vpmu_policy policy,
		       bool host_mode)
{
	struct vpmu_perf_options perf = {
		.size = sizeof(perf), .signal = SIGUSR1, .host_mode = host_mode };
	struct vpmu_vm_options options = {
		.size = sizeof(options), .policy = policy, .log = take_report, .evict = evict,
		.context = test };
	int err = vpmu_geometry_init(&options.geometry, model);

	*test = (struct test){ 0 };
	if (model <= VPMU_INTEL_V5)
		options.geometry.nr_gp = 12;	/* more than the host has */
	err = err ?: vpmu_backend_perf(&perf, &options.backend);
	err = err ?: vpmu_vm_create(&options, &test->vm);
	err = err ?: vpmu_create(test->vm, 0, &test->vpmu);
	if (err) {
		errno = -err;
		give_up("vPMU");
	}
}

static void start(struct test *test, enum vpmu_model model, enum vpmu_policy policy)
{
	start_mode(test, model, policy, true);
}

static void end(struct test *test)
{
	vpmu_destroy(test->vpmu);
	vpmu_vm_destroy(test->vm);
}

static uint64_t rd(struct test *test, uint32_t msr)
{
	uint64_t value = 0;

	if (vpmu_rdmsr(test->vpmu, msr, &value) != VPMU_OK)
		point(false, "register %#x can be read", msr);
	return value;
}

static void wr(struct test *test, uint32_t msr, uint64_t value)
{
	if (vpmu_wrmsr(test->vpmu, msr, value) != VPMU_OK)
		point(false, "register %#x takes %#llx", msr, (unsigned long long)value);
}

/* A function of its own, so that each run has the same instructions beside the loop's. */
static __attribute__((noinline)) struct vpmu_exit run(struct test *test, uint64_t rounds)
{
	struct vpmu_exit left;
	int err = vpmu_enter(test->vpmu, NULL);

	if (err)
		point(false, "entry: %s", strerror(-err));
	loop(rounds);
	vpmu_exit(test->vpmu, &left);
	return left;
}

/* Counts of the register over a run of so many rounds. */
static uint64_t count(struct test *test, uint32_t msr, uint64_t rounds)
{
	uint64_t before = rd(test, msr);

	run(test, rounds);
	return rd(test, msr) - before;
}

/* What the two calls take themselves, once all is warm. */
static uint64_t overhead(struct test *test, uint32_t msr)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++)
		least = MIN(least, count(test, msr, 1) - LOOP_INSTRUCTIONS);
	return least;
}

static struct vpmu_stats stats(const struct test *test)
{
	struct vpmu_stats stats;

	vpmu_get_stats(test->vpmu, &stats, sizeof(stats));
	return stats;
}

static unsigned int nr_reports(const struct test *test, enum vpmu_report_kind kind)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < test->nr_reports; i++)
		nr += test->reports[i].kind == kind;
	return nr;
}

/* The counters that such reports were about. */
static uint64_t reported(const struct test *test, enum vpmu_report_kind kind)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < test->nr_reports; i++)
		if (test->reports[i].kind == kind)
			set |= BIT(test->reports[i].slot);
	return set;
}

/* --------------------------------------------------------------------- exact */

static void test_exact(void)
{
	struct test test;
	uint64_t fixed, cycles, each;

	puts("# exact counts: Intel, user mode");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS);
	fixed = overhead(&test, INTEL_PMC);
	between("entry and exit have few instructions of their own", 1, 2000, fixed);
	for (uint64_t rounds = 10; rounds <= 1000000; rounds *= 10) {
		char name[64];

		snprintf(name, sizeof(name), "%llu rounds are as many instructions",
			 (unsigned long long)rounds);
		same(name, rounds * LOOP_INSTRUCTIONS + fixed, count(&test, INTEL_PMC, rounds));
	}
	wr(&test, INTEL_SELECT, INTEL_CYCLES);
	cycles = count(&test, INTEL_PMC, 1);
	cycles = count(&test, INTEL_PMC, 1);
	each = (count(&test, INTEL_PMC, 1000001) - cycles) / LOOP_INSTRUCTIONS;
	same("an instruction is so many cycles", each,
	     (count(&test, INTEL_PMC, 2000001) - cycles) / LOOP_INSTRUCTIONS / 2);
	printf("# %.6f cycles each\n", (double)each / 1000000);
	end(&test);

	puts("# exact counts: AMD");
	start(&test, VPMU_AMD_CORE, VPMU_POLICY_FAIL);
	wr(&test, AMD_SELECT + 10, INSTRUCTIONS);
	fixed = overhead(&test, AMD_COUNTER + 10);
	same("AMD's sixth counter", 500000 * LOOP_INSTRUCTIONS + fixed,
	     count(&test, AMD_COUNTER + 10, 500000));
	wr(&test, AMD_SELECT, AMD_CYCLES);
	count(&test, AMD_COUNTER, 1);
	cycles = count(&test, AMD_COUNTER, 1);
	same("AMD's cycles are Intel's", each,
	     (count(&test, AMD_COUNTER, 1000001) - cycles) / LOOP_INSTRUCTIONS);
	end(&test);
}

/* Interrupts of the host's kernel are in these counts. */
static void test_kernel_mode(void)
{
	struct test test;
	uint64_t user, both;

	puts("# modes");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 7);
	wr(&test, INTEL_SELECT, INSTRUCTIONS);
	wr(&test, INTEL_SELECT + 1, INSTRUCTIONS | KERNEL);
	wr(&test, INTEL_SELECT + 2, (INSTRUCTIONS | KERNEL) & ~USER);
	run(&test, 1000000);
	user = rd(&test, INTEL_PMC);
	both = rd(&test, INTEL_PMC + 1);
	between("user and kernel mode: at least the loop, and the calls' work", user, 2 * user,
		both);
	between("user and kernel mode are both together", both * 99 / 100, both * 101 / 100,
		user + rd(&test, INTEL_PMC + 2));
	end(&test);

	start_mode(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL, false);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS | KERNEL);
	run(&test, 1000000);
	same("guests alone: a thread that runs none has counted nothing", 0, rd(&test, INTEL_PMC));
	same("and has had a counter", 1, stats(&test).entries);
	end(&test);
}

static void test_several(void)
{
	static const uint64_t rounds = 300000;
	struct test test;
	uint64_t first[5], got[5];
	char name[64];

	puts("# several counters at once");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	for (unsigned int i = 0; i < 4; i++)
		wr(&test, INTEL_SELECT + i, INSTRUCTIONS);
	wr(&test, INTEL_FIXED_CONTROL, 2);	/* instructions in user mode */
	wr(&test, INTEL_CONTROL, 0xf | BIT(32));
	run(&test, 1);
	for (unsigned int i = 0; i < 5; i++)
		first[i] = rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED);
	run(&test, 1);
	for (unsigned int i = 0; i < 5; i++)
		first[i] = rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED) - first[i];
	for (unsigned int i = 0; i < 5; i++)
		got[i] = rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED);
	run(&test, 1 + rounds);
	for (unsigned int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "%s counter %u", i < 4 ? "general" : "fixed", i & 3);
		same(name, rounds * LOOP_INSTRUCTIONS + first[i],
		     rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED) - got[i]);
	}
	/* One stops, the others go on. */
	wr(&test, INTEL_CONTROL, 0xd | BIT(32));
	got[1] = rd(&test, INTEL_PMC + 1);
	run(&test, rounds);
	same("one that is switched off stands still", got[1], rd(&test, INTEL_PMC + 1));
	end(&test);
}

/* ------------------------------------------------------------------ overflow */

static void test_boundary(void)
{
	static const uint64_t rounds = 100000;
	struct test test;
	struct vpmu_exit left;
	uint64_t total;

	puts("# overflow: to the instruction");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS | INTERRUPT);
	total = overhead(&test, INTEL_PMC) + rounds * LOOP_INSTRUCTIONS;
	wr(&test, INTEL_A_PMC, FULL - total - 1);
	left = run(&test, rounds);
	same("one less than it takes: no interrupt", 0, left.pmi);
	same("one less: the counter is at its end", FULL - 1, rd(&test, INTEL_PMC));
	same("one less: no status", 0, rd(&test, INTEL_STATUS));
	wr(&test, INTEL_A_PMC, FULL - total);
	left = run(&test, rounds);
	same("exactly so many: the counter is 0", 0, rd(&test, INTEL_PMC));
	same("exactly so many: an interrupt", 1, left.pmi);
	same("exactly so many: status", 1, rd(&test, INTEL_STATUS));
	/* As a guest's handler does, ten times in a row. */
	for (int i = 0; i < 10; i++) {
		struct vpmu_pmi pmi;

		vpmu_pmi(test.vpmu, 0x400, &pmi);
		wr(&test, INTEL_RESET, 1);
		wr(&test, INTEL_A_PMC, FULL - total);
		left = run(&test, rounds);
		if (!left.pmi || rd(&test, INTEL_PMC))
			break;
	}
	same("set anew ten times, it overflows to the instruction each time", 11,
	     stats(&test).overflows);
	end(&test);
}

/* Runs until the signal says that the counter has overflowed, or for so many rounds. */
static void run_to_signal(struct test *test, uint64_t most, struct vpmu_exit *left)
{
	sig_atomic_t before = nr_signals;

	if (vpmu_enter(test->vpmu, NULL))
		point(false, "entry");
	for (uint64_t i = 0; i < most / 100 && nr_signals == before; i++)
		loop(100);
	vpmu_exit(test->vpmu, left);
}

static void test_signal(void)
{
	static const uint64_t period = 200000;
	uint64_t sum = 0, most = 0;
	struct test test;
	sig_atomic_t before = nr_signals;
	int nr = 0;

	puts("# overflow: the signal");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS | INTERRUPT);
	for (int i = 0; i < 20; i++) {
		struct vpmu_exit left;
		struct vpmu_pmi pmi;

		wr(&test, INTEL_A_PMC, FULL - period);
		run_to_signal(&test, 5 * period, &left);
		nr += left.pmi;
		vpmu_pmi(test.vpmu, 0x400, &pmi);
		sum += rd(&test, INTEL_PMC);
		most = MAX(most, rd(&test, INTEL_PMC));
	}
	same("20 periods: an interrupt each", 20, (uint64_t)nr);
	same("20 periods: a signal each", 20, (uint64_t)(nr_signals - before));
	/* The emulator sees to overflows at the kernel's ticks: a bare perf event is as late. */
	between("it comes within two ticks of 250,000 instructions", 1, 500000, most);
	printf("# %.0f on average\n", (double)sum / 20);
	/* Four fifths of the period of one, inside; outside more than both have. */
	wr(&test, INTEL_CONTROL, 3);
	wr(&test, INTEL_SELECT + 1, INSTRUCTIONS | INTERRUPT);
	wr(&test, INTEL_A_PMC, FULL - period);
	wr(&test, INTEL_A_PMC + 1, FULL - 3 * period);
	before = nr_signals;
	for (int i = 0; i < 4; i++) {
		run(&test, period / 10);
		loop(period);
	}
	same("what is outside makes no signal", 0, (uint64_t)(nr_signals - before));
	same("nor does it count", 0, stats(&test).overflows - 20);
	end(&test);
}

/* --------------------------------------------------------------------- state */

static void test_state(void)
{
	static const uint64_t rounds = 50000;
	uint8_t state[VPMU_STATE_MAX];
	struct test one, two;
	uint64_t value, fixed;
	int size;

	puts("# saved and restored in mid-count");
	start(&one, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&one, INTEL_CONTROL, 1);
	wr(&one, INTEL_SELECT, INSTRUCTIONS | INTERRUPT);
	fixed = overhead(&one, INTEL_PMC);
	wr(&one, INTEL_A_PMC, FULL - 3 * (rounds * LOOP_INSTRUCTIONS + fixed));
	run(&one, rounds);
	value = rd(&one, INTEL_PMC);
	size = vpmu_save(one.vpmu, state, sizeof(state));
	end(&one);
	start(&two, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	same("restored", 0, (uint64_t)vpmu_restore(two.vpmu, state, (size_t)size));
	same("with its count", value, rd(&two, INTEL_PMC));
	same("no interrupt too early", 0, run(&two, rounds).pmi);
	same("it goes on from there", value + rounds * LOOP_INSTRUCTIONS + fixed,
	     rd(&two, INTEL_PMC));
	same("the interrupt at its place", 1, run(&two, rounds).pmi);
	same("to the instruction", 0, rd(&two, INTEL_PMC));
	/* A pending interrupt moves along. */
	size = vpmu_save(two.vpmu, state, sizeof(state));
	end(&two);
	start(&one, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	vpmu_restore(one.vpmu, state, (size_t)size);
	same("an interrupt that is pending moves along", 1, run(&one, 1).pmi);
	end(&one);
}

struct elsewhere {
	struct test *test;
	uint64_t fixed, counted;
};

/* libc's part of the calls is another one where there are threads. */
static void *run_elsewhere(void *arg)
{
	struct elsewhere *elsewhere = arg;

	elsewhere->fixed = overhead(elsewhere->test, INTEL_PMC);
	elsewhere->counted = count(elsewhere->test, INTEL_PMC, 70000);
	vpmu_release_events(elsewhere->test->vpmu);
	return NULL;
}

static void test_thread(void)
{
	struct elsewhere elsewhere;
	struct test test;
	pthread_t thread;

	puts("# on another thread");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS);
	run(&test, 1000);
	vpmu_release_events(test.vpmu);
	elsewhere = (struct elsewhere){ .test = &test };
	if (pthread_create(&thread, NULL, run_elsewhere, &elsewhere))
		give_up("thread");
	pthread_join(thread, NULL);
	same("it counts that thread", 70000 * LOOP_INSTRUCTIONS + elsewhere.fixed,
	     elsewhere.counted);
	same("and this one again", 70000 * LOOP_INSTRUCTIONS + overhead(&test, INTEL_PMC),
	     count(&test, INTEL_PMC, 70000));
	end(&test);
}

/* ----------------------------------------------------------------- contention */

/* All general counters from 0 to @nr - 1 count instructions. */
static void program(struct test *test, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		wr(test, INTEL_SELECT + i, INSTRUCTIONS);
	wr(test, INTEL_CONTROL, BIT(nr) - 1);
}

/* The holder is the first in the list, with all that it holds. */
static void look_for(const struct holder *holder, unsigned int nr)
{
	struct vpmu_holder found[8];
	int nr_found = vpmu_holders(NULL, found, 8);
	const struct vpmu_holder *first = NULL;

	for (int i = 0; i < nr_found && i < 8; i++) {
		printf("# has perf events: %s (%d): %u\n", found[i].name, found[i].pid,
		       found[i].nr_events);
		if (found[i].pid == holder->pid)
			first = &found[i];
	}
	point(first && !strcmp(first->name, HOLDER) && first->nr_events == nr,
	      "the one who holds %u is told by name, process and number", nr);
}

static void test_fail(struct holder *holder)
{
	struct vpmu_entry entry;
	struct test test;
	uint64_t fixed;
	int err;

	puts("# contention: fail");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	program(&test, 2);
	fixed = overhead(&test, INTEL_PMC);
	same("the host takes all but one", nr_counters - 1, holder_hold(holder, nr_counters - 1));
	err = vpmu_enter(test.vpmu, &entry);
	same("the guest must not run", EBUSY, (uint64_t)-err);
	printf("# counting %#llx, missing %#llx\n", (unsigned long long)entry.counting,
	       (unsigned long long)entry.missing);
	same("one of the two is missing", 1, (uint64_t)__builtin_popcountll(entry.missing));
	same("each that is missing is reported", entry.missing,
	     reported(&test, VPMU_REPORT_BUSY));
	look_for(holder, nr_counters - 1);
	err = vpmu_enter(test.vpmu, &entry);
	same("nor the next time", EBUSY, (uint64_t)-err);
	same("which is told once", 1, nr_reports(&test, VPMU_REPORT_BUSY));
	same("the host takes the last one", nr_counters, holder_hold(holder, MAX_HELD));
	err = vpmu_enter(test.vpmu, &entry);
	same("both are missing", 3, entry.missing);
	look_for(holder, nr_counters);
	holder_hold(holder, 0);
	run(&test, 1);
	same("when the host has given them back, it counts to the instruction",
	     1000 * LOOP_INSTRUCTIONS + fixed, count(&test, INTEL_PMC, 1000));
	end(&test);
}

static void test_lost(struct holder *holder)
{
	struct vpmu_entry entry;
	struct vpmu_exit left;
	struct test test;
	int err;

	puts("# contention: while the guest runs");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	program(&test, 1);
	wr(&test, INTEL_PMC, 5);
	err = vpmu_enter(test.vpmu, &entry);
	same("entered", 0, (uint64_t)err);
	holder_hold(holder, MAX_HELD);
	loop(1000);
	vpmu_exit(test.vpmu, &left);
	same("the counter is told to be lost", 1, left.lost);
	same("and reported", 1, reported(&test, VPMU_REPORT_LOST));
	same("its value is the one before", 5, rd(&test, INTEL_PMC));
	same("the guest sees that it was", CHANGED, rd(&test, INTEL_STATUS));
	err = vpmu_enter(test.vpmu, &entry);
	same("the next entry fails", EBUSY, (uint64_t)-err);
	holder_hold(holder, 0);
	between("and the one after the host has given it back does not", 2000, 4000,
		count(&test, INTEL_PMC, 1000));
	end(&test);
}

static void test_evict(struct holder *holder)
{
	struct vpmu_entry entry;
	struct test test;

	puts("# contention: evict");
	holder_hold(holder, MAX_HELD);
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_EVICT);
	program(&test, 2);
	same("nobody gives way: the guest runs", 0, (uint64_t)vpmu_enter(test.vpmu, &entry));
	same("without counters", 3, entry.missing);
	loop(1000);
	vpmu_exit(test.vpmu, NULL);
	same("they stand still", 0, rd(&test, INTEL_PMC) | rd(&test, INTEL_PMC + 1));
	same("which the guest sees", CHANGED, rd(&test, INTEL_STATUS));
	same("the host was asked for each", 2, test.nr_asked);
	same("each is reported", 3, reported(&test, VPMU_REPORT_EVICTED));
	look_for(holder, nr_counters);
	/* It gives one for each that is asked for. */
	test.nr_asked = 0;
	test.gives = holder;
	vpmu_retry(test.vpmu);
	same("the host gives way", 0, (uint64_t)vpmu_enter(test.vpmu, &entry));
	same("and both have counters", 3, entry.counting);
	loop(1000);
	vpmu_exit(test.vpmu, NULL);
	between("that count", 2000, 10000, rd(&test, INTEL_PMC));
	same("asked twice", 2, test.nr_asked);
	end(&test);
	holder_hold(holder, 0);
}

/* So long that all have had turns: a turn is 4 ms, which are 250,000 instructions. */
static void test_turns_of(struct test *test, unsigned int nr, const char *what)
{
	static const uint64_t rounds = 30000000, done = 30000000 * LOOP_INSTRUCTIONS;
	uint64_t least = UINT64_MAX, most = 0;
	char name[96];

	for (unsigned int i = 0; i < nr; i++)
		wr(test, INTEL_PMC + i, 0);
	run(test, rounds);
	for (unsigned int i = 0; i < nr; i++) {
		least = MIN(least, rd(test, INTEL_PMC + i));
		most = MAX(most, rd(test, INTEL_PMC + i));
	}
	snprintf(name, sizeof(name), "%s: the least is 95 %% of what was done", what);
	between(name, done * 95 / 100, done * 105 / 100, least);
	snprintf(name, sizeof(name), "%s: the most is 105 %%", what);
	between(name, done * 95 / 100, done * 105 / 100, most);
}

static void test_multiplex(struct holder *holder)
{
	unsigned int nr = nr_counters + 2;
	struct vpmu_entry entry;
	struct test test;

	puts("# contention: multiplex");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_MULTIPLEX);
	program(&test, nr);
	same("more counters than the host has: the guest runs", 0,
	     (uint64_t)vpmu_enter(test.vpmu, &entry));
	vpmu_exit(test.vpmu, NULL);
	same("all count", BIT(nr) - 1, entry.counting);
	between("some are told to take turns", 1, nr,
		(uint64_t)__builtin_popcountll(reported(&test, VPMU_REPORT_MULTIPLEXED)));
	test_turns_of(&test, nr, "two counters too few");
	end(&test);

	start(&test, VPMU_INTEL_V2, VPMU_POLICY_MULTIPLEX);
	holder_hold(holder, nr_counters - 2);
	program(&test, 4);
	same("the host has left two for four: the guest runs", 0,
	     (uint64_t)vpmu_enter(test.vpmu, &entry));
	vpmu_exit(test.vpmu, NULL);
	look_for(holder, nr_counters - 2);
	test_turns_of(&test, 4, "two for four");
	holder_hold(holder, 0);
	vpmu_retry(test.vpmu);
	run(&test, 1);
	same("tried again, all have counters of their own", 4, stats(&test).open_now);
	same("and are exact", 1000 * LOOP_INSTRUCTIONS + overhead(&test, INTEL_PMC),
	     count(&test, INTEL_PMC, 1000));
	end(&test);

	/* Where the host has all there is no turn to take. */
	holder_hold(holder, MAX_HELD);
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_MULTIPLEX);
	program(&test, 1);
	run(&test, 1000000);
	same("the host has all: nothing was counted", 0, rd(&test, INTEL_PMC));
	holder_hold(holder, 0);
	run(&test, 10000000);
	between("it was given them back: the time without is scaled, too", 20000000, 25000000,
		rd(&test, INTEL_PMC));
	end(&test);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct holder holder;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (sigaction(SIGUSR1, &action, NULL))
		give_up("sigaction");
	holder_start(&holder);
	nr_counters = holder_hold(&holder, MAX_HELD);
	holder_hold(&holder, 0);
	printf("# counters of the host that can count instructions: %u\n", nr_counters);
	between("the host has counters, not more than the model", 2, 10, nr_counters);
	test_exact();
	test_kernel_mode();
	test_several();
	test_boundary();
	test_signal();
	test_state();
	test_thread();
	test_fail(&holder);
	test_lost(&holder);
	test_evict(&holder);
	test_multiplex(&holder);
	holder_end(&holder);
	printf("1..%u\n", nr_points);
	return nr_failed != 0;
}
