/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of all that recording takes works on this host, each tried rather than concluded from
 * versions, and why the rest does not.
 */
#ifndef CAPTURE_SELFCHECK_H
#define CAPTURE_SELFCHECK_H

#include "base/types.h"
#include "base/vec.h"
#include "vm/vm.h"

enum selfcheck_state {
	SELFCHECK_YES,
	SELFCHECK_NO,
	SELFCHECK_NONE,		/* neither: nothing to try, or only told */
};

struct selfcheck_result {
	char name[48];		/* "perf.cycles"; a guest's is "guest.NAME", the user's text */
	enum selfcheck_state state;
	char detail[256];	/* what was found, or why it does not work */
	const char *remedy;	/* what to do about it, a constant; NULL: nothing, or it is said */
};

struct selfcheck {
	VEC(struct selfcheck_result) results;
	int error;		/* -ENOMEM: results are missing */
};

void selfcheck_deinit(struct selfcheck *check);

/* Adds a result; the name may be cut. */
void selfcheck_add(struct selfcheck *check, const char *name, enum selfcheck_state state,
		   const char *remedy, const char *detail, ...) __printf(5, 6);

/*
 * Tries everything but the guests. @host is NULL where it could not be opened, and @host_why then
 * says why. The last result, "record", is whether recording works in some mode.
 */
void selfcheck_host(struct selfcheck *check, struct vm_host *host, const char *host_why);

/* One result for each VM that runs: in which mode it can be recorded, or why in none. */
void selfcheck_guests(struct selfcheck *check, struct vm_host *host);

/* NULL: not among them. */
const struct selfcheck_result *selfcheck_find(const struct selfcheck *check, const char *name);

#endif
