/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of vpmu-perf share. */
#ifndef TESTS_LAB_VPMU_PERF_H
#define TESTS_LAB_VPMU_PERF_H

#include <sys/types.h>

#include "base/types.h"
#include "vpmu/vpmu.h"

#define BIT(n) (1ULL << (n))
#define FULL BIT(48)		/* where a counter overflows */
#define MAX_REPORTS 64
#define MAX_HELD 16
#define LOOP_INSTRUCTIONS 2	/* a round */

/* Intel's registers and AMD's: SDM vol. 4, "Architectural MSRs"; APM vol. 2, "Core Performance". */
#define INTEL_PMC 0xc1
#define INTEL_SELECT 0x186
#define INTEL_FIXED 0x309
#define INTEL_FIXED_CONTROL 0x38d
#define INTEL_STATUS 0x38e
#define INTEL_CONTROL 0x38f
#define INTEL_RESET 0x390
#define INTEL_A_PMC 0x4c1
#define USER (1U << 16)
#define KERNEL (1U << 17)
#define INTERRUPT (1U << 20)
#define ENABLE (1U << 22)
#define INSTRUCTIONS (ENABLE | USER | 0xc0)
#define CHANGED BIT(63)

/* A process that has pinned events of the whole CPU, one a counter. */
struct holder {
	pid_t pid;
	int to, from;		/* one byte is an order, one the number that it holds then */
	unsigned int most;	/* that it could hold when it began: all of the host's */
};

struct test {
	struct vpmu_vm *vm;
	struct vpmu *vpmu;
	struct vpmu_report reports[MAX_REPORTS];
	unsigned int nr_reports;
	unsigned int nr_asked;		/* calls of the evict callback */
	struct holder *gives;		/* who is made to give a counter then; NULL: nobody */
};

/* Points. */
void point(bool good, const char *name, ...) __attribute__((format(printf, 2, 3)));
void same(const char *name, uint64_t wanted, uint64_t got);
void between(const char *name, uint64_t least, uint64_t most, uint64_t got);
void give_up(const char *what) __attribute__((noreturn));	/* with errno */
int points_end(void);	/* the exit status */

/* Whom the guest shares the counters with. */
void holder_start(struct holder *holder);
void holder_end(struct holder *holder);
/* Makes it hold @nr; what it holds then. */
unsigned int holder_hold(const struct holder *holder, unsigned int nr);
/* vpmu_holders() has it first, with all @nr that it holds. */
void holder_look_for(const struct holder *holder, unsigned int nr);

/* The guest: so many rounds of work, and its vPMU. */
void loop(uint64_t rounds);
void start(struct test *test, enum vpmu_model model, enum vpmu_policy policy);
void start_mode(struct test *test, enum vpmu_model model, enum vpmu_policy policy,
		bool host_mode);
void end(struct test *test);
uint64_t rd(struct test *test, uint32_t msr);
void wr(struct test *test, uint32_t msr, uint64_t value);
struct vpmu_exit run(struct test *test, uint64_t rounds);
/* Counts of the register over a run of so many rounds. */
uint64_t count(struct test *test, uint32_t msr, uint64_t rounds);
/* What the two calls take themselves, once all is warm. */
uint64_t overhead(struct test *test, uint32_t msr);

/* What it told. */
struct vpmu_stats stats(const struct test *test);
unsigned int nr_reports(const struct test *test, enum vpmu_report_kind kind);
/* The counters that such reports were about. */
uint64_t reported(const struct test *test, enum vpmu_report_kind kind);

/* Before all else: from here on the signal of an overflow ends nothing. */
void catch_signals(void);

void test_exact(void);
void test_kernel_mode(void);
void test_several(void);
void test_boundary(void);
void test_signal(void);
void test_state(void);
void test_thread(void);
void test_fail(struct holder *holder);
void test_lost(struct holder *holder);
void test_evict(struct holder *holder);
void test_multiplex(struct holder *holder);

#endif
