/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a clock's event came in the guest, on hosts whose kernel does not say (arm64): by what a
 * CPU was about when it entered the guest. Compiled into BPF and user space.
 *
 * KVM has interrupts off from before it enters the guest to after it has left it. The timer of a
 * clock that comes due while they are off outside of the guest is served at the same place as one
 * that ended guest mode. But while the guest runs no interrupt waits: it ends guest mode at once.
 * Hence the first one that is served after an entry is the one that did so, or was there before.
 */
#ifndef BPF_ENTRY_H
#define BPF_ENTRY_H

#include "base/addr.h"

enum entry_verdict {
	ENTRY_OPEN,		/* no clock has been judged since */
	ENTRY_GUEST,
	ENTRY_HOST,
};

/* Of the last time that a vCPU was entered. Times are those of the monotonic clock, in ns. */
struct entry {
	u64 time;		/* 0: not seen yet */
	u64 pc;
	u64 timer;		/* when the CPU's timer is due; U64_MAX: not known */
	u64 irqs;		/* how many interrupts the CPU has served; 0: not known */
	u32 verdict;		/* enum entry_verdict */
	u32 pad;
	u64 reach;		/* of an event in the guest: from when it was due to its program */
	u64 served;		/* .irqs at that event */

	/* These outlive the entry. 0: not known. */
	u64 turn;		/* see entry_learn() */
	u64 least_reach;	/* see entry_take_back() */
};

/* What a clock's program finds. */
struct entry_event {
	u64 due;
	u64 now;
	u64 pc;			/* the guest's */
	u64 irqs;		/* with its own */
	/*
	 * Of interrupts that wait together the CPU serves that of a guest's timer before its own
	 * timer's. Not so on VHE hosts: there its own comes before all but those of other CPUs.
	 */
	u32 last;
};

static inline void entry_note(struct entry *self, u64 pc, u64 timer, u64 irqs, u64 now)
{
	self->pc = pc;
	self->timer = timer;
	self->irqs = irqs;
	self->verdict = ENTRY_OPEN;
	self->reach = 0;
	self->time = now;
}

/*
 * The guest's pc is where it was, or behind an instruction that KVM has emulated, which it steps
 * over at last. The guest has not run, or goes in a very small circle.
 */
static inline int entry_stands(const struct entry *self, const struct entry_event *event)
{
	return event->pc - self->pc <= 4;
}

/* Whether another interrupt than @event's was served before it. */
static inline int entry_is_second(const struct entry *self, const struct entry_event *event)
{
	return self->irqs && event->irqs - self->irqs > 1;
}

/*
 * How long it takes from the entry to a clock's program when the guest does not run in between: of
 * an event that waited before that is known. The shortest of late, so that one which was held up
 * does not count for much.
 */
static inline void entry_learn(struct entry *self, u64 turn)
{
	if (!self->turn || turn < self->turn)
		self->turn = turn;
	else
		self->turn += ((turn < 2 * self->turn ? turn : 2 * self->turn) - self->turn) / 16;
}

/*
 * Whether @event came due behind the exit: another timer was due before, or another interrupt was
 * served. Where that is served first though it came later, @event has also waited for it to be, and
 * so for longer than it takes on the way out alone.
 */
static inline int entry_is_behind(const struct entry *self, const struct entry_event *event)
{
	if (event->due > self->timer)
		return 1;
	if (!entry_is_second(self, event))
		return 0;
	return !event->last || event->now - event->due <= self->turn;
}

static inline u32 entry_judge(struct entry *self, const struct entry_event *event)
{
	u64 turn = event->now - self->time;

	if (event->due < self->time) {
		if (entry_stands(self, event) && !entry_is_second(self, event) &&
		    self->timer >= event->due)
			entry_learn(self, turn);
		return ENTRY_HOST;
	}
	if (entry_is_behind(self, event))
		return ENTRY_HOST;
	/* In the moment between the entry's time and the guest's first instruction. */
	if (entry_stands(self, event) && turn <= self->turn + self->turn / 8)
		return ENTRY_HOST;
	return ENTRY_GUEST;
}

/*
 * At the exit to user space, when the CPU has served @irqs: whether an event that was said to be
 * the guest's came due on the way out, behind an exit by another interrupt that was served after
 * it. If none was, beside the one that the kick is, the event itself has ended guest mode. The way
 * from there to its program has several lengths; one that came sooner than any such has not.
 */
static inline int entry_take_back(struct entry *self, u64 irqs)
{
	if (!self->reach)
		return 0;
	if (irqs - self->served > 1)
		return self->reach < self->least_reach;
	if (!self->least_reach || self->reach < self->least_reach)
		self->least_reach = self->reach;
	return 0;
}

/*
 * Whether @event came in the guest. The first clock after an entry decides for those behind it: a
 * second one of ours always comes in the time that the first one takes.
 */
static inline int entry_is_guests(struct entry *self, const struct entry_event *event)
{
	if (!self->time)
		return 1;
	if (self->verdict == ENTRY_OPEN) {
		self->verdict = entry_judge(self, event);
		if (self->verdict == ENTRY_GUEST) {
			self->reach = event->now - event->due;
			self->served = event->irqs;
		}
	}
	return self->verdict == ENTRY_GUEST;
}

#endif
