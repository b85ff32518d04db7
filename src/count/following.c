/* SPDX-License-Identifier: GPL-2.0-only */
/* The VMs and vCPUs that are counted. */
#include "count/following.h"

#include <string.h>

#include "base/errors.h"
#include "base/hashmap.h"

static bool is_followed(const struct tally_vcpu *vcpu)
{
	return vcpu->thread && !vcpu->left;
}

static void vcpu_stop(const struct following *self, struct tally_vcpu *vcpu)
{
	if (vcpu->thread)
		self->reader->ops->stop(self->reader, vcpu->thread,
					&vcpu->progress.total.reasons);
	vcpu->thread = NULL;
	vcpu->left = false;
}

static void vcpu_destroy(const struct following *self, struct tally_vcpu *vcpu)
{
	vcpu_stop(self, vcpu);
	progress_deinit(&vcpu->progress);
	free(vcpu);
}

static int vcpu_start(const struct following *self, const struct tally_vm *vm,
		      struct tally_vcpu *vcpu)
{
	struct reading first;
	int err = self->reader->ops->start(self->reader, vm->pid, &vcpu->vcpu, &vcpu->thread);

	if (err)
		return err;
	self->reader->ops->read(self->reader, vcpu->thread, true, &first);
	progress_begin(&vcpu->progress, &first);
	return 0;
}

/*
 * A thread that has just ended is none, and no error. Nothing may fail once it is counted: of exits
 * that came since the reasons would stay.
 */
static int add_vcpu(const struct following *self, struct tally_vm *vm, const struct vm_vcpu *found)
{
	struct tally_vcpu *vcpu = calloc(1, sizeof(*vcpu));
	int err;

	if (!vcpu)
		return -ENOMEM;
	vcpu->vcpu = *found;
	err = progress_init(&vcpu->progress, self->nr_events);
	err = err ?: vec_reserve(&vm->vcpus, vm->vcpus.nr + 1);
	err = err ?: vcpu_start(self, vm, vcpu);
	err = err ?: vec_push(&vm->vcpus, vcpu);
	if (err)
		vcpu_destroy(self, vcpu);
	return err == -ESRCH ? 0 : err;
}

static void vm_free(const struct following *self, struct tally_vm *vm)
{
	vec_for_each(&vm->vcpus, vcpu)
		vcpu_destroy(self, *vcpu);
	vec_deinit(&vm->vcpus);
	free(vm);
}

void following_init(struct following *self, struct reader *reader, u32 nr_events,
		    const struct following_choice *choice)
{
	*self = (struct following){ .reader = reader, .nr_events = nr_events, .choice = *choice };
}

void following_deinit(struct following *self)
{
	vec_for_each(&self->vms, vm)
		vm_free(self, *vm);
	vec_deinit(&self->vms);
}

static void read_kernel(const struct following *self, struct tally_vcpu *vcpu, bool alive)
{
	struct reading reading;

	self->reader->ops->read(self->reader, vcpu->thread, alive, &reading);
	progress_take(&vcpu->progress, &reading);
}

static void read_vcpu(const struct following *self, struct tally_vcpu *vcpu, bool alive)
{
	self->reader->ops->read_counts(self->reader, vcpu->thread, vcpu->progress.total.counts);
	read_kernel(self, vcpu, alive);
}

/* Whose exits those of a thread are: from its number to its struct tally_vcpu. */
static int map_threads(const struct following *self, struct hashmap *ret)
{
	vec_for_each(&self->vms, vm) {
		vec_for_each(&(*vm)->vcpus, vcpu) {
			u64 *place = (*vcpu)->thread ?
				     hashmap_put(ret, (*vcpu)->vcpu.tid, NULL) : NULL;

			if ((*vcpu)->thread && !place)
				return -ENOMEM;
			if (place)
				*place = (uintptr_t)*vcpu;
		}
	}
	return 0;
}

static int on_reason(pid_t tid, const struct exit_reason *reason, void *arg)
{
	const u64 *place = hashmap_get(arg, tid);
	struct tally_vcpu *vcpu = place ? (struct tally_vcpu *)(uintptr_t)*place : NULL;

	return vcpu ? progress_add_reason(&vcpu->progress, reason) : 0;
}

