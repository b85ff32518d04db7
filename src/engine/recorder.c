/* SPDX-License-Identifier: GPL-2.0-only */
/* Recording live guests. */
#include "engine/recorder.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/worker.h"
#include "engine/output-path.h"
#include "engine/recording.h"
#include "engine/refusals.h"
#include "mem/process.h"

#define RESTART_NS 3000000000ULL	/* a guest that boots another kernel is waited for */
#define RESCAN_NS 500000000ULL		/* how soon a new vCPU, slot or VM is noticed */
#define RESCAN_SOON_NS 100000000ULL	/* the same of what is waited for to start */
#define IDENTIFY_RETRY_NS 1000000000ULL	/* a guest that boots has no kernel yet */
#define IDENTIFY_SOON_NS 50000000ULL	/* one that runs in its kernel's half may have it now */
#define REFRESH_NS 1000000000ULL	/* module lists are not read more often */
#define NOTE_LOST_NS 200000000ULL	/* how soon a file tells of events that were lost */
#define END_WAIT_NS 10000000000ULL	/* for files of this host at the end */
#define PATIENCE 4			/* rescans before a VM that came meanwhile is given up */
#define NR_PEEKS 8			/* vCPUs that are asked for the guest's kernel */
#define MAX_KERNELS 32			/* that one VM may boot: each is a file, and a place */

/* One VM that is or was recorded. Its place in the array is the wire records' vm index. */
struct target {
	struct vm *vm;			/* as last seen; owned */
	struct mem_process *mem;
	struct recording *recording;
	char *path;
	u64 next_identify, next_refresh;	/* ns */
	u64 next_identify_sample;		/* the same, by the registers of a sample */
	u64 next_identify_half, identify_wait;	/* the same, in the kernel's half */
	const char *why_unknown;	/* constant: why no kernel was identified the last time */
	bool configured;		/* capture knows the kernel's tasks */
	bool behind;			/* capture does not have the VM's newest state */
	bool gone;			/* the VM ended; the file is finished */
	bool finished;			/* the file stands under its name */
	int error;
	u64 bytes;			/* once finished */
};

struct recorder {
	struct vm_host *host;
	struct recorder_options options;
	struct capture *capture;
	enum capture_mode mode;
	const char *mode_why;
	bool several;			/* files carry the VM's name */
	struct worker *loader, *fetcher;	/* outlive the targets; .fetcher NULL: no servers */
	bool stuck;				/* they have not ended at the end */
	VEC(struct target *) targets;
	struct refusals refused;	/* VMs that are not recorded */
	struct refusals behind;		/* targets whose newest state capture does not have */
	u64 next_rescan;
	u64 restart_until;		/* ns; 0: no guest is expected back */
	u64 next_note_lost;
	int error;
};

static void target_destroy(struct target *target)
{
	if (!target)
		return;
	recording_destroy(target->recording);
	mem_process_close(target->mem);
	vm_destroy(target->vm);
	free(target->path);
	free(target);
}

/* A guest that booted another kernel has more than one, and so have VMs of one name. */
static int choose_path(const struct recorder *recorder, const struct vm *vm, char **ret)
{
	_cleanup_free_ const char **paths = calloc(recorder->targets.nr + 1, sizeof(*paths));
	struct output_paths taken = { paths, 0 };

	if (!paths)
		return -ENOMEM;
	vec_for_each(&recorder->targets, target)
		paths[taken.nr++] = (*target)->path;
	return output_path_choose(recorder->options.path, recorder->several ? vm->name : NULL,
				  &taken, ret);
}

static int create_recording(struct recorder *recorder, struct target *target)
{
	struct recording_options options = {
		.path = target->path,
		.name = target->vm->name,
		.kernels = recorder->options.kernels,
		.symcache = recorder->options.symcache,
		.sources = recorder->options.sources,
		.servers = recorder->options.servers,
		.loader = recorder->loader,
		.fetcher = recorder->fetcher,
		.elf = recorder->options.elf,
		.cmdline = recorder->options.cmdline,
		.events = recorder->options.capture.events,
		.nr_events = recorder->options.capture.nr_events,
		.max_depth = recorder->options.capture.max_depth,
		.nr_vcpus = target->vm->vcpus.nr,
		.memory = target->vm->memory,
	};

	return recording_create(mem_process_reader(target->mem), &options, &target->recording);
}

