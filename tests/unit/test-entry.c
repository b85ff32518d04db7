/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose a clock's event is, by how the guest was entered: what waited for it, what ended guest
 * mode, what came behind that. And a model of a host, where it is known whose each event is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "bpf/entry.h"

#define PC 0xffff800008001000ULL
#define ENTERED 1000000ULL	/* ns */
#define TIMER 1500000ULL	/* the CPU's timer is due then */
#define IRQS 700ULL
#define TURN 4000ULL

/* Entered at ENTERED, and such an entry is known to take TURN when the guest does not run. */
static struct entry entered(u64 turn)
{
	struct entry entry = { .turn = turn };

	entry_note(&entry, PC, TIMER, IRQS, ENTERED);
	return entry;
}

/* The timer's own event, which ended guest mode where the guest had come. */
static const struct entry_event in_guest = {
	.due = TIMER,
	.now = TIMER + 3000,
	.pc = PC + 0x40,
	.irqs = IRQS + 1,
};

static int judge(struct entry entry, struct entry_event event)
{
	return entry_is_guests(&entry, &event);
}

static void test_ended_guest_mode(void **state)
{
	struct entry_event event = in_guest;

	(void)state;
	assert_int_equal(judge(entered(TURN), event), 1);
	assert_int_equal(judge(entered(0), event), 1);
	/* Nothing is known yet. */
	assert_int_equal(judge((struct entry){ 0 }, event), 1);
	/* A guest that goes in a circle of one instruction, or that was at this pc by chance. */
	event.pc = PC;
	assert_int_equal(judge(entered(TURN), event), 1);
}

/* It waited when the guest was entered, wherever a virtual interrupt has moved the guest's pc. */
static void test_before(void **state)
{
	struct entry_event event = { .due = ENTERED - 1, .now = ENTERED + TURN, .irqs = IRQS + 1 };

	(void)state;
	event.pc = PC;
	assert_int_equal(judge(entered(TURN), event), 0);
	event.pc = PC + 4;
	assert_int_equal(judge(entered(0), event), 0);
	event.pc = PC + 0x400;
	assert_int_equal(judge(entered(TURN), event), 0);
	event.due = ENTERED;
	assert_int_equal(judge(entered(TURN), event), 1);
}

/* Behind the time of the entry, but before the guest's first instruction. */
static void test_on_the_way_in(void **state)
{
	struct entry_event event = {
		.due = ENTERED + 900,
		.now = ENTERED + TURN + TURN / 10,
		.pc = PC + 4,
		.irqs = IRQS + 1,
	};

	(void)state;
	assert_int_equal(judge(entered(TURN), event), 0);
	/* How long it takes must be known. */
	assert_int_equal(judge(entered(0), event), 1);
	/* The guest ran: by its pc, */
	event.pc = PC - 4;
	assert_int_equal(judge(entered(TURN), event), 1);
	event.pc = PC + 8;
	assert_int_equal(judge(entered(TURN), event), 1);
	/* or, in a circle, by the time. */
	event.pc = PC;
	event.now = ENTERED + 2 * TURN;
	assert_int_equal(judge(entered(TURN), event), 1);
}

/* A device's interrupt, or another timer, ended guest mode: what came due then is the host's. */
static void test_behind(void **state)
{
	struct entry_event event = in_guest;
	struct entry entry = entered(TURN);

	(void)state;
	event.irqs = IRQS + 2;
	assert_int_equal(judge(entry, event), 0);
	event.irqs = IRQS + 1;
	event.due = TIMER + 1;
	assert_int_equal(judge(entry, event), 0);
	/* Where neither is known they say nothing. */
	entry.irqs = 0;
	entry.timer = UINT64_MAX;
	event.irqs = IRQS + 2;
	assert_int_equal(judge(entry, event), 1);
	/* The count goes around. */
	entry.irqs = UINT64_MAX;
	event.irqs = 0;
	assert_int_equal(judge(entry, event), 1);
	event.irqs = 1;
	assert_int_equal(judge(entry, event), 0);
}

/* Where the CPU serves a guest's timer before its own that may have come later, and takes time. */
static void test_waited(void **state)
{
	struct entry_event event = in_guest;

	(void)state;
	event.irqs = IRQS + 2;
	event.last = 1;
	event.now = event.due + TURN;
	assert_int_equal(judge(entered(TURN), event), 0);
	event.now++;
	assert_int_equal(judge(entered(TURN), event), 1);
	assert_int_equal(judge(entered(0), event), 1);
	event.last = 0;
	assert_int_equal(judge(entered(TURN), event), 0);
	/* Another of the CPU's own timers. */
	event.last = 1;
	event.due = TIMER + 1;
	assert_int_equal(judge(entered(TURN), event), 0);
}

