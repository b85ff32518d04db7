/* SPDX-License-Identifier: GPL-2.0-only */
/* A host whose VMs are counted. */
#include "build-counting.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000ULL

const struct capture_event build_counting_events[BUILD_COUNTING_EVENTS] = {
	{ .name = "cycles", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	{ .name = "context-switches", .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .host_side = true },
};

/* A handle is the vCPU's place. */
static struct build_vcpu *vcpu_of(struct counted_thread *thread)
{
	return (struct build_vcpu *)thread;
}

static struct build_counting *self_of(struct reader *reader)
{
	return container_of(reader, struct build_counting, reader);
}

static u64 now(struct reader *reader)
{
	return self_of(reader)->now;
}

static int copy_vm(const struct build_vm *from, struct vm_list *list)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int err = vm ? vec_push(&list->vms, vm) : -ENOMEM;

	if (err) {
		free(vm);
		return err;
	}
	vm->pid = from->pid;
	vm->kvm = from->kvm;
	snprintf(vm->name, sizeof(vm->name), "%s", from->name);
	snprintf(vm->vmm, sizeof(vm->vmm), "qemu");
	for (u32 i = 0; i < BUILD_COUNTING_MAX && !err; i++)
		if (from->vcpus[i].there)
			err = vec_push(&vm->vcpus, from->vcpus[i].vcpu);
	return err;
}

static int scan(struct reader *reader, struct vm_list *ret)
{
	struct build_counting *self = self_of(reader);
	struct vm_list list = { VEC_INIT };
	int err = self->scan_error;

	for (u32 i = 0; i < BUILD_COUNTING_MAX && !err; i++) {
		const struct build_vm *vm = &self->vms[i];

		if (vm->there && vm->unread)
			err = vec_push(&list.unread,
				       (struct vm_unread){ vm->kvm, vm->pid, -EAGAIN });
		else if (vm->there)
			err = copy_vm(vm, &list);
	}
	if (err)
		vm_list_deinit(&list);
	else
		*ret = list;
	return err;
}

static void prepare(struct reader *reader)
{
	self_of(reader)->prepared++;
}

static struct build_vcpu *find(struct build_counting *self, pid_t pid, const struct vm_vcpu *vcpu)
{
	for (u32 i = 0; i < BUILD_COUNTING_MAX * BUILD_COUNTING_MAX; i++) {
		struct build_vm *vm = &self->vms[i / BUILD_COUNTING_MAX];
		struct build_vcpu *it = &vm->vcpus[i % BUILD_COUNTING_MAX];

		if (vm->pid == pid && it->vcpu.kvm_vcpu == vcpu->kvm_vcpu)
			return it;
	}
	return NULL;
}

/* Events and exits are counted from here on; what /proc and KVM have has always been. */
static int start(struct reader *reader, pid_t pid, const struct vm_vcpu *wanted,
		 struct counted_thread **ret)
{
	struct build_vcpu *vcpu = find(self_of(reader), pid, wanted);

	if (self_of(reader)->start_error)
		return self_of(reader)->start_error;
	if (!vcpu || vcpu->ended)
		return -ESRCH;
	vcpu->starts++;
	vcpu->counted = true;
	memset(vcpu->counts, 0, sizeof(vcpu->counts));
	vcpu->figures.exits = (struct exit_times){ 0 };
	vcpu->figures.nr_exits = 0;
	*ret = (struct counted_thread *)vcpu;
	return 0;
}

static void leave(struct reader *reader, struct counted_thread *thread)
{
	(void)reader;
	vcpu_of(thread)->counted = false;
}

/* What is not named stays, as it does in a map. */
static void stop(struct reader *reader, struct counted_thread *thread,
		 const exit_reasons *reasons)
{
	leave(reader, thread);
	vcpu_of(thread)->stops++;
	vec_for_each(reasons, reason)
		vcpu_of(thread)->reasons[reason->reason] = 0;
}

static void read_figures(struct reader *reader, struct counted_thread *thread, bool alive,
			 struct reading *ret)
{
	const struct build_vcpu *vcpu = vcpu_of(thread);

	*ret = vcpu->figures;
	ret->now = self_of(reader)->now;
	ret->has = vcpu->has;
	if (vcpu->ended)
		ret->has &= ~READING_HAS_TIMES;
	if (!vcpu->counted)
		ret->has &= ~READING_HAS_EXITS;
	if (!alive)
		ret->has &= ~READING_HAS_HALT;
}

static void read_counts(struct reader *reader, struct counted_thread *thread,
			struct count *counts)
{
	(void)reader;
	memcpy(counts, vcpu_of(thread)->counts, sizeof(vcpu_of(thread)->counts));
}

static int tell_reasons(const struct build_counting *self, struct build_vcpu *vcpu,
			exit_reason_fn fn, void *arg)
{
	int err = 0;

	for (u32 r = 0; r < ARRAY_SIZE(vcpu->reasons) && !err; r++) {
		const struct exit_reason reason = { r, 2, vcpu->reasons[r] };

		if (vcpu->reasons[r])
			err = fn(vcpu->vcpu.tid, &reason, arg) ?: self->reasons_error;
	}
	vcpu->reasons[0] += vcpu->busy && vcpu->counted;
	return err;
}

