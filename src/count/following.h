/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VMs and vCPUs that are counted, as they come and go. Of one that is gone the last figures
 * stay, for the sums.
 */
#ifndef COUNT_FOLLOWING_H
#define COUNT_FOLLOWING_H

#include "count/progress.h"
#include "count/reader.h"
#include "vm/vm.h"

struct tally_vcpu {
	struct vm_vcpu vcpu;
	struct counted_thread *thread;	/* NULL: it is gone */
	bool left;			/* its figures are final, its exits' reasons not yet read */
	struct progress progress;
};

struct tally_vm {
	char name[VM_NAME_LEN];
	char vmm[32];
	pid_t pid;
	u64 kvm;
	VEC(struct tally_vcpu *) vcpus;
	struct vm_vcpu_counters own;	/* of the guest's: as last seen */
	u32 most_failed;		/* of them at once, ever */
	bool gone;
};
typedef VEC(struct tally_vm *) tally_vms;

/* Which VMs: exactly one of these, or none for the only one there is. */
struct following_choice {
	pid_t pid;
	const char *name;
	bool all;		/* those that start later, too */
};

struct following {
	struct reader *reader;
	u32 nr_events;
	struct following_choice choice;
	tally_vms vms;
};

/* @reader and the name in @choice must outlive it. */
void following_init(struct following *self, struct reader *reader, u32 nr_events,
		    const struct following_choice *choice);
void following_deinit(struct following *self);

/*
 * Whether @list has what was chosen. -ENOENT: it has not; -EEXIST: it has several, and none was
 * named. *@ret_why, a constant, says it for the user.
 */
int following_check(const struct following *self, const struct vm_list *list,
		    const char **ret_why);

/* Takes those of @list that were chosen. */
int following_start(struct following *self, const struct vm_list *list);

/*
 * What has changed, by @list: vCPUs that came or went, VMs that went, and, if all are to be
 * counted, those that came. On an error some of it may be done.
 */
int following_update(struct following *self, const struct vm_list *list);

/* Reads all figures of all that are there. */
int following_read(struct following *self);

/*
 * Reads those that cannot be read when a thread has ended: all but the events and the reasons of
 * exits.
 */
void following_look(struct following *self);

/* What was counted so far is of before the beginning. */
int following_restart(struct following *self);

size_t following_nr_vms(const struct following *self);	/* that are there */

#endif