static void for_each_there(const struct following *self, void (*fn)(struct progress *progress))
{
	vec_for_each(&self->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			if ((*vcpu)->thread)
				fn(&(*vcpu)->progress);
}

static void stop_left(const struct following *self)
{
	vec_for_each(&self->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			if ((*vcpu)->left)
				vcpu_stop(self, *vcpu);
}

/* Of all together. Those that have left are done with then; on an error the next time. */
static int read_reasons(const struct following *self)
{
	struct hashmap threads = HASHMAP_INIT;
	int err = map_threads(self, &threads);

	if (!err) {
		for_each_there(self, progress_clear_reasons);
		err = self->reader->ops->for_each_reason(self->reader, on_reason, &threads);
		for_each_there(self, progress_end_reasons);
	}
	hashmap_deinit(&threads);
	if (!err)
		stop_left(self);
	return err;
}

/* The perf events behind the guest's own counters, which compete with ours. */
static void look_at_own_counters(const struct following *self, struct tally_vm *vm)
{
	struct vm_vcpu_counters sum = { 0 };

	vec_for_each(&vm->vcpus, vcpu) {
		struct vm_vcpu_counters own;

		if (!is_followed(*vcpu) ||
		    self->reader->ops->own_counters(self->reader, &(*vcpu)->vcpu, &own))
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

static void read_all(struct following *self,
		     void (*read)(const struct following *self, struct tally_vcpu *vcpu,
				  bool alive))
{
	vec_for_each(&self->vms, vm) {
		if ((*vm)->gone)
			continue;
		vec_for_each(&(*vm)->vcpus, vcpu)
			if (is_followed(*vcpu))
				read(self, *vcpu, true);
		look_at_own_counters(self, *vm);
	}
}

int following_read(struct following *self)
{
	read_all(self, read_vcpu);
	return read_reasons(self);
}

void following_look(struct following *self)
{
	read_all(self, read_kernel);
}

int following_restart(struct following *self)
{
	int err = 0;

	vec_for_each(&self->vms, vm) {
		vec_for_each(&(*vm)->vcpus, vcpu) {
			struct progress *progress = &(*vcpu)->progress;

			err = err ?: progress_mark(progress, false, self->nr_events);
			err = err ?: progress_mark(progress, true, self->nr_events);
		}
	}
	return err;
}

static bool is_same(const struct vm_vcpu *a, const struct vm_vcpu *b)
{
	return a->tid == b->tid && a->kvm_vcpu == b->kvm_vcpu;
}

static bool has_vcpu(const struct vm *vm, const struct vm_vcpu *wanted)
{
	vec_for_each(&vm->vcpus, vcpu)
		if (is_same(vcpu, wanted))
			return true;
	return false;
}

static bool follows(const struct tally_vm *vm, const struct vm_vcpu *wanted)
{
	vec_for_each(&vm->vcpus, vcpu)
		if (is_followed(*vcpu) && is_same(&(*vcpu)->vcpu, wanted))
			return true;
	return false;
}

/* @found NULL: the VM is gone. */
static void leave_vcpus(const struct following *self, const struct tally_vm *vm,
			const struct vm *found)
{
	vec_for_each(&vm->vcpus, vcpu) {
		if (!is_followed(*vcpu) || (found && has_vcpu(found, &(*vcpu)->vcpu)))
			continue;
		read_vcpu(self, *vcpu, false);
		self->reader->ops->leave(self->reader, (*vcpu)->thread);
		(*vcpu)->left = true;
	}
}

static bool any_left(const struct following *self)
{
	vec_for_each(&self->vms, vm)
		vec_for_each(&(*vm)->vcpus, vcpu)
			if ((*vcpu)->left)
				return true;
	return false;
}

static int add_vcpus(const struct following *self, struct tally_vm *vm, const struct vm *found)
{
	int err = 0;

	for (size_t i = 0; i < found->vcpus.nr && !err; i++) {
		const struct vm_vcpu *vcpu = &found->vcpus.data[i];

		if (vcpu->tid && !follows(vm, vcpu))
			err = add_vcpu(self, vm, vcpu);
	}
	return err;
}

static bool is_chosen(const struct following *self, const struct vm *vm)
{
	if (self->choice.name)
		return !strcmp(vm->name, self->choice.name);
	return !self->choice.pid || vm->pid == self->choice.pid;
}

static struct tally_vm *find_vm(const struct following *self, const struct vm *found)
{
	vec_for_each(&self->vms, vm)
		if (!(*vm)->gone && (*vm)->kvm == found->kvm && (*vm)->pid == found->pid)
			return *vm;
	return NULL;
}

static int add_vm(struct following *self, const struct vm *found, struct tally_vm **ret)
{
	struct tally_vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	memcpy(vm->name, found->name, sizeof(vm->name));
	memcpy(vm->vmm, found->vmm, sizeof(vm->vmm));
	vm->pid = found->pid;
	vm->kvm = found->kvm;
	err = vec_push(&self->vms, vm);
	if (err)
		free(vm);
	else
		*ret = vm;
	return err;
}

static const struct vm *find_in(const struct vm_list *list, const struct tally_vm *vm)
{
	vec_for_each(&list->vms, found)
		if ((*found)->kvm == vm->kvm && (*found)->pid == vm->pid)
			return *found;
	return NULL;
}

/* One that changed faster than it could be read is there for all that. */
static bool is_unread(const struct vm_list *list, const struct tally_vm *vm)
{
	vec_for_each(&list->unread, unread)
		if (unread->kvm == vm->kvm && unread->pid == vm->pid)
			return true;
	return false;
}

/*
 * VMs and vCPUs that went; their last figures stay. First none of them is counted any more, then
 * the reasons are read, once for all of them, and only then are theirs forgotten: so none comes
 * behind us.
 */
static int drop_gone(struct following *self, const struct vm_list *list)
{
	vec_for_each(&self->vms, vm) {
		const struct vm *found = find_in(list, *vm);

		if ((*vm)->gone || (!found && is_unread(list, *vm)))
			continue;
		leave_vcpus(self, *vm, found);
		(*vm)->gone = !found;
	}
	return any_left(self) ? read_reasons(self) : 0;
}

/* What is new is taken only with @more. */
static int take(struct following *self, const struct vm_list *list, bool more)
{
	int err = 0;

	for (size_t i = 0; i < list->vms.nr && !err; i++) {
		const struct vm *found = list->vms.data[i];
		struct tally_vm *vm = find_vm(self, found);

		if (!vm && (!more || !is_chosen(self, found)))
			continue;
		err = vm ? 0 : add_vm(self, found, &vm);
		err = err ?: add_vcpus(self, vm, found);
	}
	return err;
}

int following_start(struct following *self, const struct vm_list *list)
{
	return take(self, list, true);
}

/* Unless all are to be counted the set is what it was at the beginning. */
int following_update(struct following *self, const struct vm_list *list)
{
	int err = drop_gone(self, list);

	return err ?: take(self, list, self->choice.all);
}

size_t following_nr_vms(const struct following *self)
{
	size_t nr = 0;

	vec_for_each(&self->vms, vm)
		nr += !(*vm)->gone;
	return nr;
}

int following_check(const struct following *self, const struct vm_list *list,
		    const char **ret_why)
{
	const struct following_choice *choice = &self->choice;
	size_t nr = 0;

	vec_for_each(&list->vms, vm)
		nr += is_chosen(self, *vm);
	*ret_why = choice->name ? "no guest has that name (see kvmprof list)" :
		   choice->pid ? "that process runs no KVM guest" :
				 "no KVM guest runs on this host";
	if (!nr && !choice->all)
		return -ENOENT;
	*ret_why = "several guests run here: choose with --vm, -p or -a (see kvmprof list)";
	if (nr > 1 && !choice->all && !choice->pid)
		return -EEXIST;
	return 0;
}
