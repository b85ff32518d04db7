/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VMs could not be followed. */
#include "engine/refusals.h"

static struct refusal *find(struct refusals *refusals, u64 kvm, pid_t pid)
{
	vec_for_each(&refusals->list, refusal)
		if (refusal->kvm == kvm && refusal->pid == pid)
			return refusal;
	return NULL;
}

bool refusals_note(struct refusals *refusals, u64 kvm, pid_t pid, unsigned int rounds)
{
	struct refusal *refusal = find(refusals, kvm, pid);

	if (!refusal) {
		if (vec_push(&refusals->list, (struct refusal){ .kvm = kvm, .pid = pid }))
			return false;
		refusal = &refusals->list.data[refusals->list.nr - 1];
	}
	if (!refusal->noted)
		refusal->times++;
	refusal->noted = true;
	if (refusal->told || refusal->times < rounds)
		return false;
	refusal->told = true;
	return true;
}

void refusals_next_round(struct refusals *refusals)
{
	size_t kept = 0;

	vec_for_each(&refusals->list, refusal) {
		if (!refusal->noted)
			continue;
		refusal->noted = false;
		refusals->list.data[kept++] = *refusal;
	}
	refusals->list.nr = kept;
}

void refusals_deinit(struct refusals *refusals)
{
	vec_deinit(&refusals->list);
}
