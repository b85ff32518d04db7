/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting a set of VMs. */
#include "count/tally.h"

#include "base/errors.h"
#include "count/notes.h"

struct tally {
	struct reader *reader;
	const struct capture_event *events;
	u32 nr_events;
	struct following following;
	u64 started, read, reported;	/* when, by the reader's clock */
};

static int start(struct tally *tally, const char **ret_why)
{
	const struct reader_ops *ops = tally->reader->ops;
	struct vm_list list = { VEC_INIT };
	int err;

	*ret_why = "the host's VMs cannot be read";
	err = ops->scan(tally->reader, &list);
	err = err ?: following_check(&tally->following, &list, ret_why);
	if (!err) {
		ops->prepare(tally->reader);
		*ret_why = "the vCPUs' threads cannot be counted";
		tally->started = tally->reported = ops->now(tally->reader);
		err = following_start(&tally->following, &list);
	}
	vm_list_deinit(&list);
	return err;
}

int tally_create(struct reader *reader, const struct following_choice *choice,
		 const struct capture_event *events, u32 nr_events, struct tally **ret,
		 const char **ret_why)
{
	_cleanup_(tally_destroy) struct tally *tally = calloc(1, sizeof(*tally));
	int err;

	*ret_why = "out of memory";
	if (!tally) {
		reader_destroy(reader);
		return -ENOMEM;
	}
	*tally = (struct tally){ .reader = reader, .events = events, .nr_events = nr_events };
	following_init(&tally->following, reader, nr_events, choice);
	err = start(tally, ret_why);
	if (!err)
		*ret = TAKE_PTR(tally);
	return err;
}

void tally_destroy(struct tally *tally)
{
	if (!tally)
		return;
	following_deinit(&tally->following);
	reader_destroy(tally->reader);
	free(tally);
}

/* That the process which was chosen has ended, with its VMs, is no error. */
int tally_follow(struct tally *tally)
{
	const struct following_choice *choice = &tally->following.choice;
	struct vm_list list = { VEC_INIT };
	int err;

	following_look(&tally->following);
	err = tally->reader->ops->scan(tally->reader, &list);
	if (err == -ESRCH && choice->pid)
		err = 0;
	err = err ?: following_update(&tally->following, &list);
	vm_list_deinit(&list);
	if (err)
		return err;
	return following_nr_vms(&tally->following) || choice->all ? 0 : -ESRCH;
}

int tally_read(struct tally *tally)
{
	tally->read = tally->reader->ops->now(tally->reader);
	return following_read(&tally->following);
}

int tally_restart(struct tally *tally)
{
	int err = tally_read(tally);

	err = err ?: following_restart(&tally->following);
	if (!err)
		tally->started = tally->reported = tally->read;
	return err;
}

int tally_report(struct tally *tally, bool interval, bool per_vcpu, struct tally_report *ret)
{
	int err = tally_report_make(&tally->following.vms, tally->nr_events, interval, per_vcpu,
				    ret);

	if (err)
		return err;
	ret->elapsed = tally->read - (interval ? tally->reported : tally->started);
	if (interval)
		tally->reported = tally->read;
	return 0;
}

void tally_notes(const struct tally *tally, void (*fn)(const char *text, void *arg), void *arg)
{
	struct tally_findings findings = {
		.events = tally->events,
		.nr_events = tally->nr_events,
		.vms = &tally->following.vms,
	};

	tally->reader->ops->facts(tally->reader, &findings.facts);
	tally_notes_make(&findings, fn, arg);
}
