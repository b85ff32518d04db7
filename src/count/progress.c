/* SPDX-License-Identifier: GPL-2.0-only */
/* How far one vCPU has come. */
#include "count/progress.h"

#include "base/errors.h"

int progress_init(struct progress *progress, u32 nr_events)
{
	int err;

	*progress = (struct progress){ 0 };
	err = tally_sums_init(&progress->total, nr_events);
	err = err ?: tally_sums_init(&progress->before, nr_events);
	err = err ?: tally_sums_init(&progress->reported, nr_events);
	if (err)
		progress_deinit(progress);
	return err;
}

void progress_deinit(struct progress *progress)
{
	tally_sums_deinit(&progress->total);
	tally_sums_deinit(&progress->before);
	tally_sums_deinit(&progress->reported);
}

static u32 known_by(const struct reading *reading)
{
	u32 known = 0;

	if (reading->has & READING_HAS_TIMES)
		known |= TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST;
	if (reading->has & READING_HAS_HALT)
		known |= TALLY_KNOWS_HALT;
	if (reading->has & READING_HAS_EXITS)
		known |= TALLY_KNOWS_GUEST | TALLY_KNOWS_EXITS | TALLY_KNOWS_REASONS;
	if (reading->has & READING_HAS_NR_EXITS)
		known |= TALLY_KNOWS_EXITS;
	return known;
}

void progress_begin(struct progress *progress, const struct reading *first)
{
	progress->since = first->now;
	progress->total.known = known_by(first);
	if (first->has & READING_HAS_TIMES)
		progress->first_times = first->times;
	if (first->has & READING_HAS_HALT) {
		progress->first_halt = halt_clock_update(&progress->halt_clock, &first->halt, 0,
							 first->now);
		progress->first_poll = first->halt.poll;
	}
}

static void take_exits(struct progress *progress, const struct reading *reading)
{
	struct tally_sums *total = &progress->total;

	if (reading->has & READING_HAS_NR_EXITS)
		total->exits = reading->nr_exits;
	if (!(reading->has & READING_HAS_EXITS))
		return;
	total->guest = MAX(total->guest, reading->exits.guest);
	total->exits = reading->exits.exits;
}

/* Where exits are seen, they say better than the scheduler how long the guest ran. */
static void take_times(struct progress *progress, const struct reading *reading)
{
	const struct thread_times *first = &progress->first_times;
	struct tally_sums *total = &progress->total;

	if (!(reading->has & READING_HAS_TIMES))
		return;
	total->run = reading->times.run - first->run;
	total->steal = reading->times.wait - first->wait;
	if (!(total->known & TALLY_KNOWS_REASONS))
		total->guest = reading->times.guest - first->guest;
}

static void take_halt(struct progress *progress, const struct reading *reading)
{
	struct tally_sums *total = &progress->total;
	u64 asleep = reading->has & READING_HAS_EXITS ? reading->exits.asleep : 0;

	if (!(total->known & TALLY_KNOWS_HALT) || !(reading->has & READING_HAS_HALT))
		return;
	total->halt = halt_clock_update(&progress->halt_clock, &reading->halt, asleep,
					reading->now) - progress->first_halt;
	total->halt = MIN(total->halt, reading->now - progress->since);
	total->poll = reading->halt.poll - progress->first_poll;
}

void progress_take(struct progress *progress, const struct reading *reading)
{
	take_exits(progress, reading);
	take_times(progress, reading);
	take_halt(progress, reading);
	progress->total.followed = reading->now - progress->since;
}

void progress_clear_reasons(struct progress *progress)
{
	progress->total.reasons.nr = 0;
}

int progress_add_reason(struct progress *progress, const struct exit_reason *reason)
{
	return exit_reasons_add(&progress->total.reasons, reason->reason, reason->detail,
				reason->nr);
}

/* Exits that came while we were reading are in both, so that the one is the sum of the other. */
void progress_end_reasons(struct progress *progress)
{
	u64 sum = 0;

	vec_for_each(&progress->total.reasons, reason)
		sum += reason->nr;
	progress->total.exits = MAX(progress->total.exits, sum);
}

static const struct tally_sums *mark_of(const struct progress *progress, bool interval)
{
	return interval ? &progress->reported : &progress->before;
}

bool progress_has_more(const struct progress *progress, bool interval)
{
	const struct tally_sums *mark = mark_of(progress, interval);

	return progress->total.followed != mark->followed || (!interval && !mark->followed);
}

int progress_add_to(const struct progress *progress, bool interval, u32 nr_events,
		    struct tally_sums *sums)
{
	struct tally_sums since;
	int err = tally_sums_init(&since, nr_events);

	err = err ?: tally_sums_since(&progress->total, mark_of(progress, interval), nr_events,
				      &since);
	err = err ?: tally_sums_add(sums, &since, nr_events);
	tally_sums_deinit(&since);
	return err;
}

int progress_mark(struct progress *progress, bool interval, u32 nr_events)
{
	struct tally_sums *mark = interval ? &progress->reported : &progress->before;
	struct tally_sums next;
	int err = tally_sums_init(&next, nr_events);

	err = err ?: tally_sums_add(&next, &progress->total, nr_events);
	if (err) {
		tally_sums_deinit(&next);
		return err;
	}
	tally_sums_deinit(mark);
	*mark = next;
	return 0;
}
