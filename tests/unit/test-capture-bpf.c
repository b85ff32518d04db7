/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture programs on this machine's kernel, with KVM or without: that each loads, that records
 * are those that user space makes of the same guest, what one VM may have waiting, and what becomes
 * of an event that waits for its exit. KVM's types are those that the programs were compiled with.
 * There is no vCPU, so that its registers cannot be read, but where a test makes one up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/regs-run.h"
#include "bpf/shared.h"
#include "bpf/shot.h"
#include "build-shot.h"
#include "works.h"

#include "capture-arm64.skel.h"
#include "capture.skel.h"

/* For clang's BPF. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#include "bpf/host-types.h"
#pragma GCC diagnostic pop

/* A file of the @size bytes of @object. */
static void object_path(const void *object, size_t size, char path[static 64])
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, object, size), size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

/* The object's own BTF in the place of the kernel's: KVM's types are there in any case. */
static struct capture_bpf *open_programs(void)
{
	char path[64];
	size_t size;
	const void *object = capture_bpf__elf_bytes(&size);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct capture_bpf *skel;

	object_path(object, size, path);
	skel = capture_bpf__open_opts(&options);
	assert_non_null(skel);
	bpf_map__set_max_entries(skel->maps.scratches, 2 * libbpf_num_possible_cpus());
	bpf_program__set_autoload(skel->progs.on_userspace_exit, true);
	skel->rodata->nr_events = 1;
	return skel;
}

static void test_all_load(void **state)
{
	(void)state;
	if (!works("bpf.loop"))
		skip();
	for (u32 amd = 0; amd <= 1; amd++) {
		struct capture_bpf *skel = open_programs();
		struct bpf_program *program;

		skel->rodata->amd = amd;
		skel->rodata->max_depth = WIRE_MAX_USER_FRAMES;
		skel->rodata->user_stack = WIRE_MAX_STACK_BYTES;
		bpf_object__for_each_program(program, skel->obj)
			bpf_program__set_autoload(program, true);
		assert_int_equal(capture_bpf__load(skel), 0);
		capture_bpf__destroy(skel);
	}
}

/* The same of an arm64 host's. */
static struct capture_arm64_bpf *open_arm64(void)
{
	char path[64];
	size_t size;
	const void *object = capture_arm64_bpf__elf_bytes(&size);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct capture_arm64_bpf *skel;
	struct bpf_program *program;

	object_path(object, size, path);
	skel = capture_arm64_bpf__open_opts(&options);
	assert_non_null(skel);
	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, true);
	bpf_map__set_max_entries(skel->maps.scratches, 2 * libbpf_num_possible_cpus());
	skel->rodata->nr_events = 2;
	skel->rodata->events[0].clock = 1;
	skel->rodata->irqs_from_timers = sizeof(u64);
	return skel;
}

static void run_exit(struct capture_bpf *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int fd = bpf_program__fd(skel->progs.on_userspace_exit);

	assert_int_equal(bpf_prog_test_run_opts(fd, &options), 0);
}

static u32 is_pending(struct capture_bpf *skel)
{
	struct capture_vcpu_event_key key = { .tid = gettid() };
	struct capture_vcpu_event state;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.vcpu_events), &key, &state), 0);
	return state.pending;
}

/* An event of this thread, which is @vcpu, waits for its exit. */
static void set_pending(struct capture_bpf *skel, struct capture_vcpu *vcpu, u32 event)
{
	struct capture_vcpu_event_key key = { .tid = gettid(), .event = event };
	const struct capture_vcpu_event state = {
		.pending = 1,
		.pending_period = 10 + event,
		.pending_time = 100 + event,
	};

	vcpu->pending = 1;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpus), &key.tid, vcpu,
					     BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpu_events), &key, &state,
					     BPF_ANY), 0);
}

/* On all CPUs, of VM 0, whose counters are in @map. */
static u64 count_in(const struct bpf_map *map, enum capture_counter which)
{
	int cpus = libbpf_num_possible_cpus();
	struct capture_vm_counts *counts = calloc(cpus, sizeof(*counts));
	u64 sum = 0;
	u32 zero = 0;

	assert_non_null(counts);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(map), &zero, counts), 0);
	for (int i = 0; i < cpus; i++)
		sum += counts[i].values[which];
	free(counts);
	return sum;
}

