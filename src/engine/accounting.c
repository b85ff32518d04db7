/* SPDX-License-Identifier: GPL-2.0-only */
/* What became of every event of one recording. */
#include "engine/accounting.h"

static bool has_unverified(const struct chain *chain)
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
	accounting->unverified += has_unverified(chain);
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
	accounting->bad_records += other->bad_records;
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
