/* SPDX-License-Identifier: GPL-2.0-only */
/* What became of every event of one recording. */
#include "engine/accounting.h"

bool chain_has_unverified(const struct chain *chain)
{
	for (u32 i = 0; i < chain->nr; i++)
		if (chain->frames[i].flags & FRAME_F_UNVERIFIED)
			return true;
	return false;
}

void accounting_add(struct accounting *accounting, const struct sample *sample,
		    const struct chain *chain)
{
	u32 flags = sample->wire->flags;
	unsigned int stop = chain_stop(chain);

	accounting->samples++;
	if (flags & WIRE_F_USER) {
		accounting->user++;
		accounting->from_user[stop]++;
	} else {
		accounting->from_kernel[stop]++;
	}
	accounting->changed += chain->changed;
	accounting->moved += !!(flags & WIRE_F_MOVED);
	accounting->no_task += !(flags & WIRE_F_TASK);
	accounting->unverified += chain_has_unverified(chain);
}

void accounting_sum(struct accounting *accounting, const struct accounting *other)
{
	for (unsigned int i = 0; i < STOP_NR; i++) {
		accounting->from_kernel[i] += other->from_kernel[i];
		accounting->from_user[i] += other->from_user[i];
	}
	accounting->samples += other->samples;
	accounting->user += other->user;
	accounting->changed += other->changed;
	accounting->moved += other->moved;
	accounting->unverified += other->unverified;
	accounting->no_task += other->no_task;
	accounting->no_memory += other->no_memory;
}

u64 accounting_complete(const struct accounting *accounting)
{
	return accounting->from_kernel[STOP_COMPLETE] + accounting->from_user[STOP_COMPLETE];
}

static u64 total(const struct accounting *accounting, unsigned int reason)
{
	return accounting->from_kernel[reason] + accounting->from_user[reason];
}

void accounting_reasons(const struct accounting *accounting, struct strbuf *out)
{
	bool shown[STOP_NR] = { [STOP_COMPLETE] = true };

	for (;;) {
		unsigned int best = STOP_COMPLETE;
		u64 most = 0;

		for (unsigned int i = 0; i < STOP_NR; i++) {
			if (shown[i] || total(accounting, i) <= most)
				continue;
			best = i;
			most = total(accounting, i);
		}
		if (!most)
			return;
		strbuf_addf(out, "%s%s %llu", out->len ? ", " : "", stop_reason_text(best),
			    (unsigned long long)most);
		shown[best] = true;
	}
}

u64 accounting_lost(const struct capture_counts *counts)
{
	return counts->lost_ring + counts->lost_pending + counts->lost_signal + counts->lost_exit +
	       counts->lost_stop + counts->lost_kernel;
}

static const struct {
	const char *text;
	size_t offset;
} skipped[] = {
	{ "not in the guest", offsetof(struct capture_counts, host) },
	{ "in a mode that the event excludes", offsetof(struct capture_counts, filtered) },
	{ "lost: ring buffer full", offsetof(struct capture_counts, lost_ring) },
	{ "lost: the one before was pending", offsetof(struct capture_counts, lost_pending) },
	{ "lost: kick failed", offsetof(struct capture_counts, lost_signal) },
	{ "lost: no exit before the end", offsetof(struct capture_counts, lost_exit) },
	{ "lost: not stopped in the guest", offsetof(struct capture_counts, lost_stop) },
	{ "lost: by the host's kernel", offsetof(struct capture_counts, lost_kernel) },
	{ "unknown vCPU", offsetof(struct capture_counts, unknown_vcpu) },
};

static unsigned long long skipped_count(const struct capture_counts *counts, size_t i)
{
	return *(const u64 *)((const char *)counts + skipped[i].offset);
}

void accounting_sum_text(const struct capture_counts *counts, struct strbuf *out)
{
	strbuf_addf(out, "%llu events = %llu samples", (unsigned long long)counts->events,
		    (unsigned long long)counts->samples);
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		if (skipped_count(counts, i))
			strbuf_addf(out, " + %llu %s", skipped_count(counts, i), skipped[i].text);
}

static void write_stops(const char *from, const u64 *stops, struct strbuf *out)
{
	for (unsigned int i = 0; i < STOP_NR; i++)
		if (stops[i])
			strbuf_addf(out, "chains from %s, %s: %llu\n", from, stop_reason_text(i),
				    (unsigned long long)stops[i]);
}

void accounting_write(const struct accounting *accounting, const struct capture_counts *counts,
		      struct strbuf *out)
{
	const struct {
		const char *text;
		u64 value;
	} marks[] = {
		{ "guest memory changed under the walk", accounting->changed },
		{ "registers later than the event", accounting->moved },
		{ "chains with an unchecked return address", accounting->unverified },
		{ "samples without a guest task", accounting->no_task },
		{ "samples whose process did not fit into memory", accounting->no_memory },
	};

	strbuf_addf(out, "events: %llu\nsamples: %llu\n", (unsigned long long)counts->events,
		    (unsigned long long)counts->samples);
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		if (skipped_count(counts, i))
			strbuf_addf(out, "%s: %llu\n", skipped[i].text, skipped_count(counts, i));
	write_stops("the kernel", accounting->from_kernel, out);
	write_stops("user mode", accounting->from_user, out);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (marks[i].value)
			strbuf_addf(out, "%s: %llu\n", marks[i].text,
				    (unsigned long long)marks[i].value);
}
