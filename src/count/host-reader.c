/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting on this host: it only asks; what comes of it is progress.c's. */
#include "count/host-reader.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "capture/events.h"
#include "capture/tracepoint.h"

struct counted_thread {
	pid_t pid;
	struct vm_vcpu vcpu;
	bool left;
	struct counter exits;		/* without BPF: kvm:kvm_exit */
	u32 nr_counters;
	struct counter counters[];	/* nr_events * COUNT_NR_MODES */
};

struct host_reader {
	struct reader reader;
	struct vm_host *host;
	struct host_reader_options options;
	struct proc proc;
	struct exits *exits;		/* NULL: without BPF */
	const char *exits_why;		/* why */
	struct capture_events exit_event;	/* kvm:kvm_exit, then */
	int *errors;
};

static struct host_reader *host_of(struct reader *reader)
{
	return container_of(reader, struct host_reader, reader);
}

static u64 host_now(struct reader *reader __maybe_unused)
{
	return clock_now_ns();
}

static int host_scan(struct reader *reader, struct vm_list *ret)
{
	struct host_reader *self = host_of(reader);

	return vm_host_scan(self->host, self->options.pid, ret);
}

/* Without BPF exits are counted by perf, all reasons together. */
static void host_prepare(struct reader *reader)
{
	struct host_reader *self = host_of(reader);
	const char *why;
	int err = -EOPNOTSUPP;

	self->exits_why = "it was asked to do without";
	if (!self->options.without_bpf)
		err = exits_open(tracefs_dir(), &self->exits, &self->exits_why);
	if (!err)
		return;
	self->exit_event.counting = true;
	if (capture_events_add(&self->exit_event, "kvm:kvm_exit", &why))
		log_debug("kvm:kvm_exit cannot be counted: %s", why ? why : "not there");
}

static void thread_close(struct counted_thread *thread)
{
	for (u32 i = 0; i < thread->nr_counters; i++)
		counter_close(&thread->counters[i]);
	counter_close(&thread->exits);
	free(thread);
}

static struct counted_thread *thread_create(const struct host_reader *self, pid_t pid,
					    const struct vm_vcpu *vcpu)
{
	u32 nr = self->options.nr_events * COUNT_NR_MODES;
	struct counted_thread *thread = calloc(1, sizeof(*thread) + nr * sizeof(struct counter));

	if (!thread)
		return NULL;
	thread->pid = pid;
	thread->vcpu = *vcpu;
	thread->exits = COUNTER_INIT;
	thread->nr_counters = nr;
	for (u32 i = 0; i < nr; i++)
		thread->counters[i] = COUNTER_INIT;
	return thread;
}

static int open_counter(struct host_reader *self, struct counted_thread *thread, u32 event,
			enum count_mode mode)
{
	u32 index = event * COUNT_NR_MODES + mode;
	struct counter *counter = &thread->counters[index];
	int err;

	if (count_way(&self->options.events[event], mode) != COUNT_BY_PERF)
		return 0;
	err = counter_open(&self->options.events[event], mode, thread->vcpu.tid, counter);
	if (!self->errors[index])
		self->errors[index] = counter->error;
	return err;
}

static int open_counters(struct host_reader *self, struct counted_thread *thread)
{
	int err = 0;

	for (u32 i = 0; i < self->options.nr_events && !err; i++)
		for (int mode = 0; mode < COUNT_NR_MODES && !err; mode++)
			err = open_counter(self, thread, i, mode);
	if (!err && self->exit_event.list.nr)
		err = counter_open(self->exit_event.list.data, COUNT_HOST, thread->vcpu.tid,
				   &thread->exits);
	if (!err && self->exits)
		err = exits_add_thread(self->exits, thread->vcpu.tid);
	return err;
}

static int host_start(struct reader *reader, pid_t pid, const struct vm_vcpu *vcpu,
		      struct counted_thread **ret)
{
	struct host_reader *self = host_of(reader);
	struct counted_thread *thread = thread_create(self, pid, vcpu);
	int err = thread ? open_counters(self, thread) : -ENOMEM;

	if (!err)
		*ret = thread;
	else if (thread)
		thread_close(thread);
	return err;
}

static void host_leave(struct reader *reader, struct counted_thread *thread)
{
	struct host_reader *self = host_of(reader);

	if (self->exits && !thread->left)
		exits_remove_thread(self->exits, thread->vcpu.tid);
	thread->left = true;
}

