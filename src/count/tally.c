/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting a set of VMs. */
#include "count/tally.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "capture/events.h"
#include "capture/tracepoint.h"
#include "count/times.h"

struct tally_vcpu {
	struct vm_vcpu vcpu;
	struct counter *counters;	/* nr_events * COUNT_NR_MODES */
	struct counter exits;		/* without BPF: kvm:kvm_exit */
	struct halt_clock halt_clock;
	u64 since;			/* when we began to follow it */
	struct thread_times first_times;
	u64 first_halt, first_poll;
	struct tally_sums total;		/* since then */
	struct tally_sums reported;	/* of that, what is in reports of intervals */
	bool gone;
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

struct tally {
	struct vm_host *host;
	struct tally_options options;
	struct proc proc;
	struct exits *exits;		/* NULL: without BPF */
	const char *exits_why;		/* why */
	struct capture_events exit_event;	/* kvm:kvm_exit, then */
	VEC(struct tally_vm *) vms;
	u64 started, read, reported;	/* ns */
	int *errors;			/* of each event and mode, the first; 0: none */
};

static void close_counters(const struct tally *tally, struct tally_vcpu *vcpu)
{
	for (u32 i = 0; vcpu->counters && i < tally->options.nr_events * COUNT_NR_MODES; i++)
		counter_close(&vcpu->counters[i]);
	counter_close(&vcpu->exits);
}

static void vcpu_destroy(const struct tally *tally, struct tally_vcpu *vcpu)
{
	if (!vcpu)
		return;
	close_counters(tally, vcpu);
	free(vcpu->counters);
	tally_sums_deinit(&vcpu->total);
	tally_sums_deinit(&vcpu->reported);
	free(vcpu);
}

static void vm_free(const struct tally *tally, struct tally_vm *vm)
{
	vec_for_each(&vm->vcpus, vcpu)
		vcpu_destroy(tally, *vcpu);
	vec_deinit(&vm->vcpus);
	free(vm);
}

static int open_counter(struct tally *tally, struct tally_vcpu *vcpu, u32 event,
			enum count_mode mode)
{
	u32 index = event * COUNT_NR_MODES + mode;
	struct counter *counter = &vcpu->counters[index];
	int err;

