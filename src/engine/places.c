/* SPDX-License-Identifier: GPL-2.0-only */
/* Chains of what is not the guest's own system. */
#include "engine/places.h"

#include <linux/perf_event.h>

#include "perfdata/place.h"

/* A sample of another vCPU may come later and be older. */
#define SLACK_NS 500000000ULL

/* The reason for which @chain is the one frame of a place; else STOP_NONE. */
static enum stop_reason place_of(const struct chain *chain)
{
	enum stop_reason stop = chain_stop(chain);

	return chain->nr == 1 && stop_reason_place(stop) ? stop : STOP_NONE;
}

static int write_place(struct places *places, struct perfdata_writer *writer, unsigned int place,
		       u64 time)
{
	const struct perfdata_ksymbol ksymbol = {
		.start = perfdata_place_address(place, 0),
		.len = PERFDATA_PLACE_BYTES,
		.name = stop_reason_place(place),
		.time = time > SLACK_NS ? time - SLACK_NS : time,
	};

	if (places->written >> place & 1)
		return 0;
	places->written |= 1U << place;
	return perfdata_writer_ksymbol(writer, &ksymbol);
}

/* What will have a name once the kernel is known: its own address stays. */
static bool may_be_named(enum stop_reason place, u64 pc)
{
	return place == STOP_NO_KERNEL && pc >> 63;
}

int places_lay_out(struct places *places, struct perfdata_writer *writer,
		   const struct wire_sample *wire, const struct chain *chain, u64 *ips,
		   u32 *ret_nr)
{
	enum stop_reason place = place_of(chain);
	bool named = may_be_named(place, wire->regs.pc);
	u32 nr = 0;

	if (place != STOP_NONE) {
		int err = write_place(places, writer, place, wire->time);

		if (err)
			return err;
		ips[nr++] = PERF_CONTEXT_KERNEL;
		if (named)
			ips[nr++] = wire->regs.pc;
		ips[nr++] = perfdata_place_address(place, named ? 0 : wire->regs.pc);
	}
	*ret_nr = nr;
	return 0;
}