/* Tells capture what the guest's kernel looks like, once it is known. */
static void configure(struct recorder *recorder, u32 index)
{
	struct target *target = recorder->targets.data[index];
	struct wire_guest config;

	guest_capture_config(recording_guest(target->recording), &config);
	target->configured = config.valid;
	capture_set_guest(recorder->capture, index, &config);
}

/* Looks for the guest's kernel through what its vCPUs last ran. */
static void identify(struct recorder *recorder, u32 index)
{
	struct target *target = recorder->targets.data[index];
	const char *why = "no vCPU has run yet";
	struct vcpu_regs regs;
	size_t nr = MIN(target->vm->vcpus.nr, (size_t)NR_PEEKS);
	int err = -ENOENT;

	target->next_identify = clock_now_ns() + IDENTIFY_RETRY_NS;
	for (size_t i = 0; i < nr && err; i++) {
		err = vm_host_peek_regs(recorder->host, &target->vm->vcpus.data[i], &regs);
		if (!err)
			err = recording_identify(target->recording, &regs, &why);
	}
	target->why_unknown = why;
	if (err)
		log_debug("guest %s: kernel not identified: %s (%s)", target->vm->name, why,
			  error_text(err));
	/* Known it may be for all that: then what failed was to write of it. */
	if (guest_kernel(recording_guest(target->recording))->os != GUEST_OS_UNKNOWN)
		configure(recorder, index);
}

/* A target for @vm, which it borrows until add_target() is done with it. */
static int make_target(struct recorder *recorder, struct vm *vm, struct target **ret,
		       const char **ret_why)
{
	struct target *target = calloc(1, sizeof(*target));
	int err;

	*ret_why = "out of memory";
	if (!target)
		return -ENOMEM;
	target->vm = vm;
	*ret_why = "the guest's memory cannot be read";
	err = choose_path(recorder, vm, &target->path);
	if (!err)
		err = mem_process_open(vm->pid, vm->start_time, &vm->slots, &target->mem);
	if (!err) {
		*ret_why = "the recording cannot be written (see -o)";
		err = create_recording(recorder, target);
	}
	if (!err)
		err = vec_push(&recorder->targets, target);
	if (err) {
		target->vm = NULL;
		target_destroy(target);
		return err;
	}
	*ret = target;
	return 0;
}

/* Takes *@vm over; on failure it is still the caller's, and @ret_why says what did not work. */
static int add_target(struct recorder *recorder, struct vm **vm, const char **ret_why)
{
	u32 index = recorder->targets.nr;
	struct target *target;
	int err = make_target(recorder, *vm, &target, ret_why);

	if (err)
		return err;
	*ret_why = "the guest's vCPUs cannot be followed";
	err = capture_set_vm(recorder->capture, index, *vm);
	if (err) {
		recorder->targets.nr--;
		target->vm = NULL;
		target_destroy(target);
		return err;
	}
	*vm = NULL;
	identify(recorder, index);
	return 0;
}

/*
 * A signal that a VMM has no handler for ends it, if not one that cannot have any. So what was
 * asked for is taken only for those that catch it. Task work ends KVM_RUN with EINTR, which those
 * are known to go on after that are kicked by a signal; others may take it for an error.
 */
static void take_kick(const struct recorder *recorder, struct vm *vm)
{
	bool task_work = recorder->options.capture.task_work;
	int number = recorder->options.kick_signal;

	if (number > 0)
		vm->kick_signal = vm->caught_signals >> (number - 1) & 1 ? number : 0;
	else if (number == VM_KICK_WORK || (vm->kick_signal && task_work))
		vm->kick_signal = task_work ? VM_KICK_WORK : 0;
}

static int scan(struct recorder *recorder, struct vm_list *ret)
{
	int err = vm_host_scan(recorder->host, recorder->options.pid, ret);

	if (err)
		return err;
	vec_for_each(&ret->vms, vm)
		take_kick(recorder, *vm);
	return 0;
}

static bool wanted(const struct recorder *recorder, const struct vm *vm)
{
	const struct recorder_options *options = &recorder->options;

	if (options->name)
		return !strcmp(vm->name, options->name);
	return !options->pid || vm->pid == options->pid;
}