static u64 count_of(struct capture_bpf *skel, enum capture_counter which)
{
	return count_in(skel->maps.counts, which);
}

static void add_vm(struct capture_bpf *skel, const struct shot_vm *vm)
{
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vm", sizeof(u32), sizeof(*vm), 1, NULL);
	u32 zero = 0;

	assert_true(inner >= 0);
	assert_int_equal(bpf_map_update_elem(inner, &zero, vm, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vms), &zero, &inner, BPF_ANY),
			 0);
	close(inner);
}

static const struct shot_vm no_memory;	/* a VM's */

/*
 * Of a VM that was removed nothing is taken and nothing counted: user space does that. Of one that
 * is there each event is counted once, however many exits follow.
 */
static void test_pending(void **state)
{
	struct capture_vcpu vcpu = { .pid = getpid() };
	struct capture_bpf *skel;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	skel = open_programs();
	assert_int_equal(capture_bpf__load(skel), 0);
	set_pending(skel, &vcpu, 0);
	run_exit(skel);
	assert_int_equal(is_pending(skel), 1);
	assert_int_equal(count_of(skel, COUNT_LOST_EXIT), 0);
	add_vm(skel, &no_memory);
	run_exit(skel);
	assert_int_equal(is_pending(skel), 0);
	assert_int_equal(count_of(skel, COUNT_LOST_EXIT), 1);
	run_exit(skel);
	assert_int_equal(count_of(skel, COUNT_LOST_EXIT), 1);
	assert_int_equal(count_of(skel, COUNT_SAMPLES), 0);
	capture_bpf__destroy(skel);
}

/* A vCPU at its exit to user space, in kernel memory: a map's. */
struct fake_vcpu {
	u64 self;	/* its address there */
	struct vcpu_vmx vmx;
	struct kvm_run run;
};

/* Has a program tell where the kernel has the map's value. */
static u64 fake_address(int map)
{
	const struct bpf_insn insns[] = {
		{ BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, map },
		{ 0 },
		{ BPF_STX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_1,
		  offsetof(struct fake_vcpu, self), 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	int program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "address", "GPL", insns,
				    ARRAY_SIZE(insns), NULL);
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct fake_vcpu fake;
	u32 zero = 0;

	assert_true(program >= 0);
	assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
	close(program);
	assert_int_equal(bpf_map_lookup_elem(map, &zero, &fake), 0);
	return fake.self;
}

/* What an arm64 host's program notes of this thread at an entry at @pc. */
static struct entry enter(const struct capture_arm64_bpf *skel, u64 pc)
{
	struct capture_vcpu vcpu = {
		.pid = getpid(),
		.entry = { .verdict = ENTRY_HOST, .turn = 7 },
	};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &pc, .ctx_size_in = sizeof(pc));
	int program = bpf_program__fd(skel->progs.on_entry), map = bpf_map__fd(skel->maps.vcpus);
	u32 tid = gettid();

	assert_int_equal(bpf_map_update_elem(map, &tid, &vcpu, BPF_ANY), 0);
	assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
	assert_int_equal(bpf_map_lookup_elem(map, &tid, &vcpu), 0);
	return vcpu.entry;
}

/* A CPU's variables, in kernel memory: a map's. As compiled each is at the start of its struct. */
struct fake_cpu {
	u64 expires_next;
	u64 irqs_sum;
	u64 rest[(sizeof(struct fake_vcpu) - 16) / 8];	/* what serves as a vCPU, all zero */
};

_Static_assert(sizeof(struct fake_cpu) == sizeof(struct fake_vcpu), "for fake_address()");

