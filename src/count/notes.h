/* SPDX-License-Identifier: GPL-2.0-only */
/* What keeps figures from being there or from being whole. */
#ifndef COUNT_NOTES_H
#define COUNT_NOTES_H

#include "count/following.h"
#include "count/reader.h"

/* What the notes are made from. */
struct tally_findings {
	const struct capture_event *events;
	u32 nr_events;
	struct reader_facts facts;
	const tally_vms *vms;
};

/* Calls @fn with a line for each. */
void tally_notes_make(const struct tally_findings *findings,
		      void (*fn)(const char *text, void *arg), void *arg);

#endif