/* One that waits for a migration, or was made paused, has vCPUs that have never run. */
static bool has_run(const struct vm *vm)
{
	vec_for_each(&vm->vcpus, vcpu)
		if (vcpu->tid)
			return true;
	return false;
}

static struct target *find_target(const struct recorder *recorder, const struct vm *vm,
				  u32 *ret_index)
{
	for (size_t i = 0; i < recorder->targets.nr; i++) {
		struct target *target = recorder->targets.data[i];

		if (!target->gone && target->vm->kvm == vm->kvm && target->vm->pid == vm->pid) {
			*ret_index = i;
			return target;
		}
	}
	return NULL;
}

/* How often it has booted another kernel, each of which is a recording: see restart(). */
static unsigned int nr_kernels(const struct recorder *recorder, const struct vm *vm)
{
	unsigned int nr = 0;

	vec_for_each(&recorder->targets, target)
		nr += (*target)->vm->kvm == vm->kvm && (*target)->vm->pid == vm->pid;
	return nr;
}

/* Whether @vm can be recorded in the mode in use. */
static int check_vm(const struct recorder *recorder, const struct vm *vm, const char **ret_why)
{
	enum capture_mode mode = recorder->mode;

	if (nr_kernels(recorder, vm) >= MAX_KERNELS) {
		*ret_why = "it boots one kernel after the other";
		return -E2BIG;
	}
	if (mode == CAPTURE_DEFERRED && recorder->options.kick_signal && !vm->kick_signal) {
		bool work = recorder->options.kick_signal == VM_KICK_WORK;

		*ret_why = work ? "the host kernel has no task work for BPF (Linux 7.0)" :
				  "this VMM does not catch that signal, which would end it";
		return work ? -EOPNOTSUPP : -EPERM;
	}
	return capture_probe_vm(vm, mode, ret_why);
}

static void tell(const struct recorder *recorder, const struct recorder_notice *notice)
{
	if (recorder->options.on_notice)
		recorder->options.on_notice(notice, recorder->options.notice_arg);
}

/* Stopping the threads works with any VMM, where it works at all. */
static enum capture_mode mode_instead(const struct recorder *recorder, const struct vm *vm)
{
	const char *why;

	if (recorder->mode == CAPTURE_PTRACE || !check_vm(recorder, vm, &why) ||
	    capture_probe(recorder->host, vm, CAPTURE_PTRACE, &why))
		return CAPTURE_AUTO;
	return CAPTURE_PTRACE;
}

/* Adds *@vm, or tells of it when that has failed @rounds times. */
static int try_target(struct recorder *recorder, struct vm **vm, unsigned int rounds,
		      const char **ret_why)
{
	int err = check_vm(recorder, *vm, ret_why);

	if (!err)
		err = add_target(recorder, vm, ret_why);
	/* One of many may have ended since it was found. */
	if (!err || err == -ESRCH)
		return err;
	log_debug("guest %s: %s: %s", (*vm)->name, *ret_why, error_text(err));
	if (refusals_note(&recorder->refused, (*vm)->kvm, (*vm)->pid, rounds))
		tell(recorder, &(struct recorder_notice){
			.name = (*vm)->name,
			.why = *ret_why,
			.error = err,
			.instead = mode_instead(recorder, *vm),
		});
	return err;
}

/* VMs whose name is not known, and may not be the one that was asked for. */
static void tell_unread(struct recorder *recorder, const struct vm_list *list, unsigned int rounds)
{
	if (recorder->options.name)
		return;
	vec_for_each(&list->unread, unread) {
		char name[32];

		if (unread->error == -EAGAIN ||
		    !refusals_note(&recorder->refused, unread->kvm, unread->pid, rounds))
			continue;
		snprintf(name, sizeof(name), "of process %d", unread->pid);
		tell(recorder, &(struct recorder_notice){
			.name = name,
			.why = "its state cannot be read",
			.error = unread->error,
		});
	}
}

static int finish_target(struct recorder *recorder, u32 index)
{
	struct target *target = recorder->targets.data[index];
	struct capture_counts counts;

	if (target->finished || target->error)
		return target->error;
	capture_get_vm_counts(recorder->capture, index, &counts);
	target->bytes = recording_bytes(target->recording);
	target->error = recording_finish(target->recording, &counts);
	target->finished = !target->error;
	return target->error;
}