/* Every CPU has the same ones. Returns the map, and where the kernel has it. */
static int add_fake_cpu(const struct capture_arm64_bpf *skel, u64 *ret_address)
{
	int cpus = libbpf_num_possible_cpus();
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cpu", sizeof(u32), sizeof(struct fake_cpu), 1,
				 NULL);
	u64 *timers = calloc(cpus, sizeof(*timers));
	struct fake_cpu cpu = { .irqs_sum = 0x1234 };
	u32 zero = 0;

	assert_true(map >= 0 && timers);
	cpu.expires_next = *ret_address = fake_address(map);
	assert_int_equal(bpf_map_update_elem(map, &zero, &cpu, BPF_ANY), 0);
	for (int i = 0; i < cpus; i++)
		timers[i] = *ret_address;
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.cpu_timers), &zero, timers,
					     BPF_ANY), 0);
	free(timers);
	return map;
}

/* An arm64 host's programs load; the one on entries finds the CPU's timer and interrupts. */
static void test_arm64_entry(void **state)
{
	struct capture_arm64_bpf *skel;
	struct entry entry;
	u64 address;
	int map;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	skel = open_arm64();
	assert_int_equal(capture_arm64_bpf__load(skel), 0);
	entry = enter(skel, 0x4000);
	assert_int_equal(entry.pc, 0x4000);
	assert_int_equal(entry.timer, UINT64_MAX);
	assert_int_equal(entry.irqs, 0);
	assert_int_equal(entry.verdict, ENTRY_OPEN);
	assert_int_equal(entry.turn, 7);
	assert_true(entry.time > 0);
	map = add_fake_cpu(skel, &address);
	entry = enter(skel, 0x4004);
	assert_int_equal(entry.pc, 0x4004);
	assert_int_equal(entry.timer, address);
	assert_int_equal(entry.irqs, 0x1234);
	close(map);
	capture_arm64_bpf__destroy(skel);
}

/* How many events of this thread's were found to be the host's, at its exits to user space. */
static u64 hosts_events(const struct capture_arm64_bpf *skel)
{
	return count_in(skel->maps.counts, COUNT_HOST);
}

/* A clock and another event wait for the exit, with @reach of the clock and @irqs served since. */
static void exit_with(const struct capture_arm64_bpf *skel, u64 address, u64 reach, u64 irqs)
{
	int program = bpf_program__fd(skel->progs.on_userspace_exit);
	struct capture_vcpu vcpu = {
		.pid = getpid(),
		.kvm_vcpu = address + 2 * sizeof(u64),
		.pending = 1,
		.entry = { .reach = reach, .served = 0x1234 - irqs, .least_reach = 100 },
	};
	const struct capture_vcpu_event pending = { .pending = 1 };
	struct capture_vcpu_event_key key = { .tid = gettid() };
	LIBBPF_OPTS(bpf_test_run_opts, options);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);	/* .entry_cpu */
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpus), &key.tid, &vcpu,
					     BPF_ANY), 0);
	for (; key.event < 2; key.event++)
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpu_events), &key,
						     &pending, BPF_ANY), 0);
	assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
}

/* At the exit to user space a clock may be found to be the host's, no other event. */
static void test_arm64_take_back(void **state)
{
	struct capture_arm64_bpf *skel;
	u64 address;
	u32 zero = 0;
	int map, inner;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	skel = open_arm64();
	assert_int_equal(capture_arm64_bpf__load(skel), 0);
	map = add_fake_cpu(skel, &address);
	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vm", sizeof(u32), sizeof(struct shot_vm), 1,
			       NULL);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vms), &zero, &inner, BPF_ANY),
			 0);
	exit_with(skel, address, 100, 2);
	exit_with(skel, address, 101, 1);
	assert_int_equal(hosts_events(skel), 0);
	exit_with(skel, address, 99, 2);
	assert_int_equal(hosts_events(skel), 1);
	close(inner);
	close(map);
	capture_arm64_bpf__destroy(skel);
}