/* Two clocks of one period come one behind the other for ever: the second is where the first is. */
static void test_second_clock(void **state)
{
	struct entry entry = entered(TURN);
	struct entry_event second = in_guest;

	(void)state;
	second.due += 500;
	second.now += 9000;
	assert_int_equal(entry_is_guests(&entry, &in_guest), 1);
	assert_int_equal(entry_is_guests(&entry, &second), 1);
	second.irqs++;
	assert_int_equal(entry_is_guests(&entry, &second), 1);
	/* Until the guest is entered again. */
	entry_note(&entry, PC, TIMER, IRQS, ENTERED);
	assert_int_equal(entry_is_guests(&entry, &second), 0);
	assert_int_equal(entry_is_guests(&entry, &in_guest), 0);
}

/* Lets an event that waited come @turn after an entry. */
static void learn(struct entry *entry, u64 turn)
{
	const struct entry_event event = {
		.due = ENTERED - 10, .now = ENTERED + turn, .pc = PC, .irqs = IRQS + 1,
	};

	entry_note(entry, PC, TIMER, IRQS, ENTERED);
	assert_int_equal(entry_is_guests(entry, &event), 0);
}

static void test_learn(void **state)
{
	struct entry_event event = { .due = ENTERED - 10, .now = ENTERED + TURN, .pc = PC,
				     .irqs = IRQS + 2 };
	struct entry entry = entered(0);

	(void)state;
	/* Another interrupt was served in between, or another timer; or the guest ran. */
	assert_int_equal(entry_is_guests(&entry, &event), 0);
	event.irqs--;
	entry_note(&entry, PC, ENTERED - 20, IRQS, ENTERED);
	assert_int_equal(entry_is_guests(&entry, &event), 0);
	entry_note(&entry, PC - 8, TIMER, IRQS, ENTERED);
	assert_int_equal(entry_is_guests(&entry, &event), 0);
	assert_int_equal(entry.turn, 0);
	learn(&entry, 5000);
	assert_int_equal(entry.turn, 5000);
	learn(&entry, 4000);
	assert_int_equal(entry.turn, 4000);
	/* One that was held up moves it little, a host that has become slow as far as need be. */
	learn(&entry, 400000);
	assert_in_range(entry.turn, 4100, 4300);
	for (int i = 0; i < 200; i++)
		learn(&entry, 8000);
	assert_in_range(entry.turn, 7900, 8000);
}

/* Comes @reach after it was due, and @more interrupts are served behind it and its kick. */
static int take_back(struct entry *entry, u64 reach, u64 more)
{
	struct entry_event event = in_guest;

	event.now = event.due + reach;
	entry_note(entry, PC, TIMER, IRQS, ENTERED);
	assert_int_equal(entry_is_guests(entry, &event), 1);
	return entry_take_back(entry, event.irqs + 1 + more);
}

/* Sooner than any that has ended guest mode, and with another interrupt behind it, which has. */
static void test_take_back(void **state)
{
	struct entry_event event = in_guest;
	struct entry entry = entered(TURN);

	(void)state;
	assert_int_equal(take_back(&entry, 2000, 1), 0);
	assert_int_equal(take_back(&entry, 3700, 0), 0);
	assert_int_equal(take_back(&entry, 3700, 1), 0);
	assert_int_equal(take_back(&entry, 3699, 1), 1);
	/* The way out is shorter at times. */
	assert_int_equal(take_back(&entry, 3200, 0), 0);
	assert_int_equal(take_back(&entry, 3700, 0), 0);
	assert_int_equal(take_back(&entry, 3200, 1), 0);
	assert_int_equal(take_back(&entry, 3199, 2), 1);
	assert_int_equal(take_back(&entry, 3199, 0), 0);
	/* Not when the guest has been entered since, and not what was the host's at once. */
	assert_int_equal(take_back(&entry, 3000, 1), 1);
	entry_note(&entry, PC, TIMER, IRQS, ENTERED);
	assert_int_equal(entry_take_back(&entry, IRQS + 9), 0);
	event.irqs++;
	assert_int_equal(entry_is_guests(&entry, &event), 0);
	assert_int_equal(entry_take_back(&entry, IRQS + 9), 0);
}

/*
 * A vCPU's thread: guest mode, which ends at the first interrupt, and then the host's part, with
 * and without interrupts. Of an emulated host, slow and always the same: ns.
 */