static void host_stop(struct reader *reader, struct counted_thread *thread,
		      const exit_reasons *reasons)
{
	struct host_reader *self = host_of(reader);

	host_leave(reader, thread);
	if (self->exits)
		exits_forget_reasons(self->exits, thread->vcpu.tid, reasons);
	thread_close(thread);
}

static void read_exits(struct host_reader *self, struct counted_thread *thread,
		       struct reading *reading)
{
	if (self->exits) {
		if (!exits_read_thread(self->exits, thread->vcpu.tid, reading->now,
				       &reading->exits))
			reading->has |= READING_HAS_EXITS;
		return;
	}
	counter_read(&thread->exits);
	reading->nr_exits = thread->exits.last.value;
	if (thread->exits.fd >= 0)
		reading->has |= READING_HAS_NR_EXITS;
}

static void host_read(struct reader *reader, struct counted_thread *thread, bool alive,
		      struct reading *ret)
{
	struct host_reader *self = host_of(reader);

	*ret = (struct reading){ .now = clock_now_ns() };
	read_exits(self, thread, ret);
	if (!thread_times_read(&self->proc, thread->pid, thread->vcpu.tid, &ret->times))
		ret->has |= READING_HAS_TIMES;
	if (alive && !vm_host_vcpu_halt(self->host, &thread->vcpu, &ret->halt))
		ret->has |= READING_HAS_HALT;
}

static void host_read_counts(struct reader *reader __maybe_unused, struct counted_thread *thread,
			     struct count *counts)
{
	for (u32 i = 0; i < thread->nr_counters; i++) {
		counter_read(&thread->counters[i]);
		counts[i] = thread->counters[i].last;
	}
}

static int host_for_each_reason(struct reader *reader, exit_reason_fn fn, void *arg)
{
	struct host_reader *self = host_of(reader);

	return self->exits ? exits_for_each_reason(self->exits, fn, arg) : 0;
}

static int host_own_counters(struct reader *reader, const struct vm_vcpu *vcpu,
			     struct vm_vcpu_counters *ret)
{
	return vm_host_vcpu_counters(host_of(reader)->host, vcpu, ret);
}

static bool watchdog_counts(void)
{
	_cleanup_free_ char *text = NULL;

	return !file_read(AT_FDCWD, "/proc/sys/kernel/nmi_watchdog", 16, &text, NULL) &&
	       text[0] == '1';
}

static void host_facts(struct reader *reader, struct reader_facts *ret)
{
	struct host_reader *self = host_of(reader);

	*ret = (struct reader_facts){
		.errors = self->errors,
		.no_reasons_why = self->exits ? NULL : self->exits_why,
		.no_exits = !self->exits && !self->exit_event.list.nr,
		.lost_reasons = self->exits ? exits_lost(self->exits) : 0,
		.watchdog = watchdog_counts(),
	};
}

static void host_destroy(struct reader *reader)
{
	struct host_reader *self = host_of(reader);

	exits_close(self->exits);
	capture_events_deinit(&self->exit_event);
	proc_close(&self->proc);
	free(self->errors);
	free(self);
}

static const struct reader_ops host_ops = {
	.now = host_now,
	.scan = host_scan,
	.prepare = host_prepare,
	.start = host_start,
	.leave = host_leave,
	.stop = host_stop,
	.read = host_read,
	.read_counts = host_read_counts,
	.for_each_reason = host_for_each_reason,
	.own_counters = host_own_counters,
	.facts = host_facts,
	.destroy = host_destroy,
};

int host_reader_create(struct vm_host *host, const struct host_reader_options *options,
		       struct reader **ret, const char **ret_why)
{
	struct host_reader *self = calloc(1, sizeof(*self));
	_cleanup_(reader_destroy) struct reader *reader = self ? &self->reader : NULL;
	int err;

	*ret_why = "out of memory";
	if (!self)
		return -ENOMEM;
	*self = (struct host_reader){
		.reader.ops = &host_ops, .host = host, .options = *options, .proc = PROC_INIT,
	};
	self->errors = calloc((size_t)options->nr_events * COUNT_NR_MODES + 1,
			      sizeof(*self->errors));
	if (!self->errors)
		return -ENOMEM;
	*ret_why = "/proc is not mounted";
	err = proc_open(&self->proc, "/proc");
	if (err)
		return err;
	*ret = TAKE_PTR(reader);
	return 0;
}
