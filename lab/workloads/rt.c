// SPDX-License-Identifier: GPL-2.0-only
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/time.h>

#include "rt.h"

/* Shared by all processes of a workload. */
struct progress {
	unsigned long done;
	unsigned long next; /* report, in ms after the start; a word, to be swapped without libc */
	int ended;
};

static struct {
	const char *name;
	struct progress *progress;
	uint64_t start; /* ms */
	unsigned long report, limit; /* ms */
	unsigned long work_limit, argument;
	int timed, has_argument;
} work;

void *memset(void *dest, int c, size_t n)
{
	char *d = dest;

	while (n--)
		*d++ = c;
	return dest;
}

void *memcpy(void *dest, const void *src, size_t n)
{
	char *d = dest;
	const char *s = src;

	while (n--)
		*d++ = *s++;
	return dest;
}

/* A line of text, written at once so that programs do not cut into each other's. */
struct line {
	char text[160];
	size_t len;
};

static void line_string(struct line *line, const char *text)
{
	while (*text && line->len < sizeof(line->text))
		line->text[line->len++] = *text++;
}

static void line_number(struct line *line, unsigned long number)
{
	char digits[24];
	size_t i = sizeof(digits) - 1;

	digits[i] = 0;
	do {
		digits[--i] = '0' + number % 10;
		number /= 10;
	} while (number);
	line_string(line, digits + i);
}

static void line_print(struct line *line)
{
	if (line->len == sizeof(line->text))
		line->len--;
	line->text[line->len++] = '\n';
	sys(write, 1, line->text, line->len);
}

void work_say(const char *text, unsigned long number)
{
	struct line line = {};

	line_string(&line, "workload ");
	line_string(&line, work.name);
	line_string(&line, ": ");
	line_string(&line, text);
	line_string(&line, " ");
	line_number(&line, number);
	line_print(&line);
}

long must(const char *what, long ret)
{
	struct line line = {};

	if ((unsigned long)ret < -4095ul)	/* addresses may be negative numbers */
		return ret;
	line_string(&line, "workload ");
	line_string(&line, work.name);
	line_string(&line, ": error ");
	line_number(&line, -ret);
	line_string(&line, " in ");
	line_string(&line, what);
	line_print(&line);
	work_exit(1);
}

static void work_report(uint64_t now)
{
	struct line line = {};

	line_string(&line, "work ");
	line_string(&line, work.name);
	line_string(&line, " ");
	line_number(&line, __atomic_load_n(&work.progress->done, __ATOMIC_RELAXED));
	line_string(&line, " ");
	line_number(&line, now - work.start);
	line_print(&line);
}

static int string_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static unsigned long parse_number(const char *text)
{
	unsigned long number = 0;

	if (!text || !*text)
		must("an argument: number missing", -22);
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			must("an argument: not a number", -22);
		number = number * 10 + (*text - '0');
	}
	return number;
}