struct host {
	u64 way_in, way_out;	/* with interrupts off, beside the guest's own time */
	u64 serve;		/* an interrupt */
	u64 with_irqs, without;	/* behind all of them: the task is not said to run a vCPU */
	u64 device_gap;		/* between two interrupts of devices, on average */
	bool device_first;	/* of two that wait it is served before the CPU's timer */
	bool circles;		/* the guest does, in one instruction */
};

struct run {
	const struct host *host;
	struct entry entry;
	u64 now, clock, tick, device, irqs, random;
	u64 begin, end;			/* the guest ran last */
	u64 nr, nr_in, nr_guest;	/* events, those in the guest, those said to be */
};

/* Even over @mean, on average. */
static u64 run_random(struct run *run, u64 mean)
{
	run->random = run->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (run->random >> 33) % (2 * mean) + 1;
}

#define CLOCK_GAP 1000003ULL
#define TICK_GAP 4000000ULL

static u64 min_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The clock's event is served; @pc: the guest's; @in: the task is said to run a vCPU. */
static void serve_clock(struct run *run, u64 pc, bool in)
{
	const struct entry_event event = {
		.due = run->clock,
		.now = run->now + run->host->serve / 2,
		.pc = pc,
		.irqs = run->irqs,
		.last = run->host->device_first,
	};

	run->nr++;
	run->nr_in += run->clock > run->begin && run->clock <= run->end;
	run->nr_guest += in && entry_is_guests(&run->entry, &event);
	run->clock += CLOCK_GAP;
}

/* The CPU's timer interrupts: those timers are served that are due, in their order. */
static void serve_timer(struct run *run, u64 pc, bool in)
{
	run->irqs++;
	while (min_of(run->clock, run->tick) <= run->now) {
		if (run->clock <= run->tick)
			serve_clock(run, pc, in);
		else
			run->tick += TICK_GAP;
		run->now += run->host->serve;
	}
}

static void serve_device(struct run *run)
{
	run->irqs++;
	run->now += run->host->serve;
	run->device = run->now + run_random(run, run->host->device_gap);
}

/* Interrupts are on: all that wait are served. */
static void serve_all(struct run *run, u64 pc, bool in)
{
	for (;;) {
		bool timer = min_of(run->clock, run->tick) <= run->now;
		bool device = run->device <= run->now;

		if (device && (!timer || run->host->device_first))
			serve_device(run);
		else if (timer)
			serve_timer(run, pc, in);
		else
			break;
	}
}

/* From one entry to the next. */
static void run_once(struct run *run)
{
	u64 first, end, pc = PC + run_random(run, 100000) * 4;

	entry_note(&run->entry, pc, min_of(run->clock, run->tick), run->irqs, run->now);
	run->now += run->host->way_in;
	run->begin = run->now;
	first = min_of(min_of(run->clock, run->tick), run->device);
	if (first > run->now) {
		run->now = first;
		if (!run->host->circles)
			pc = PC + run_random(run, 100000) * 4;
	}
	run->end = run->now;
	run->now += run->host->way_out;
	serve_all(run, pc, true);
	for (end = run->now + run->host->with_irqs; run->now < end; run->now += 500)
		serve_all(run, pc, false);
	run->now += run->host->without;
}

/* Thousandths of the clock's events: those said to be the guest's, less those that are. */
static int run_for(const struct host *host, u64 ns)
{
	struct run run = {
		.host = host, .now = 1000, .clock = CLOCK_GAP, .tick = TICK_GAP, .irqs = 9,
	};

	run.device = run_random(&run, host->device_gap);
	while (run.now < ns)
		run_once(&run);
	assert_in_range(run.nr, 1000, UINT32_MAX);
	return (int)(1000 * run.nr_guest / run.nr) - (int)(1000 * run.nr_in / run.nr);
}

/*
 * As many events are said to be the guest's as come in it, whatever interrupts it, but for those
 * that come due on the way out behind another interrupt and before it is served. They look as if
 * they had ended guest mode.
 */
static void test_share(void **state)
{
	struct host host = {
		.way_in = 14000,
		.way_out = 16000,
		.serve = 25000,
		.with_irqs = 20000,
		.without = 12000,
	};

	(void)state;
	for (host.device_gap = 400000; host.device_gap < 30000000; host.device_gap *= 4) {
		for (int i = 0; i < 4; i++) {
			int behind = 1000 * host.way_out / host.device_gap;

			host.device_first = i & 1;
			host.circles = i & 2;
			assert_in_range(run_for(&host, 20000000000ULL) + 5, 0, behind + 10);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended_guest_mode),
		cmocka_unit_test(test_before),
		cmocka_unit_test(test_on_the_way_in),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_waited),
		cmocka_unit_test(test_second_clock),
		cmocka_unit_test(test_learn),
		cmocka_unit_test(test_take_back),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