/* The VM or its kernel is no more. What the result needs stays. */
static void end_target(struct recorder *recorder, u32 index)
{
	struct target *target = recorder->targets.data[index];

	target->gone = true;
	capture_remove_vm(recorder->capture, index);
	finish_target(recorder, index);
	recording_stop_loading(target->recording);
	mem_process_close(TAKE_PTR(target->mem));
}

static bool same_vcpus(const struct vm *a, const struct vm *b)
{
	return a->vcpus.nr == b->vcpus.nr &&
	       !memcmp(a->vcpus.data, b->vcpus.data, a->vcpus.nr * sizeof(*a->vcpus.data));
}

/* Takes the VM's new state over; capture hears of it when something differs. */
static int update_target(struct recorder *recorder, u32 index, struct vm *vm)
{
	struct target *target = recorder->targets.data[index];
	bool changed = target->behind || target->vm->slots.generation != vm->slots.generation ||
		       !same_vcpus(target->vm, vm);
	int err;

	vm_destroy(target->vm);
	target->vm = vm;
	if (!changed)
		return 0;
	mem_process_set_slots(target->mem, &vm->slots);
	err = capture_set_vm(recorder->capture, index, vm);
	target->behind = err;
	return err;
}

/* Whether the VM of @target still runs; one that could not be read does. */
static bool is_there(const struct vm_list *list, const struct target *target)
{
	vec_for_each(&list->vms, vm)
		if (*vm && (*vm)->kvm == target->vm->kvm && (*vm)->pid == target->vm->pid)
			return true;
	vec_for_each(&list->unread, unread)
		if (unread->kvm == target->vm->kvm)
			return true;
	return false;
}

static void drop_gone(struct recorder *recorder, const struct vm_list *list)
{
	for (size_t i = 0; i < recorder->targets.nr; i++) {
		struct target *target = recorder->targets.data[i];

		if (!target->gone && !is_there(list, target))
			end_target(recorder, i);
	}
}

/* One file holds one kernel: finishes this one, and the next rescan opens another. */
static void restart(struct recorder *recorder, u32 index)
{
	struct target *target = recorder->targets.data[index];

	log_debug("guest %s booted another kernel: %s is complete", target->vm->name,
		  target->path);
	end_target(recorder, index);
	recorder->next_rescan = 0;
	recorder->restart_until = clock_now_ns() + RESTART_NS;
}

/* Follows what became of a target. */
static void follow_target(struct recorder *recorder, u32 index, struct vm *vm)
{
	int err = update_target(recorder, index, vm);

	if (!err || err == -ESRCH)
		return;
	log_debug("guest %s: its new state cannot be followed: %s", vm->name, error_text(err));
	if (refusals_note(&recorder->behind, vm->kvm, vm->pid, PATIENCE))
		tell(recorder, &(struct recorder_notice){
			.name = vm->name,
			.why = "its new vCPUs or memory cannot be followed",
			.error = err,
			.partly = true,
		});
}

/*
 * Whether @vm, which is no target, shall be one: with -a each; another kernel of a VM that is or
 * was one; by name also the VM that goes on elsewhere on this host, after a migration or a restart
 * of its VMM.
 */
static bool follows(const struct recorder *recorder, const struct vm *vm)
{
	const struct recorder_options *options = &recorder->options;

	return options->all || nr_kernels(recorder, vm) ||
	       (options->name && wanted(recorder, vm) && has_run(vm));
}

static void follow_list(struct recorder *recorder, struct vm_list *list)
{
	vec_for_each(&list->vms, place) {
		const char *why;
		u32 index;

		if (find_target(recorder, *place, &index))
			follow_target(recorder, index, TAKE_PTR(*place));
		else if (follows(recorder, *place))
			try_target(recorder, place, PATIENCE, &why);
	}
	tell_unread(recorder, list, PATIENCE);
	refusals_next_round(&recorder->refused);
	refusals_next_round(&recorder->behind);
}

/* A VM that is asked for and not there, or that has never run: its first steps shall be seen. */
static bool expects_start(const struct recorder *recorder)
{
	if (recorder->options.wait && !recorder->targets.nr)
		return true;
	vec_for_each(&recorder->targets, target)
		if (!(*target)->gone && !has_run((*target)->vm))
			return true;
	return false;
}