	if (count_way(&tally->options.events[event], mode) != COUNT_BY_PERF)
		return 0;
	err = counter_open(&tally->options.events[event], mode, vcpu->vcpu.tid, counter);
	if (!tally->errors[index])
		tally->errors[index] = counter->error;
	return err;
}

static int open_counters(struct tally *tally, struct tally_vcpu *vcpu)
{
	int err = 0;

	for (u32 i = 0; i < tally->options.nr_events && !err; i++)
		for (int mode = 0; mode < COUNT_NR_MODES && !err; mode++)
			err = open_counter(tally, vcpu, i, mode);
	if (!err && tally->exit_event.list.nr)
		err = counter_open(tally->exit_event.list.data, COUNT_HOST, vcpu->vcpu.tid,
				   &vcpu->exits);
	return err;
}

/* Where the kernel's own sums stand as we begin. */
static void read_first(struct tally *tally, const struct tally_vm *vm, struct tally_vcpu *vcpu)
{
	struct vm_vcpu_halt halt;

	vcpu->since = clock_now_ns();
	if (!thread_times_read(&tally->proc, vm->pid, vcpu->vcpu.tid, &vcpu->first_times))
		vcpu->total.known |= TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST;
	if (!vm_host_vcpu_halt(tally->host, &vcpu->vcpu, &halt)) {
		vcpu->total.known |= TALLY_KNOWS_HALT;
		vcpu->first_halt = halt_clock_update(&vcpu->halt_clock, &halt, 0, vcpu->since);
		vcpu->first_poll = halt.poll;
	}
	if (tally->exits)
		vcpu->total.known |= TALLY_KNOWS_GUEST | TALLY_KNOWS_EXITS | TALLY_KNOWS_REASONS;
	else if (vcpu->exits.fd >= 0)
		vcpu->total.known |= TALLY_KNOWS_EXITS;
}

static int vcpu_start(struct tally *tally, const struct tally_vm *vm, struct tally_vcpu *vcpu)
{
	u32 nr = tally->options.nr_events * COUNT_NR_MODES;
	int err = tally_sums_init(&vcpu->total, tally->options.nr_events);

	err = err ?: tally_sums_init(&vcpu->reported, tally->options.nr_events);
	vcpu->counters = calloc(nr + 1, sizeof(*vcpu->counters));
	if (err || !vcpu->counters)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		vcpu->counters[i] = COUNTER_INIT;
	err = open_counters(tally, vcpu);
	if (!err && tally->exits)
		err = exits_add_thread(tally->exits, vcpu->vcpu.tid);
	if (!err)
		read_first(tally, vm, vcpu);
	return err;
}

static int add_vcpu(struct tally *tally, struct tally_vm *vm, const struct vm_vcpu *found)
{
	struct tally_vcpu *vcpu = calloc(1, sizeof(*vcpu));
	int err;

	if (!vcpu)
		return -ENOMEM;
	vcpu->vcpu = *found;
	vcpu->exits = COUNTER_INIT;
	err = vcpu_start(tally, vm, vcpu);
	err = err ?: vec_push(&vm->vcpus, vcpu);
	if (err)
		vcpu_destroy(tally, vcpu);
	return err == -ESRCH ? 0 : err;
}

static void read_counters(const struct tally *tally, struct tally_vcpu *vcpu)
{
	for (u32 i = 0; i < tally->options.nr_events * COUNT_NR_MODES; i++) {
		counter_read(&vcpu->counters[i]);
		vcpu->total.counts[i] = vcpu->counters[i].last;
	}
}

/* Returns when the thread last went to sleep; 0: not known. */
static u64 read_exits(struct tally *tally, struct tally_vcpu *vcpu, u64 now)
{
	struct exit_times times;

	if (!tally->exits) {
		counter_read(&vcpu->exits);
		vcpu->total.exits = vcpu->exits.last.value;
		return 0;
	}
	if (exits_read_thread(tally->exits, vcpu->vcpu.tid, now, &times))
		return 0;
	vcpu->total.guest = MAX(vcpu->total.guest, times.guest);
	vcpu->total.exits = times.exits;
	return times.asleep;
}

static void read_times(struct tally *tally, const struct tally_vm *vm, struct tally_vcpu *vcpu)
{
	struct thread_times times;

	if (thread_times_read(&tally->proc, vm->pid, vcpu->vcpu.tid, &times))
		return;
	vcpu->total.run = times.run - vcpu->first_times.run;
	vcpu->total.steal = times.wait - vcpu->first_times.wait;
	if (!tally->exits)
		vcpu->total.guest = times.guest - vcpu->first_times.guest;
}

static void read_halt(struct tally *tally, struct tally_vcpu *vcpu, u64 asleep, u64 now)
{
	struct vm_vcpu_halt halt;

	if (!(vcpu->total.known & TALLY_KNOWS_HALT) ||
	    vm_host_vcpu_halt(tally->host, &vcpu->vcpu, &halt))
		return;
	vcpu->total.halt = halt_clock_update(&vcpu->halt_clock, &halt, asleep, now) -
			   vcpu->first_halt;
	vcpu->total.halt = MIN(vcpu->total.halt, now - vcpu->since);
	vcpu->total.poll = halt.poll - vcpu->first_poll;
}

/* All but the counters. @alive: its struct kvm_vcpu is still there. */
static void read_kernel(struct tally *tally, const struct tally_vm *vm, struct tally_vcpu *vcpu,
			bool alive)
{
	u64 now = clock_now_ns(), asleep;

	asleep = read_exits(tally, vcpu, now);
	read_times(tally, vm, vcpu);
	if (alive)
		read_halt(tally, vcpu, asleep, now);
	vcpu->total.followed = now - vcpu->since;
}

static void read_vcpu(struct tally *tally, const struct tally_vm *vm, struct tally_vcpu *vcpu,
		      bool alive)
{
	read_counters(tally, vcpu);
	read_kernel(tally, vm, vcpu, alive);
}

static struct tally_vcpu *vcpu_of_thread(const struct tally *tally, pid_t tid)
{
	vec_for_each(&tally->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			if (!(*vcpu)->gone && (*vcpu)->vcpu.tid == tid)
				return *vcpu;
	return NULL;
}

static int on_reason(pid_t tid, const struct exit_reason *reason, void *arg)
{
	const struct tally *tally = arg;
	struct tally_vcpu *vcpu = vcpu_of_thread(tally, tid);

	return vcpu ? exit_reasons_add(&vcpu->total.reasons, reason->reason, reason->detail,
				       reason->nr) : 0;
}

/* Exits that came while we were reading are in both, so that the one is the sum of the other. */
static void match_exits(struct tally_vcpu *vcpu)
{
	u64 sum = 0;

	vec_for_each(&vcpu->total.reasons, reason)
		sum += reason->nr;
	vcpu->total.exits = MAX(vcpu->total.exits, sum);
}

/* All threads' at once: the kernel has one table for all. */
static int read_reasons(struct tally *tally)
{
	int err;

	if (!tally->exits)
		return 0;
	vec_for_each(&tally->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			if (!(*vcpu)->gone)
				(*vcpu)->total.reasons.nr = 0;
	err = exits_for_each_reason(tally->exits, on_reason, tally);
	vec_for_each(&tally->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			if (!(*vcpu)->gone)
				match_exits(*vcpu);
	return err;
}

/* The perf events behind the guest's own counters, which compete with ours. */
static void look_at_own_counters(struct tally *tally, struct tally_vm *vm)
{
	struct vm_vcpu_counters sum = { 0 };

	vec_for_each(&vm->vcpus, vcpu) {
		struct vm_vcpu_counters own;

		if ((*vcpu)->gone || vm_host_vcpu_counters(tally->host, &(*vcpu)->vcpu, &own))
			continue;
		sum.nr += own.nr;
		sum.failed += own.failed;
		sum.enabled += own.enabled;
		sum.running += own.running;
	}
	if (sum.nr)
		vm->own = sum;
	vm->most_failed = MAX(vm->most_failed, sum.failed);
}

int tally_read(struct tally *tally)
{
	tally->read = clock_now_ns();
	vec_for_each(&tally->vms, vm) {
		if ((*vm)->gone)
			continue;
		vec_for_each(&(*vm)->vcpus, vcpu)
			if (!(*vcpu)->gone)
				read_vcpu(tally, *vm, *vcpu, true);
		look_at_own_counters(tally, *vm);
	}
	return read_reasons(tally);
}

static bool has_vcpu(const struct vm *vm, const struct vm_vcpu *wanted)
{
	vec_for_each(&vm->vcpus, vcpu)
		if (vcpu->tid == wanted->tid && vcpu->kvm_vcpu == wanted->kvm_vcpu)
			return true;
	return false;
}

static bool follows(const struct tally_vm *vm, const struct vm_vcpu *wanted)
{
	vec_for_each(&vm->vcpus, vcpu)
		if (!(*vcpu)->gone && (*vcpu)->vcpu.tid == wanted->tid &&
		    (*vcpu)->vcpu.kvm_vcpu == wanted->kvm_vcpu)
			return true;
	return false;
}

static void drop_vcpu(struct tally *tally, struct tally_vcpu *vcpu)
{
	if (tally->exits)
		exits_remove_thread(tally->exits, vcpu->vcpu.tid, &vcpu->total.reasons);
	close_counters(tally, vcpu);
	vcpu->gone = true;
}

/* @found NULL: the VM is gone. */
static bool has_left(const struct tally_vcpu *vcpu, const struct vm *found)
{
	return !vcpu->gone && (!found || !has_vcpu(found, &vcpu->vcpu));
}

/*
 * Drops those that have left; their last figures stay. The reasons of all are read once, before
 * those of these are forgotten.
 */
static int drop_vcpus(struct tally *tally, const struct tally_vm *vm, const struct vm *found)
{
	bool any = false;
	int err;

	vec_for_each(&vm->vcpus, vcpu) {
		if (!has_left(*vcpu, found))
			continue;
		read_vcpu(tally, vm, *vcpu, false);
		any = true;
	}
	if (!any)
		return 0;
	err = read_reasons(tally);
	vec_for_each(&vm->vcpus, vcpu)
		if (has_left(*vcpu, found))
			drop_vcpu(tally, *vcpu);
	return err;
}

/* @found NULL: the VM is gone. */
static int update_vcpus(struct tally *tally, struct tally_vm *vm, const struct vm *found)
{
	int err = drop_vcpus(tally, vm, found);

	for (size_t i = 0; found && i < found->vcpus.nr && !err; i++) {
		const struct vm_vcpu *vcpu = &found->vcpus.data[i];

		if (vcpu->tid && !follows(vm, vcpu))
			err = add_vcpu(tally, vm, vcpu);
	}
	return err;
}

static bool is_wanted(const struct tally *tally, const struct vm *vm)
{
	if (tally->options.name)
		return !strcmp(vm->name, tally->options.name);
	return !tally->options.pid || vm->pid == tally->options.pid;
}

static struct tally_vm *find_vm(const struct tally *tally, const struct vm *found)
{
	vec_for_each(&tally->vms, vm)
		if (!(*vm)->gone && (*vm)->kvm == found->kvm && (*vm)->pid == found->pid)
			return *vm;
	return NULL;
}

static int add_vm(struct tally *tally, const struct vm *found, struct tally_vm **ret)
{
	struct tally_vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	memcpy(vm->name, found->name, sizeof(vm->name));
	memcpy(vm->vmm, found->vmm, sizeof(vm->vmm));
	vm->pid = found->pid;
	vm->kvm = found->kvm;
	err = vec_push(&tally->vms, vm);
	if (err)
		free(vm);
	else
		*ret = vm;
	return err;
}

static bool is_in(const struct vm_list *list, const struct tally_vm *vm)
{
	vec_for_each(&list->vms, found)
		if ((*found)->kvm == vm->kvm && (*found)->pid == vm->pid)
			return true;
	/* One that changed faster than it could be read is there for all that. */
	vec_for_each(&list->unread, unread)
		if (unread->kvm == vm->kvm && unread->pid == vm->pid)
			return true;
	return false;
}

static int drop_gone(struct tally *tally, const struct vm_list *list)
{
	int err = 0;

	vec_for_each(&tally->vms, vm) {
		if (err || (*vm)->gone || is_in(list, *vm))
			continue;
		err = update_vcpus(tally, *vm, NULL);
		(*vm)->gone = true;
	}
	return err;
}

/* What is new is taken only with @more: without -a the set is what it was at the beginning. */
static int take(struct tally *tally, const struct vm_list *list, bool more)
{
	int err = 0;

	for (size_t i = 0; i < list->vms.nr && !err; i++) {
		const struct vm *found = list->vms.data[i];
		struct tally_vm *vm = find_vm(tally, found);

		if (!vm && (!more || !is_wanted(tally, found)))
			continue;
		err = vm ? 0 : add_vm(tally, found, &vm);
		err = err ?: update_vcpus(tally, vm, found);
	}
	return err;
}

size_t tally_nr_vms(const struct tally *tally)
{
	size_t nr = 0;

	vec_for_each(&tally->vms, vm)
		nr += !(*vm)->gone;
	return nr;
}

/* Counters can be read when their thread has ended. Of the rest there is what was read before. */
static void look_again(struct tally *tally)
{
	vec_for_each(&tally->vms, vm) {
		if ((*vm)->gone)
			continue;
		vec_for_each(&(*vm)->vcpus, vcpu)
			if (!(*vcpu)->gone)
				read_kernel(tally, *vm, *vcpu, true);
		look_at_own_counters(tally, *vm);
	}
}

int tally_follow(struct tally *tally)
{
	struct vm_list list = { VEC_INIT };
	int err;

	look_again(tally);
	err = vm_host_scan(tally->host, tally->options.pid, &list);
	if (err == -ESRCH && tally->options.pid)
		err = 0;
	err = err ?: drop_gone(tally, &list);
	err = err ?: take(tally, &list, tally->options.all);
	vm_list_deinit(&list);
	if (err)
		return err;
	return tally_nr_vms(tally) || tally->options.all ? 0 : -ESRCH;
}

static int check_choice(const struct tally *tally, const struct vm_list *list, const char **ret_why)
{
	size_t nr = 0;

	vec_for_each(&list->vms, vm)
		nr += is_wanted(tally, *vm);
	*ret_why = tally->options.name ? "no guest has that name (see kvmprof list)" :
		   tally->options.pid ? "that process runs no KVM guest" :
				       "no KVM guest runs on this host";
	if (!nr && !tally->options.all)
		return -ENOENT;
	*ret_why = "several guests run here: choose with --vm, -p or -a (see kvmprof list)";
	if (nr > 1 && !tally->options.all && !tally->options.pid)
		return -EEXIST;
	return 0;
}

/* Without BPF exits are counted by perf, all reasons together. */
static void open_exits(struct tally *tally)
{
	const char *why;
	int err = -EOPNOTSUPP;

	tally->exits_why = "it was asked to do without";
	if (!tally->options.without_bpf)
		err = exits_open(tracefs_dir(), &tally->exits, &tally->exits_why);
	if (!err)
		return;
	tally->exit_event.counting = true;
	if (capture_events_add(&tally->exit_event, "kvm:kvm_exit", &why))
		log_debug("kvm:kvm_exit cannot be counted: %s", why ? why : "not there");
}

static int start(struct tally *tally, const char **ret_why)
{
	struct vm_list list = { VEC_INIT };
	int err;

	*ret_why = "/proc is not mounted";
	err = proc_open(&tally->proc, "/proc");
	if (err)
		return err;
	*ret_why = "the host's VMs cannot be read";
	err = vm_host_scan(tally->host, tally->options.pid, &list);
	err = err ?: check_choice(tally, &list, ret_why);
	if (!err) {
		open_exits(tally);
		*ret_why = "the vCPUs' threads cannot be counted";
		tally->started = tally->reported = clock_now_ns();
		err = take(tally, &list, true);
	}
	vm_list_deinit(&list);
	return err;
}

int tally_create(struct vm_host *host, const struct tally_options *options, struct tally **ret,
		const char **ret_why)
{
	_cleanup_(tally_destroy) struct tally *tally = calloc(1, sizeof(*tally));
	int err;

	*ret_why = "out of memory";
	if (!tally)
		return -ENOMEM;
	tally->host = host;
	tally->options = *options;
	tally->proc = PROC_INIT;
	tally->errors = calloc((size_t)options->nr_events * COUNT_NR_MODES + 1,
			      sizeof(*tally->errors));
	if (!tally->errors)
		return -ENOMEM;
	err = start(tally, ret_why);
	if (!err)
		*ret = TAKE_PTR(tally);
	return err;
}

void tally_destroy(struct tally *tally)
{
	if (!tally)
		return;
	vec_for_each(&tally->vms, vm)
		vm_free(tally, *vm);
	vec_deinit(&tally->vms);
	exits_close(tally->exits);
	capture_events_deinit(&tally->exit_event);
	proc_close(&tally->proc);
	free(tally->errors);
	free(tally);
}

static int add_row(struct tally_report *report, const struct tally_vm *vm, s64 vcpu, u32 nr_events,
		   struct tally_row **ret)
{
	struct tally_row row = {
		.name = vm->name, .vmm = vm->vmm, .pid = vm->pid, .vcpu = vcpu,
	};
	int err = tally_sums_init(&row.sums, nr_events);

	err = err ?: vec_push(&report->rows, row);
	if (err)
		tally_sums_deinit(&row.sums);
	else
		*ret = &report->rows.data[report->rows.nr - 1];
	return err;
}

/* The row of the VM or the vCPU, the VM's rows being those from @first on. */
static int row_for(struct tally_report *report, size_t first, const struct tally_vm *vm, s64 vcpu,
		   u32 nr_events, struct tally_row **ret)
{
	for (size_t i = first; i < report->rows.nr; i++) {
		if (report->rows.data[i].vcpu == vcpu) {
			*ret = &report->rows.data[i];
			return 0;
		}
	}
	return add_row(report, vm, vcpu, nr_events, ret);
}

/* A vCPU's part of a report; one of an interval that it did not see is none. */
static int add_part(struct tally *tally, struct tally_vcpu *vcpu, bool interval,
		    struct tally_row *row)
{
	u32 nr = tally->options.nr_events;
	struct tally_sums since = { 0 }, next = { 0 };
	int err;

	if (!interval)
		return tally_sums_add(&row->sums, &vcpu->total, nr);
	err = tally_sums_init(&since, nr);
	err = err ?: tally_sums_since(&vcpu->total, &vcpu->reported, nr, &since);
	err = err ?: tally_sums_add(&row->sums, &since, nr);
	tally_sums_deinit(&since);
	err = err ?: tally_sums_init(&next, nr);
	err = err ?: tally_sums_add(&next, &vcpu->total, nr);
	if (err) {
		tally_sums_deinit(&next);
		return err;
	}
	tally_sums_deinit(&vcpu->reported);
	vcpu->reported = next;
	return 0;
}

static int report_vm(struct tally *tally, const struct tally_vm *vm, bool interval, bool per_vcpu,
		     struct tally_report *report)
{
	size_t first = report->rows.nr;
	int err = 0;

	for (size_t i = 0; i < vm->vcpus.nr && !err; i++) {
		struct tally_vcpu *vcpu = vm->vcpus.data[i];
		struct tally_row *row;

		if (interval && vcpu->total.followed == vcpu->reported.followed)
			continue;
		err = row_for(report, first, vm, per_vcpu ? (s64)vcpu->vcpu.id : -1,
			      tally->options.nr_events, &row);
		if (err)
			break;
		row->nr_vcpus++;
		err = add_part(tally, vcpu, interval, row);
	}
	return err;
}

void tally_report_deinit(struct tally_report *report)
{
	vec_for_each(&report->rows, row)
		tally_sums_deinit(&row->sums);
	vec_deinit(&report->rows);
}

int tally_report(struct tally *tally, bool interval, bool per_vcpu, struct tally_report *ret)
{
	struct tally_report report = { VEC_INIT };
	int err = 0;

	report.elapsed = tally->read - (interval ? tally->reported : tally->started);
	for (size_t i = 0; i < tally->vms.nr && !err; i++)
		err = report_vm(tally, tally->vms.data[i], interval, per_vcpu, &report);
	vec_for_each(&report.rows, row)
		exit_reasons_sort(&row->sums.reasons);
	if (err) {
		tally_report_deinit(&report);
		return err;
	}
	if (interval)
		tally->reported = tally->read;
	*ret = report;
	return 0;
}

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
static void note_refused(const struct tally *tally, const struct note_sink *sink)
{
	for (u32 i = 0; i < tally->options.nr_events; i++) {
		const struct capture_event *event = &tally->options.events[i];
		const int *errors = &tally->errors[i * COUNT_NR_MODES];
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

static void note_sources(const struct tally *tally, const struct note_sink *sink)
{
	u64 lost = tally->exits ? exits_lost(tally->exits) : 0;

	if (!tally->exits) {
		say(sink, "guest time is the scheduler's, most often counted in ticks, and exits "
		    "are not told apart: %s", tally->exits_why);
		if (!tally->exit_event.list.nr)
			say(sink, "exits are not counted: kvm:kvm_exit is not there");
	}
	if (lost)
		say(sink, "%llu exits are in no reason's count: there were too many reasons",
		    (unsigned long long)lost);
}

static bool any_shared(const struct tally *tally)
{
	u32 nr = tally->options.nr_events * COUNT_NR_MODES;

	vec_for_each(&tally->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			for (u32 i = 0; i < nr; i++)
				if (count_share(&(*vcpu)->total.counts[i]) < 99.95 ||
				    (*vcpu)->total.counts[i].failed)
					return true;
	return false;
}

static bool watchdog_counts(void)
{
	_cleanup_free_ char *text = NULL;

	return !file_read(AT_FDCWD, "/proc/sys/kernel/nmi_watchdog", 16, &text, NULL) &&
	       text[0] == '1';
}

static void note_sharing(const struct tally *tally, const struct note_sink *sink)
{
	if (!any_shared(tally))
		return;
	say(sink, "counters were shared: figures with (NN.N%%) are scaled from that share of the "
	    "time; fewer events at once have more of it");
	if (watchdog_counts())
		say(sink, "the NMI watchdog has a counter of every CPU: sysctl "
		    "kernel.nmi_watchdog=0 gives it back");
}

static void note_own_counters(const struct tally *tally, const struct note_sink *sink)
{
	vec_for_each(&tally->vms, vm) {
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

void tally_notes(const struct tally *tally, void (*fn)(const char *text, void *arg), void *arg)
{
	const struct note_sink sink = { fn, arg };

	note_refused(tally, &sink);
	note_sources(tally, &sink);
	note_sharing(tally, &sink);
	note_own_counters(tally, &sink);
}