/* Makes one, of VM 0, on this thread. Returns the map that it lives in. */
static int add_fake_vcpu(struct capture_bpf *skel)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vcpu", sizeof(u32), sizeof(struct fake_vcpu),
				 1, NULL);
	struct capture_vcpu vcpu = { .pid = getpid(), .percpu = BUILD_SHOT_PERCPU };
	struct fake_vcpu fake = { .run.kvm_valid_regs = REGS_RUN_WANTED };
	u32 zero = 0, tid = gettid();

	assert_true(map >= 0);
	fake.self = fake_address(map);
	fake.vmx.vcpu.run = (void *)(fake.self + offsetof(struct fake_vcpu, run));
	/* Not nested. */
	fake.vmx.loaded_vmcs = (void *)(fake.self + offsetof(struct fake_vcpu, vmx.vmcs01));
	vcpu.kvm_vcpu = fake.self + offsetof(struct fake_vcpu, vmx);
	assert_int_equal(bpf_map_update_elem(map, &zero, &fake, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpus), &tid, &vcpu, BPF_ANY),
			 0);
	return map;
}

static void take_one(struct capture_bpf *skel)
{
	int fd = bpf_map__fd(skel->maps.vcpus);
	struct capture_vcpu vcpu;
	u32 tid = gettid();

	assert_int_equal(bpf_map_lookup_elem(fd, &tid, &vcpu), 0);
	set_pending(skel, &vcpu, 0);
	run_exit(skel);
}

#define NR_EVENTS 4

static u32 seen[NR_EVENTS];

static int on_event_record(void *ctx, void *data, size_t size)
{
	const struct wire_sample *wire = data;

	(void)ctx;
	(void)size;
	assert_true(wire->event < NR_EVENTS);
	assert_int_equal(wire->period, 10 + wire->event);
	assert_int_equal(wire->time, 100 + wire->event);
	seen[wire->event]++;
	return 0;
}

/* Of the events that wait for one exit each has a sample, unless it does not want this mode's. */
static void test_several_pending(void **state)
{
	struct ring_buffer *reader;
	struct capture_vcpu vcpu;
	struct capture_bpf *skel;
	u32 tid = gettid();
	int map;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	skel = open_programs();
	skel->rodata->nr_events = NR_EVENTS;
	skel->rodata->events[1].exclude_kernel = 1;
	assert_int_equal(capture_bpf__load(skel), 0);
	add_vm(skel, &no_memory);
	map = add_fake_vcpu(skel);
	reader = ring_buffer__new(bpf_map__fd(skel->maps.ring), on_event_record, NULL, NULL);
	assert_non_null(reader);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.vcpus), &tid, &vcpu), 0);
	for (u32 i = 0; i < NR_EVENTS - 1; i++)
		set_pending(skel, &vcpu, i);
	run_exit(skel);
	run_exit(skel);
	assert_true(ring_buffer__consume(reader) >= 0);
	assert_true(seen[0] == 1 && seen[1] == 0 && seen[2] == 1 && seen[3] == 0);
	assert_int_equal(count_of(skel, COUNT_SAMPLES), 2);
	assert_int_equal(count_of(skel, COUNT_FILTERED), 1);
	assert_int_equal(count_of(skel, COUNT_LOST_EXIT), 0);
	ring_buffer__free(reader);
	close(map);
	capture_bpf__destroy(skel);
}

/* What an event finds on Intel. */
struct found {
	u32 exit_reason;
	bool fetched;		/* KVM has the pc in memory */
	u64 pc;			/* there, and 0x1000 at the exit to user space */
	bool moved;
	u64 event_pc;
};

static void set_found(int map, const struct found *found)
{
	struct kvm_vcpu_arch___rip *arch;
	struct fake_vcpu fake;
	u32 zero = 0;

	assert_int_equal(bpf_map_lookup_elem(map, &zero, &fake), 0);
	fake.vmx.exit_reason.full = found->exit_reason;
	/* As compiled both layouts are there, and the later one is taken. */
	arch = (void *)&fake.vmx.vcpu.arch;
	arch->rip = found->pc;
	arch->regs_avail[0] = found->fetched ? 1UL << 16 : ~(1UL << 16);
	fake.run.s.regs.regs.rip = 0x1000;
	assert_int_equal(bpf_map_update_elem(map, &zero, &fake, BPF_ANY), 0);
}

