/* SPDX-License-Identifier: GPL-2.0-only */
/* Adding up what was counted. */
#include "count/sums.h"

#include <string.h>

#include "base/errors.h"
#include "capture/events.h"

int tally_sums_init(struct tally_sums *sums, u32 nr_events)
{
	*sums = (struct tally_sums){ 0 };
	sums->counts = calloc((size_t)nr_events * COUNT_NR_MODES + 1, sizeof(*sums->counts));
	return sums->counts ? 0 : -ENOMEM;
}

void tally_sums_deinit(struct tally_sums *sums)
{
	free(sums->counts);
	sums->counts = NULL;
	vec_deinit(&sums->reasons);
}

struct count *tally_count(const struct tally_sums *sums, u32 event, enum count_mode mode)
{
	return &sums->counts[event * COUNT_NR_MODES + mode];
}

/* What is in it from the start: nothing, of which all is known. */
static bool is_empty(const struct tally_sums *sums)
{
	return !sums->followed && !sums->known;
}

int tally_sums_add(struct tally_sums *sums, const struct tally_sums *other, u32 nr_events)
{
	int err = 0;

	sums->known = is_empty(sums) ? other->known : sums->known & other->known;
	for (u32 i = 0; i < nr_events * COUNT_NR_MODES; i++)
		count_add(&sums->counts[i], &other->counts[i]);
	sums->followed += other->followed;
	sums->run += other->run;
	sums->steal += other->steal;
	sums->guest += other->guest;
	sums->halt += other->halt;
	sums->poll += other->poll;
	sums->exits += other->exits;
	for (size_t i = 0; i < other->reasons.nr && !err; i++) {
		const struct exit_reason *reason = &other->reasons.data[i];

		err = exit_reasons_add(&sums->reasons, reason->reason, reason->detail, reason->nr);
	}
	return err;
}

static u64 nr_of(const exit_reasons *reasons, const struct exit_reason *wanted)
{
	vec_for_each(reasons, reason) {
		if (reason->reason == wanted->reason && reason->detail == wanted->detail)
			return reason->nr;
	}
	return 0;
}

static int reasons_since(const exit_reasons *now, const exit_reasons *before, exit_reasons *ret)
{
	int err = 0;

	for (size_t i = 0; i < now->nr && !err; i++) {
		const struct exit_reason *reason = &now->data[i];
		u64 nr = count_grown(reason->nr, nr_of(before, reason));

		if (nr)
			err = exit_reasons_add(ret, reason->reason, reason->detail, nr);
	}
	return err;
}

/* A halt that began before we looked is told of when it ends: it is no longer than the time is. */
int tally_sums_since(const struct tally_sums *now, const struct tally_sums *before, u32 nr_events,
		     struct tally_sums *ret)
{
	for (u32 i = 0; i < nr_events * COUNT_NR_MODES; i++)
		ret->counts[i] = count_since(&now->counts[i], &before->counts[i]);
	ret->followed = count_grown(now->followed, before->followed);
	ret->run = count_grown(now->run, before->run);
	ret->steal = count_grown(now->steal, before->steal);
	ret->guest = count_grown(now->guest, before->guest);
	ret->halt = MIN(count_grown(now->halt, before->halt), ret->followed);
	ret->poll = MIN(count_grown(now->poll, before->poll), ret->followed);
	ret->exits = count_grown(now->exits, before->exits);
	ret->known = now->known;
	return reasons_since(&now->reasons, &before->reasons, &ret->reasons);
}

/* A clock in the guest is the time there; in the host what the thread ran besides. */
static struct count time_value(const struct tally_sums *sums, enum count_mode mode)
{
	struct count count = { .value = sums->guest };
	u32 needed = TALLY_KNOWS_GUEST | (mode == COUNT_HOST ? TALLY_KNOWS_SCHED : 0);

	count.unsupported = (sums->known & needed) != needed;
	if (mode == COUNT_HOST)
		count.value = count_grown(sums->run, sums->guest);
	count.on = count.counted = sums->followed;
	return count;
}

struct count tally_value(const struct tally_sums *sums, const struct capture_event *events,
			 u32 event, enum count_mode mode)
{
	switch (count_way(&events[event], mode)) {
	case COUNT_BY_PERF:
		return *tally_count(sums, event, mode);
	case COUNT_BY_TIME:
		return time_value(sums, mode);
	default:
		return (struct count){ .unsupported = true };
	}
}