void work_start(int argc, char **argv)
{
	struct line line = {};
	const char *p;
	int i;

	work.name = argv[0];
	for (p = argv[0]; *p; p++)
		if (*p == '/')
			work.name = p + 1;
	for (i = 1; i < argc; i++) {
		if (string_equal(argv[i], "--report")) {
			work.report = parse_number(argv[++i]) * 1000;
		} else if (string_equal(argv[i], "--seconds")) {
			work.limit = parse_number(argv[++i]) * 1000;
		} else if (string_equal(argv[i], "--work")) {
			work.work_limit = parse_number(argv[++i]);
		} else {
			work.argument = parse_number(argv[i]);
			work.has_argument = 1;
		}
	}
	work.timed = work.report || work.limit;
	work.start = now_ms();
	work.progress = (struct progress *)must("mmap", sys(mmap, 0, sizeof(*work.progress),
							    PROT_READ | PROT_WRITE,
							    MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	work.progress->next = work.report;
	line_string(&line, "workload ");
	line_string(&line, work.name);
	line_string(&line, ": started");
	line_print(&line);
}

unsigned long work_argument(unsigned long other)
{
	return work.has_argument ? work.argument : other;
}

/* Only one thread gets to print each report. */
static int report_due(uint64_t now)
{
	unsigned long *place = &work.progress->next;
	unsigned long next = __atomic_load_n(place, __ATOMIC_RELAXED);

	return work.report && now - work.start >= next &&
	       __atomic_compare_exchange_n(place, &next, next + work.report, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* The last report, once for all threads. */
static void work_end(uint64_t now)
{
	if (!__atomic_exchange_n(&work.progress->ended, 1, __ATOMIC_RELAXED))
		work_report(now);
	work_exit(0);
}

static void work_check_time(void)
{
	uint64_t now = now_ms();

	if (report_due(now))
		work_report(now);
	if (work.limit && now - work.start >= work.limit)
		work_end(now);
}

void work_done(unsigned long count)
{
	unsigned long done = __atomic_add_fetch(&work.progress->done, count, __ATOMIC_RELAXED);

	if (work.work_limit && done >= work.work_limit)
		work_end(now_ms());
	if (work.timed)
		work_check_time();
}

uint64_t now_ms(void)
{
	struct timespec ts = {};

	sys(clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void sleep_ms(unsigned long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	sys(nanosleep, &ts, NULL);
}

#ifdef __i386__
/* What the kernel takes; <asm/signal.h> has the one of an older call. The vDSO is the way back. */
void signal_handle(int signal, void (*fn)(int))
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { .handler = fn, .flags = SA_RESTART };

	must("sigaction", sys(rt_sigaction, signal, &action, NULL, sizeof(action.mask)));
}
#else
void signal_handle(int signal, void (*fn)(int))
{
	struct sigaction action = {
		.sa_handler = fn,
		.sa_flags = SA_RESTORER | SA_RESTART,
		.sa_restorer = rt_restorer,
	};

	must("sigaction", sys(rt_sigaction, signal, &action, NULL, sizeof(action.sa_mask)));
}
#endif

void set_name(const char *name)
{
	sys(prctl, PR_SET_NAME, name);
}

void process_start(const char *name, void (*fn)(void *), void *arg)
{
	if (must("fork", sys_fork()))
		return;
	sys(prctl, PR_SET_PDEATHSIG, SIGKILL);
	set_name(name);
	fn(arg);
	work_exit(0);
}

int process_wait(int pid)
{
	int status = 0;

	must("wait4", sys(wait4, pid, &status, 0, NULL));
	return status & 0x7f ? 128 : status >> 8 & 0xff;
}

void work_exit(int status)
{
	for (;;)
		sys(exit_group, status);
}

void work_wait(void)
{
	work_exit(process_wait(-1));
}

const char *program_path(void)
{
	static char path[256];

	must("readlink", sys_readlink("/proc/self/exe", path, sizeof(path) - 1));
	return path;
}

struct thread_job {
	const char *name;
	void (*fn)(void *);
	void *arg;
};

static void thread_main(void *data)
{
	struct thread_job *job = data;

	if (job->name)
		set_name(job->name);
	job->fn(job->arg);
}

void thread_start(struct thread *thread, const char *name, void (*fn)(void *), void *arg)
{
	const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				    CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
				    CLONE_CHILD_CLEARTID;
	struct thread_job *job;
	long ret;

	ret = sys(mmap, 0, THREAD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	thread->stack = (char *)must("mmap of a stack", ret);
	/* The job lies at the stack's far end, where the thread does not get to. */
	job = (struct thread_job *)thread->stack;
	*job = (struct thread_job){ .name = name, .fn = fn, .arg = arg };
	ret = rt_clone(flags, thread->stack + THREAD_STACK, thread_main, job, &thread->tid);
	must("clone", ret);
}

void thread_join(struct thread *thread)
{
	int tid;

	while ((tid = __atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE)))
		sys(futex, &thread->tid, FUTEX_WAIT, tid, NULL);
	sys(munmap, thread->stack, THREAD_STACK);
}