/* Lets one event of this thread come, by @program. */
static void let_event_come(struct capture_bpf *skel, struct bpf_program *program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 200000,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link = bpf_program__attach_perf_event(program, fd);

	assert_non_null(link);
	for (u64 i = 0; !is_pending(skel) && i < 1000000; i++)
		;
	bpf_link__destroy(link);
	assert_int_equal(is_pending(skel), 1);
}

static struct wire_sample last_record;

static int keep_record(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)size;
	last_record = *(struct wire_sample *)data;
	return 0;
}

/* After an exit whose instruction KVM emulates the guest is elsewhere than at the event. */
static void test_moved(void **state)
{
	static const struct found cases[] = {
		{ .exit_reason = 1, .event_pc = 0x1000 },			/* interrupt */
		{ .exit_reason = 0, .event_pc = 0x1000 },			/* NMI */
		{ .exit_reason = 32, .moved = true, .event_pc = 0x1000 },	/* WRMSR */
		{ .exit_reason = 12, .moved = true, .event_pc = 0x1000 },	/* HLT */
		{ .exit_reason = 32, .fetched = true, .pc = 0x1000, .event_pc = 0x1000 },
		{ .exit_reason = 32, .fetched = true, .pc = 0xffe, .moved = true,
		  .event_pc = 0xffe },
		{ .exit_reason = 32, .pc = 0xffe, .moved = true, .event_pc = 0x1000 },
	};
	struct capture_bpf *skel;
	struct ring_buffer *reader;
	const struct capture_vcpu_event none = { 0 };
	struct capture_vcpu_event_key key = { .tid = gettid() };
	struct shot_vm vm = { .kick_signal = SIGUSR1 };
	int map;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	skel = open_programs();
	skel->rodata->events[0].host_side = 1;
	bpf_program__set_autoload(skel->progs.on_event_deferred, true);
	assert_int_equal(capture_bpf__load(skel), 0);
	add_vm(skel, &vm);
	map = add_fake_vcpu(skel);
	reader = ring_buffer__new(bpf_map__fd(skel->maps.ring), keep_record, NULL, NULL);
	assert_non_null(reader);
	signal(SIGUSR1, SIG_IGN);
	for (const struct found *found = cases; found < cases + ARRAY_SIZE(cases); found++) {
		set_found(map, found);
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpu_events), &key,
						     &none, BPF_ANY), 0);
		let_event_come(skel, skel->progs.on_event_deferred);
		run_exit(skel);
		assert_int_equal(ring_buffer__consume(reader), 1);
		assert_int_equal(last_record.regs.pc, 0x1000);
		assert_int_equal(last_record.event_pc, found->event_pc);
		assert_int_equal(!!(last_record.flags & WIRE_F_MOVED), found->moved);
	}
	ring_buffer__free(reader);
	close(map);
	capture_bpf__destroy(skel);
}

static int on_record(void *ctx, void *data, size_t size)
{
	struct capture_ring_use *use = ctx;

	assert_int_equal(((struct wire_sample *)data)->vm, 0);
	use->taken += capture_ring_bytes(size);
	return 0;
}