static u64 rescan_wait(const struct recorder *recorder)
{
	return expects_start(recorder) ? RESCAN_SOON_NS : RESCAN_NS;
}

/* Brings targets and capture up to what runs now. */
static int rescan(struct recorder *recorder)
{
	struct vm_list list = { 0 };
	int err;

	recorder->next_rescan = clock_now_ns() + rescan_wait(recorder);
	err = scan(recorder, &list);
	if (err == -EAGAIN)
		return 0;	/* VMs come and go faster than we look: next time, then */
	if (err == -ESRCH)
		err = 0;	/* the VMM ended: the empty list says so */
	if (err)
		return err;
	drop_gone(recorder, &list);
	follow_list(recorder, &list);
	vm_list_deinit(&list);
	return 0;
}

static int no_vm(const struct recorder_options *options, const char **ret_why)
{
	if (options->name)
		*ret_why = "no running VM has that name (see `kvmprof list`)";
	else if (options->pid)
		*ret_why = "that process runs no KVM guest (see `kvmprof list`)";
	else
		*ret_why = "no KVM guest is running";
	return -ESRCH;
}

/* Of several of one name those that run are meant; the others are followed when they do. */
static void drop_waiting(struct vm_list *list)
{
	size_t running = 0, nr = 0;

	vec_for_each(&list->vms, vm)
		running += has_run(*vm);
	for (size_t i = 0; running && i < list->vms.nr; i++) {
		struct vm *vm = list->vms.data[i];

		if (has_run(vm))
			list->vms.data[nr++] = vm;
		else
			vm_destroy(vm);
	}
	if (running)
		list->vms.nr = nr;
}

/* Keeps of @list what was asked for, and refuses what cannot be recorded. */
static int select_vms(struct recorder *recorder, struct vm_list *list, const char **ret_why)
{
	const struct recorder_options *options = &recorder->options;
	size_t nr = 0;

	for (size_t i = 0; i < list->vms.nr; i++) {
		struct vm *vm = list->vms.data[i];

		if (!wanted(recorder, vm)) {
			vm_destroy(vm);
			continue;
		}
		if (vm->confidential && !options->all) {
			*ret_why = vm->confidential_kind;
			while (i < list->vms.nr)
				vm_destroy(list->vms.data[i++]);
			list->vms.nr = nr;
			return -EPERM;
		}
		list->vms.data[nr++] = vm;
	}
	list->vms.nr = nr;
	if (options->name)
		drop_waiting(list);
	nr = list->vms.nr;
	if (!nr && options->wait)
		return 0;
	if (!nr && !options->all && list->unread.nr) {
		*ret_why = "the guest's state cannot be read";
		return list->unread.data[0].error;
	}
	if (!nr && !options->all)
		return no_vm(options, ret_why);
	if (nr > 1 && !options->all && !options->pid) {
		*ret_why = "several match: choose with -p, --vm or -a (see `kvmprof list`)";
		return -EINVAL;
	}
	recorder->several = options->all || nr > 1;
	return 0;
}

/* The mode that the first VM for which there is one has; without any, the host's. */
static int choose_auto(struct recorder *recorder, const struct vm_list *list,
		       const char **ret_why)
{
	int err = -ENOENT;

	vec_for_each(&list->vms, vm) {
		err = capture_choose(recorder->host, *vm, &recorder->mode, ret_why);
		if (!err)
			break;
	}
	if (err && (!list->vms.nr || recorder->options.all))
		err = capture_choose(recorder->host, NULL, &recorder->mode, ret_why);
	if (!err)
		recorder->mode_why = *ret_why;
	return err;
}

/* One mode for all. With -a what keeps a VM from it is that VM's matter. */
static int choose_mode(struct recorder *recorder, const struct vm_list *list,
		       const char **ret_why)
{
	const struct recorder_options *options = &recorder->options;
	bool alone = list->vms.nr && !options->all;
	int err;

	if (options->capture.mode == CAPTURE_AUTO)
		return choose_auto(recorder, list, ret_why);
	recorder->mode = options->capture.mode;
	recorder->mode_why = "as asked";
	err = alone ? check_vm(recorder, list->vms.data[0], ret_why) : 0;
	return err ? err : capture_probe(recorder->host, NULL, recorder->mode, ret_why);
}

