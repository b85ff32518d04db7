/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture programs on this machine's kernel, with KVM or without: each loads, and what becomes
 * of an event that waits for its exit. KVM's types are those that the programs were compiled with.
 * There is no vCPU, so that its registers cannot be read, but where a test makes one up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/regs-run.h"
#include "bpf/shared.h"
#include "bpf/shot.h"

#include "capture.skel.h"

/* For clang's BPF. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#include "bpf/host-types.h"
#pragma GCC diagnostic pop

static bool bpf_works(void)
{
	int has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL);

	if (has > 0)
		return true;
	print_message("not permitted to use BPF, or it lacks bpf_loop (Linux 5.17): %d\n", has);
	return false;
}

/* The object's own BTF in the place of the kernel's: KVM's types are there in any case. */
static struct capture_bpf *open_programs(void)
{
	char path[64];
	size_t size;
	const void *object = capture_bpf__elf_bytes(&size);
	int fd = memfd_create("capture", MFD_CLOEXEC);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct capture_bpf *skel;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, object, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	skel = capture_bpf__open_opts(&options);
	assert_non_null(skel);
	bpf_map__set_max_entries(skel->maps.scratches, 2 * libbpf_num_possible_cpus());
	bpf_program__set_autoload(skel->progs.on_userspace_exit, true);
	return skel;
}

static void test_all_load(void **state)
{
	(void)state;
	if (!bpf_works())
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

static void run_exit(struct capture_bpf *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int fd = bpf_program__fd(skel->progs.on_userspace_exit);

	assert_int_equal(bpf_prog_test_run_opts(fd, &options), 0);
}

static u32 is_pending(struct capture_bpf *skel)
{
	struct capture_vcpu vcpu;
	u32 tid = gettid();

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.vcpus), &tid, &vcpu), 0);
	return vcpu.pending;
}

/* On all CPUs, of VM 0. */
static u64 count_of(struct capture_bpf *skel, enum capture_counter which)
{
	int cpus = libbpf_num_possible_cpus();
	struct capture_vm_counts *counts = calloc(cpus, sizeof(*counts));
	u64 sum = 0;
	u32 zero = 0;

	assert_non_null(counts);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.counts), &zero, counts), 0);
	for (int i = 0; i < cpus; i++)
		sum += counts[i].values[which];
	free(counts);
	return sum;
}

static void add_vm(struct capture_bpf *skel)
{
	struct shot_vm *vm = calloc(1, sizeof(*vm));
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vm", sizeof(u32), sizeof(*vm), 1, NULL);
	u32 zero = 0;

	assert_non_null(vm);
	assert_true(inner >= 0);
	assert_int_equal(bpf_map_update_elem(inner, &zero, vm, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vms), &zero, &inner, BPF_ANY),
			 0);
	close(inner);
	free(vm);
}

/*
 * Of a VM that was removed nothing is taken and nothing counted: user space does that. Of one that
 * is there each event is counted once, however many exits follow.
 */
static void test_pending(void **state)
{
	struct capture_vcpu vcpu = { .pid = getpid(), .pending = 1 };
	struct capture_bpf *skel;
	u32 tid = gettid();

	(void)state;
	if (!bpf_works())
		skip();
	skel = open_programs();
	assert_int_equal(capture_bpf__load(skel), 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.vcpus), &tid, &vcpu, BPF_ANY),
			 0);
	run_exit(skel);
	assert_int_equal(is_pending(skel), 1);
	assert_int_equal(count_of(skel, COUNT_LOST_EXIT), 0);
	add_vm(skel);
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
	struct kvm_vcpu vcpu;
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

/* Makes one, of VM 0, on this thread. Returns the map that it lives in. */
static int add_fake_vcpu(struct capture_bpf *skel)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vcpu", sizeof(u32), sizeof(struct fake_vcpu),
				 1, NULL);
	struct capture_vcpu vcpu = { .pid = getpid() };
	u32 zero = 0, tid = gettid();
	struct fake_vcpu fake = {
		.run.kvm_valid_regs = REGS_RUN_WANTED,
	};

	assert_true(map >= 0);
	fake.self = fake_address(map);
	fake.vcpu.run = (void *)(fake.self + offsetof(struct fake_vcpu, run));
	vcpu.kvm_vcpu = fake.self + offsetof(struct fake_vcpu, vcpu);
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
	vcpu.pending = 1;
	assert_int_equal(bpf_map_update_elem(fd, &tid, &vcpu, BPF_EXIST), 0);
	run_exit(skel);
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
	if (!bpf_works())
		skip();
	skel = open_programs();
	bpf_map__set_max_entries(skel->maps.ring, 1 << 16);
	assert_int_equal(capture_bpf__load(skel), 0);
	add_vm(skel);
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
		cmocka_unit_test(test_ring_share),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
