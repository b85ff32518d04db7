/* SPDX-License-Identifier: GPL-2.0-only */
/* What keeps figures from being there or from being whole. */
#include "count/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/errors.h"
#include "capture/events.h"

struct note_sink {
	void (*fn)(const char *text, void *arg);
	void *arg;
};

static void __printf(2, 3) say(const struct note_sink *sink, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sink->fn(text, sink->arg);
}

static const char *mode_name(enum count_mode mode)
{
	return mode == COUNT_GUEST ? "in the guest" : "in the host";
}

/* Events that are not counted, each mode by itself unless both have the same reason. */
static void note_refused(const struct tally_findings *findings, const struct note_sink *sink)
{
	for (u32 i = 0; i < findings->nr_events; i++) {
		const struct capture_event *event = &findings->events[i];
		const int *errors = &findings->facts.errors[i * COUNT_NR_MODES];
		bool both = errors[0] == errors[1] && !event->guest_why;

		for (int mode = 0; mode < (both ? 1 : COUNT_NR_MODES); mode++) {
			if (!errors[mode])
				continue;
			say(sink, "%s is not counted%s%s: %s", event->name, both ? "" : " ",
			    both ? "" : mode_name(mode),
			    mode == COUNT_GUEST && event->guest_why ? event->guest_why :
			    event_is_hardware(event) ? event_refusal_text(errors[mode]) :
						       error_text(errors[mode]));
		}
	}
}

static void note_exits(const struct reader_facts *facts, const struct note_sink *sink)
{
	if (facts->no_reasons_why)
		say(sink, "guest time is the scheduler's, most often counted in ticks, and exits "
		    "are not told apart: %s", facts->no_reasons_why);
	if (facts->no_exits)
		say(sink, "exits are not counted: kvm:kvm_exit is not there");
	if (facts->lost_reasons)
		say(sink, "%llu exits are in no reason's count: there were too many reasons",
		    (unsigned long long)facts->lost_reasons);
}

static bool is_shared(const struct count *count)
{
	return count_share(count) < 99.95 || count->failed;
}

static bool any_shared(const struct tally_findings *findings)
{
	vec_for_each(findings->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			for (u32 i = 0; i < findings->nr_events * COUNT_NR_MODES; i++)
				if (is_shared(&(*vcpu)->progress.total.counts[i]))
					return true;
	return false;
}

static void note_sharing(const struct tally_findings *findings, const struct note_sink *sink)
{
	if (!any_shared(findings))
		return;
	say(sink, "counters were shared: figures with (NN.N%%) are scaled from that share of the "
	    "time; fewer events at once have more of it");
	if (findings->facts.watchdog)
		say(sink, "the NMI watchdog has a counter of every CPU: sysctl "
		    "kernel.nmi_watchdog=0 gives it back");
}

static void note_own_counters(const struct tally_findings *findings, const struct note_sink *sink)
{
	vec_for_each(findings->vms, vm) {
		const struct vm_vcpu_counters *own = &(*vm)->own;

		if ((*vm)->most_failed)
			say(sink, "guest %s uses counters of its own, and %u of %u have lost them "
			    "to the host: they stand still in the guest, which is not told",
			    (*vm)->name, (*vm)->most_failed, MAX(own->nr, (*vm)->most_failed));
		else if (own->nr)
			say(sink, "guest %s uses %u counters of its own, which compete with these",
			    (*vm)->name, own->nr);
	}
}

void tally_notes_make(const struct tally_findings *findings,
		      void (*fn)(const char *text, void *arg), void *arg)
{
	const struct note_sink sink = { fn, arg };

	note_refused(findings, &sink);
	note_exits(&findings->facts, &sink);
	note_sharing(findings, &sink);
	note_own_counters(findings, &sink);
}