/*
 * Whether the registers may lead to a kernel that has just begun: then it is looked for more often
 * at first, so that little of its start has no chains.
 */
static bool is_kernels_half(const struct wire_sample *wire)
{
	if (wire->regs.arch == VCPU_ARCH_ARM64)
		return wire->regs.arm64.vbar >> 63;
	return wire->regs.x86.lstar >> 63 || (!wire->regs.user && wire->regs.pc >> 63);
}

/* Whether it is time to look for a kernel, by registers in the kernel's half or not. */
static bool identify_is_due(struct target *target, bool half)
{
	u64 now = clock_now_ns();
	u64 *due = half ? &target->next_identify_half : &target->next_identify_sample;
	u64 wait = IDENTIFY_RETRY_NS;

	if (now < *due)
		return false;
	if (half) {
		wait = MAX(target->identify_wait, IDENTIFY_SOON_NS);
		target->identify_wait = MIN(2 * wait, IDENTIFY_RETRY_NS);
	}
	*due = now + wait;
	return true;
}

/*
 * Intel keeps registers where we cannot peek at them: those that are in memory may be too old to
 * lead to a kernel. A sample's are of its moment. Firmware's lead to none.
 */
static void identify_by_sample(struct recorder *recorder, u32 index, const struct sample *sample)
{
	struct target *target = recorder->targets.data[index];
	const char *why;

	/* The clock last: mostly the kernel is known, and there is nothing to do. */
	if (guest_kernel(recording_guest(target->recording))->os != GUEST_OS_UNKNOWN ||
	    sample->wire->flags & (WIRE_F_NESTED | WIRE_F_SMM))
		return;
	if (!identify_is_due(target, is_kernels_half(sample->wire)))
		return;
	if (!recording_identify(target->recording, &sample->wire->regs, &why))
		configure(recorder, index);
}

static void on_sample(const struct sample *sample, void *arg)
{
	struct recorder *recorder = arg;
	u32 index = sample->wire->vm;
	struct target *target;
	int err;

	if (index >= recorder->targets.nr)
		return;
	target = recorder->targets.data[index];
	if (target->finished || target->error)
		return;
	identify_by_sample(recorder, index, sample);
	err = recording_add(target->recording, sample);
	if (err) {
		target->error = err;
		recorder->error = recorder->error ? recorder->error : err;
	}
}

static int open_capture(struct recorder *recorder, const char **ret_why)
{
	struct capture_options options = recorder->options.capture;

	options.mode = recorder->mode;
	return capture_create(recorder->host, &options, on_sample, recorder, &recorder->capture,
			      ret_why);
}

/* To look at one guest can take seconds; Ctrl-C shall not wait for all of them. */
static int check_cancelled(const struct recorder *recorder)
{
	return recorder->options.cancelled && recorder->options.cancelled() ? -EINTR : 0;
}

/* Without -a: all that was asked for, or nothing. */
static int add_asked(struct recorder *recorder, struct vm_list *list, const char **ret_why)
{
	vec_for_each(&list->vms, place) {
		int err = check_cancelled(recorder);

		if (!err)
			err = check_vm(recorder, *place, ret_why);
		if (!err)
			err = add_target(recorder, place, ret_why);
		if (err)
			return err;
	}
	return 0;
}

/*
 * With -a: what can be recorded, now and later. When none of the VMs can for a reason that is not
 * the VM's own, nor will those be that come later.
 */
static int add_all(struct recorder *recorder, struct vm_list *list, const char **ret_why)
{
	int first = 0;

	vec_for_each(&list->vms, place) {
		const char *why;
		bool fit = !check_vm(recorder, *place, &why);
		int err;

		if (check_cancelled(recorder))
			return -EINTR;
		err = try_target(recorder, place, 1, &why);
		if (err && err != -ESRCH && fit && !first) {
			first = err;
			*ret_why = why;
		}
	}
	tell_unread(recorder, list, 1);
	refusals_next_round(&recorder->refused);
	return recorder->targets.nr ? 0 : first;
}

static int create_workers(struct recorder *recorder)
{
	int err = worker_create(&recorder->loader);

	if (!err && recorder->options.servers)
		err = worker_create(&recorder->fetcher);
	return err;
}