static int for_each_reason(struct reader *reader, exit_reason_fn fn, void *arg)
{
	struct build_counting *self = self_of(reader);
	int err = 0;

	self->walks++;
	for (u32 i = 0; i < BUILD_COUNTING_MAX * BUILD_COUNTING_MAX && !err; i++)
		err = tell_reasons(self, &self->vms[i / BUILD_COUNTING_MAX]
						.vcpus[i % BUILD_COUNTING_MAX], fn, arg);
	return err;
}

static int own_counters(struct reader *reader, const struct vm_vcpu *wanted,
			struct vm_vcpu_counters *ret)
{
	struct build_counting *self = self_of(reader);

	for (u32 i = 0; i < BUILD_COUNTING_MAX * BUILD_COUNTING_MAX; i++) {
		const struct build_vcpu *vcpu =
			&self->vms[i / BUILD_COUNTING_MAX].vcpus[i % BUILD_COUNTING_MAX];

		if (!vcpu->vcpu.tid || vcpu->vcpu.kvm_vcpu != wanted->kvm_vcpu)
			continue;
		*ret = vcpu->own;
		return 0;
	}
	return -EOPNOTSUPP;
}

static void facts(struct reader *reader, struct reader_facts *ret)
{
	*ret = self_of(reader)->facts;
	ret->errors = self_of(reader)->errors;
}

static void destroy(struct reader *reader)
{
	self_of(reader)->destroyed++;
}

static const struct reader_ops ops = {
	.now = now,
	.scan = scan,
	.prepare = prepare,
	.start = start,
	.leave = leave,
	.stop = stop,
	.read = read_figures,
	.read_counts = read_counts,
	.for_each_reason = for_each_reason,
	.own_counters = own_counters,
	.facts = facts,
	.destroy = destroy,
};

void build_counting_init(struct build_counting *self)
{
	*self = (struct build_counting){ .reader.ops = &ops, .now = 1000 * MS };
}

struct build_vm *build_counting_add_vm(struct build_counting *self, u32 index)
{
	struct build_vm *vm = &self->vms[index];

	*vm = (struct build_vm){
		.pid = 1000 + index,
		.kvm = 0xffff888000000000 + ((u64)index << 24),
		.there = true,
	};
	snprintf(vm->name, sizeof(vm->name), "vm%u", index);
	return vm;
}

struct build_vcpu *build_counting_add_vcpu(struct build_vm *vm, u32 id)
{
	struct build_vcpu *vcpu = &vm->vcpus[id];

	*vcpu = (struct build_vcpu){
		.vcpu = {
			.id = id,
			.tid = vm->pid * 100 + id,
			.kvm_vcpu = vm->kvm + ((u64)(id + 1) << 16),
		},
		.there = true,
		.has = READING_HAS_TIMES | READING_HAS_HALT | READING_HAS_EXITS,
		.figures = {
			.times = { .run = 77 * MS, .wait = 5 * MS, .guest = 66 * MS },
			.halt = { .wait = 900 * MS, .poll = 9 * MS },
		},
	};
	return vcpu;
}

static void pass_counted(struct build_vcpu *vcpu, u64 ms)
{
	for (u32 i = 0; i < ARRAY_SIZE(vcpu->counts); i++) {
		vcpu->counts[i].value += (i + 1) * ms;
		vcpu->counts[i].on += ms * MS;
		vcpu->counts[i].counted += ms * MS;
	}
	vcpu->figures.exits.guest += ms * BUILD_GUEST;
	vcpu->figures.exits.exits += ms * BUILD_EXITS;
	vcpu->figures.nr_exits += ms * BUILD_EXITS;
	vcpu->reasons[1] += ms * BUILD_EXITS / 3;
	vcpu->reasons[2] += ms * BUILD_EXITS * 2 / 3;
}

static void pass(struct build_vcpu *vcpu, u64 ms)
{
	vcpu->figures.times.run += ms * BUILD_RUN;
	vcpu->figures.times.wait += ms * BUILD_STEAL;
	vcpu->figures.times.guest += ms * BUILD_GUEST_TICKS;
	vcpu->figures.halt.wait += ms * BUILD_HALT;
	vcpu->figures.halt.poll += ms * BUILD_POLL;
	if (vcpu->counted)
		pass_counted(vcpu, ms);
}

void build_counting_pass(struct build_counting *self, u64 ms)
{
	self->now += ms * MS;
	for (u32 i = 0; i < BUILD_COUNTING_MAX * BUILD_COUNTING_MAX; i++) {
		struct build_vcpu *vcpu =
			&self->vms[i / BUILD_COUNTING_MAX].vcpus[i % BUILD_COUNTING_MAX];

		if (vcpu->vcpu.tid && !vcpu->ended)
			pass(vcpu, ms);
	}
}