static void test_ring_share(void **state)
{
	struct capture_ring_use *use;
	struct ring_buffer *reader;
	struct capture_bpf *skel;
	u64 bytes, room;
	int vcpu;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	skel = open_programs();
	bpf_map__set_max_entries(skel->maps.ring, 1 << 16);
	assert_int_equal(capture_bpf__load(skel), 0);
	add_vm(skel, &no_memory);
	vcpu = add_fake_vcpu(skel);
	use = &skel->bss->ring_uses[0];
	reader = ring_buffer__new(bpf_map__fd(skel->maps.ring), on_record, use, NULL);
	assert_non_null(reader);
	take_one(skel);
	assert_int_equal(count_of(skel, COUNT_SAMPLES), 1);
	bytes = use->sent;
	assert_in_range(bytes, sizeof(struct wire_sample) + 8, sizeof(struct wire_sample) + 24);
	/* Three at a time, and three more once the reader has had them. */
	skel->bss->ring_share = 4 * bytes - 1;
	for (int i = 1; i < 5; i++)
		take_one(skel);
	assert_int_equal(count_of(skel, COUNT_SAMPLES), 3);
	assert_int_equal(count_of(skel, COUNT_LOST_RING), 2);
	assert_int_equal(use->sent, 3 * bytes);
	assert_int_equal(ring_buffer__consume(reader), 3);
	assert_int_equal(use->taken, use->sent);
	for (int i = 0; i < 5; i++)
		take_one(skel);
	assert_int_equal(count_of(skel, COUNT_SAMPLES), 6);
	assert_int_equal(count_of(skel, COUNT_LOST_RING), 4);
	/* Without a limit the ring is one: what does not fit does not wait. */
	skel->bss->ring_share = 0;
	room = (1 << 16) / bytes;
	for (u64 i = 0; i < room + 4; i++)
		take_one(skel);
	assert_int_equal(count_of(skel, COUNT_SAMPLES) + count_of(skel, COUNT_LOST_RING),
			 10 + room + 4);
	assert_in_range(count_of(skel, COUNT_LOST_RING), 4 + 4, 4 + 8);
	assert_int_equal(use->sent, count_of(skel, COUNT_SAMPLES) * bytes);
	ring_buffer__consume(reader);
	assert_int_equal(use->taken, use->sent);
	ring_buffer__free(reader);
	close(vcpu);
	capture_bpf__destroy(skel);
}

/* The registers as KVM stores them at the exit. */
static void set_fake_regs(int map, const struct vcpu_regs *regs)
{
	struct fake_vcpu fake;
	struct kvm_regs *kvm = &fake.run.s.regs.regs;
	struct kvm_sregs *system = &fake.run.s.regs.sregs;
	u32 zero = 0;

	assert_int_equal(bpf_map_lookup_elem(map, &zero, &fake), 0);
	kvm->rip = regs->pc;
	kvm->rsp = regs->gpr[X86_RSP];
	kvm->rbp = regs->gpr[X86_RBP];
	kvm->rflags = regs->flags;
	system->cr0 = regs->x86.cr0;
	system->cr3 = regs->x86.cr3;
	system->cr4 = regs->x86.cr4;
	system->efer = regs->x86.efer;
	system->gs.base = regs->x86.gs_base;
	system->fs.base = regs->x86.fs_base;
	system->cs.l = 1;
	system->ss.dpl = regs->user ? 3 : 0;
	assert_int_equal(bpf_map_update_elem(map, &zero, &fake, BPF_ANY), 0);
}

struct both {
	struct build_shot build;
	u8 *memory;		/* the guest's, in this process: the VMM is we */
	struct capture_bpf *skel;
	struct ring_buffer *reader;
	int vcpu;
	struct shot shot;	/* taken by user space */
	u32 nr;			/* records compared */
	u32 nr_holes;		/* in them */
};

/* All bytes of the record are those of user space's, but for where and when it was taken. */
static int compare_record(void *ctx, void *data, size_t size)
{
	struct both *both = ctx;
	const struct wire_sample *wire = data;

	both->shot.wire.time = wire->time;
	both->shot.wire.tid = wire->tid;
	both->shot.wire.period = wire->period;
	assert_int_equal(size, both->shot.wire.size);
	assert_memory_equal(data, &both->shot, size);
	both->nr++;
	for (unsigned int i = 0; i < wire->nr_stacks; i++)
		both->nr_holes += __builtin_popcount(wire->stacks[i].holes);
	return 0;
}