int recorder_create(struct vm_host *host, const struct recorder_options *options,
		    struct recorder **ret, const char **ret_why)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	struct vm_list list = { 0 };
	int err;

	*ret_why = "out of memory";
	if (!recorder)
		return -ENOMEM;
	recorder->host = host;
	recorder->options = *options;
	recorder->options.capture.task_work = host && capture_has_task_work(host);
	err = create_workers(recorder);
	if (!err) {
		*ret_why = "the host's VMs cannot be read";
		err = scan(recorder, &list);
	}
	if (err == -ESRCH)
		err = no_vm(options, ret_why);
	if (!err)
		err = check_cancelled(recorder);
	if (!err)
		err = select_vms(recorder, &list, ret_why);
	if (!err)
		err = choose_mode(recorder, &list, ret_why);
	if (!err)
		err = open_capture(recorder, ret_why);
	if (!err)
		err = options->all ? add_all(recorder, &list, ret_why) :
				     add_asked(recorder, &list, ret_why);
	vm_list_deinit(&list);
	if (err) {
		recorder_destroy(recorder);
		return err;
	}
	*ret = recorder;
	return 0;
}

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	capture_destroy(recorder->capture);
	vec_for_each(&recorder->targets, target)
		target_destroy(*target);
	vec_deinit(&recorder->targets);
	refusals_deinit(&recorder->refused);
	refusals_deinit(&recorder->behind);
	worker_destroy(recorder->loader);
	worker_destroy(recorder->fetcher);
	free(recorder);
}

enum capture_mode recorder_mode(const struct recorder *recorder, const char **ret_why)
{
	*ret_why = recorder->mode_why;
	return recorder->mode;
}

size_t recorder_nr_vms(const struct recorder *recorder)
{
	return recorder->targets.nr;
}

int recorder_start(struct recorder *recorder)
{
	recorder->next_rescan = clock_now_ns() + rescan_wait(recorder);
	return capture_start(recorder->capture);
}

/* A guest that was not identified yet, or whose modules changed. */
static void follow_guest(struct recorder *recorder, u32 index, u64 now)
{
	struct target *target = recorder->targets.data[index];
	enum guest_os os;

	if (target->finished || target->error)
		return;
	os = guest_kernel(recording_guest(target->recording))->os;
	if ((os == GUEST_OS_UNKNOWN || (os == GUEST_OS_LINUX && !target->configured)) &&
	    now >= target->next_identify)
		identify(recorder, index);
	if (os != GUEST_OS_LINUX)
		return;
	if (recording_kernel_changed(target->recording)) {
		restart(recorder, index);
		return;
	}
	if (recording_wants_refresh(target->recording) && now >= target->next_refresh) {
		target->next_refresh = now + REFRESH_NS;
		recording_refresh(target->recording);
	}
}

static void follow_slots(struct recorder *recorder)
{
	bool changed;
	u32 index;

	while (capture_slots_stale(recorder->capture, &index)) {
		struct target *target = recorder->targets.data[index];

		if (vm_host_refresh_slots(recorder->host, target->vm, &changed))
			continue;
		mem_process_set_slots(target->mem, &target->vm->slots);
		capture_set_vm(recorder->capture, index, target->vm);
	}
}

/* Samples that were taken before @now are in the files already, or will be within a moment. */
static int note_lost(struct recorder *recorder, u64 now)
{
	struct capture_counts counts;

	if (now < recorder->next_note_lost)
		return 0;
	recorder->next_note_lost = now + NOTE_LOST_NS;
	for (size_t i = 0; i < recorder->targets.nr; i++) {
		struct target *target = recorder->targets.data[i];

		if (target->finished || target->error)
			continue;
		capture_get_vm_counts(recorder->capture, i, &counts);
		target->error = recording_note_lost(target->recording, accounting_lost(&counts),
						    now);
		if (target->error)
			return target->error;
	}
	return 0;
}

static bool all_gone(const struct recorder *recorder)
{
	if (recorder->options.all || !recorder->next_rescan ||
	    (recorder->options.wait && !recorder->targets.nr) ||
	    clock_now_ns() < recorder->restart_until)
		return false;
	vec_for_each(&recorder->targets, target)
		if (!(*target)->gone)
			return false;
	return true;
}

