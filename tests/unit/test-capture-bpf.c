/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture programs on this machine's kernel, with KVM or without: each loads, and what becomes
 * of an event that waits for its exit. KVM's types are those that the programs were compiled with;
 * there is no vCPU, so that its registers cannot be read.
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

#include "bpf/shared.h"
#include "bpf/shot.h"

#include "capture.skel.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_load),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