static void both_init(struct both *both)
{
	assert_int_equal(build_shot_init(&both->build, MMU_MODE_X86_4LEVEL), 0);
	both->memory = mmap(NULL, BUILD_SHOT_PAGES * SHOT_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(both->memory != MAP_FAILED);
	both->build.vm.slots.slots[0].hva = (uintptr_t)both->memory;
	/* What KVM does not store at the exit. */
	both->build.regs.x86.lstar = both->build.regs.x86.kernel_gs_base = 0;
	both->skel = open_programs();
	both->skel->rodata->user_stack = WIRE_MAX_STACK_BYTES;
	both->skel->rodata->max_depth = WIRE_MAX_USER_FRAMES;
	assert_int_equal(capture_bpf__load(both->skel), 0);
	add_vm(both->skel, &both->build.vm);
	both->vcpu = add_fake_vcpu(both->skel);
	both->reader = ring_buffer__new(bpf_map__fd(both->skel->maps.ring), compare_record, both,
					NULL);
	assert_non_null(both->reader);
}

static void both_deinit(struct both *both)
{
	ring_buffer__free(both->reader);
	close(both->vcpu);
	capture_bpf__destroy(both->skel);
	munmap(both->memory, BUILD_SHOT_PAGES * SHOT_PAGE);
	build_shot_deinit(&both->build);
}

static void both_take(struct both *both)
{
	struct shot *shot = &both->shot;
	u32 nr = both->nr;

	for (u64 page = 0; page < BUILD_SHOT_PAGES; page++)
		memcpy(both->memory + page * SHOT_PAGE,
		       mem_fake_page(both->build.mem, GPA(page * SHOT_PAGE)), SHOT_PAGE);
	memset(shot, 0xee, sizeof(*shot));
	user_shot_begin(shot, &both->build.env);
	shot->user_stack = WIRE_MAX_STACK_BYTES;
	shot->percpu = BUILD_SHOT_PERCPU;
	shot->wire.regs = both->build.regs;
	shot->wire.event_pc = shot->wire.regs.pc;
	user_shot_take(shot, true);
	set_fake_regs(both->vcpu, &both->build.regs);
	take_one(both->skel);
	assert_int_equal(ring_buffer__consume(both->reader), 1);
	assert_int_equal(both->nr, nr + 1);
}

static void unmap_user(struct both *both, u32 page)
{
	const struct build_pagetable *pt = &both->build.pt;
	u64 entry = build_pagetable_entry(pt, BUILD_SHOT_USER + page * SHOT_PAGE, 0);

	assert_int_equal(build_pagetable_put(&both->build.pt, entry, 0), 0);
}

/* The same guest makes the same record in BPF and in user space, whichever stack pages it has. */
static void test_same_record(void **state)
{
	static const u32 going[] = { 2, 3, 0, 1 };
	static struct both self;
	struct both *both = &self;
	struct vcpu_regs user;

	(void)state;
	if (!works("bpf.loop"))
		skip();
	both_init(both);
	user = both->build.regs;
	for (u32 i = 0; i <= ARRAY_SIZE(going); i++) {
		if (i)
			unmap_user(both, going[i - 1]);
		both->build.regs = user;
		both_take(both);
		build_shot_enter_kernel(&both->build, BUILD_SHOT_THREAD + 0x1358);
		both->build.regs.x86.lstar = both->build.regs.x86.kernel_gs_base = 0;
		both_take(both);
	}
	/*
	 * Page 2 below page 3, in both modes; and page 0 below page 1 in user mode. In the kernel
	 * that looks like execve(), as no code is mapped either: no copy.
	 */
	assert_int_equal(both->nr_holes, 3);
	both_deinit(both);
}

/* One VM leaves the others room, and any record can be sent. */
static void test_shares(void **state)
{
	const u64 ring = 1 << 24, largest = 70000;

	(void)state;
	assert_int_equal(capture_ring_share(ring, 0, largest), 0);
	assert_int_equal(capture_ring_share(ring, 1, largest), 0);
	for (u64 nr = 2; nr <= CAPTURE_MAX_VMS; nr++) {
		u64 share = capture_ring_share(ring, nr, largest);

		assert_in_range(share, ring / nr, ring / 2);
		assert_true(share >= capture_ring_bytes(largest));
		assert_true(share <= 2 * ring / nr || share == capture_ring_bytes(largest));
	}
	assert_int_equal(capture_ring_bytes(8), 16);
	assert_int_equal(capture_ring_bytes(9), 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_load),
		cmocka_unit_test(test_arm64_entry),
		cmocka_unit_test(test_arm64_take_back),
		cmocka_unit_test(test_ring_share),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_same_record),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_several_pending),
		cmocka_unit_test(test_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