/* Samples that wait for rules, when no others come. */
static int catch_up(struct recorder *recorder, u64 now)
{
	vec_for_each(&recorder->targets, place) {
		struct target *target = *place;

		if (target->finished || target->error)
			continue;
		target->error = recording_catch_up(target->recording, now);
		if (target->error)
			return target->error;
	}
	return 0;
}

int recorder_step(struct recorder *recorder, int timeout_ms)
{
	int err = capture_poll(recorder->capture, timeout_ms);
	u64 now = clock_now_ns();

	if (recorder->error)
		return recorder->error;
	if (!err)
		err = catch_up(recorder, now);
	if (!err)
		err = note_lost(recorder, now);
	if (err)
		return err;
	follow_slots(recorder);
	if (now >= recorder->next_rescan) {
		err = rescan(recorder);
		if (err)
			return err;
	}
	for (size_t i = 0; i < recorder->targets.nr; i++)
		follow_guest(recorder, i, now);
	return all_gone(recorder) ? -ESRCH : 0;
}

void recorder_get_counts(const struct recorder *recorder, struct capture_counts *ret)
{
	capture_get_counts(recorder->capture, ret);
}

void recorder_get_times(const struct recorder *recorder, u32 event, u64 *ret_on, u64 *ret_counted)
{
	capture_get_times(recorder->capture, event, ret_on, ret_counted);
}

void recorder_get_accounting(const struct recorder *recorder, struct accounting *ret)
{
	struct accounting sum = { 0 };

	vec_for_each(&recorder->targets, target)
		accounting_sum(&sum, recording_accounting((*target)->recording));
	*ret = sum;
}

/* Whether they have ended. A file on a file system that hangs is read for ever. */
static bool end_workers(struct recorder *recorder, bool (*hurry)(void))
{
	u64 deadline = clock_now_ns() + END_WAIT_NS;

	if (worker_end(recorder->loader, deadline, hurry) ||
	    (recorder->fetcher && worker_end(recorder->fetcher, deadline, hurry)))
		return false;
	worker_destroy(TAKE_PTR(recorder->loader));
	worker_destroy(TAKE_PTR(recorder->fetcher));
	return true;
}

int recorder_stop(struct recorder *recorder)
{
	int err = capture_stop(recorder->capture);

	/* What was captured before the stop is still in the ring. */
	if (!err)
		err = capture_poll(recorder->capture, 0);
	return err ? err : recorder->error;
}

bool recorder_wait(struct recorder *recorder, u64 deadline)
{
	bool all = true;

	vec_for_each(&recorder->targets, at) {
		struct target *target = *at;
		bool its = true;

		if (target->finished || target->error)
			continue;
		target->error = recording_wait(target->recording, deadline, &its);
		all = all && its;
	}
	return all;
}

int recorder_finish(struct recorder *recorder, bool (*hurry)(void))
{
	int err = 0;

	for (size_t i = 0; i < recorder->targets.nr; i++) {
		int finished = finish_target(recorder, i);

		recording_stop_loading(recorder->targets.data[i]->recording);
		err = err ? err : finished;
	}
	/* From here on nothing is added to the symbol cache. */
	recorder->stuck = !end_workers(recorder, hurry);
	return err;
}

bool recorder_is_stuck(const struct recorder *recorder)
{
	return recorder->stuck;
}

void recorder_get_system(const struct recorder *recorder, size_t i, struct recorder_system *ret)
{
	const struct target *target = recorder->targets.data[i];

	*ret = (struct recorder_system){
		.name = target->vm->name,
		.kernel = guest_kernel(recording_guest(target->recording)),
		.why = target->why_unknown,
	};
}

size_t recorder_nr_results(const struct recorder *recorder)
{
	return recorder->targets.nr;
}

void recorder_result(const struct recorder *recorder, size_t i, struct recorder_result *ret)
{
	const struct target *target = recorder->targets.data[i];

	*ret = (struct recorder_result){
		.name = target->vm->name,
		.path = target->finished ? target->path : NULL,
		.bytes = target->bytes,
		.accounting = recording_accounting(target->recording),
		.os_release = guest_kernel(recording_guest(target->recording))->release,
		.error = target->error,
		.symbols_error = recording_symbols_error(target->recording),
	};
}
