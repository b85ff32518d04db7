/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the capture programs cost, natively: this machine runs the very BPF code, over a guest that
 * is built in this process's memory. The peer is the kernel's own bpf_get_stack() on a user stack
 * of this process with as many frames at the same distances.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/errors.h"
#include "build-shot.h"

#include "walk.skel.h"

#define DEPTH 53
#define BATCHES 15	/* of which the median counts */
#define ROUNDS 2000
#define TARGET 0.3

struct bench {
	struct walk_bpf *skel;
	struct build_shot build;
	u8 *memory;	/* the guest's, as a VMM has it */
	int vm_map;
};

/* Without libc: its frames have no frame pointers and would end the chain at once. */
__attribute__((noinline)) static long run_program(int fd)
{
	static union bpf_attr attr;
	long ret;

	attr.test.prog_fd = fd;
	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"(SYS_bpf), "D"(BPF_PROG_TEST_RUN), "S"(&attr), "d"(sizeof(attr))
		     : "rcx", "r11", "memory");
	return ret;
}

static u64 frames_at[2];	/* of the two innermost frames */

typedef long (*recurse_fn)(int depth, int fd);

/*
 * Calls of itself @depth deep, each with @bytes of local variables, and with frame pointers
 * whatever the compiler's options; the innermost runs the program.
 */
#define DEFINE_RECURSE(name, bytes)                                                           \
	__attribute__((noinline, optimize("no-omit-frame-pointer",                            \
					  "no-optimize-sibling-calls")))                      \
	static long name(int depth, int fd)                                                   \
	{                                                                                     \
		u8 local[bytes + 1];                                                          \
		long ret;                                                                     \
                                                                                              \
		asm volatile("" : : "r"(local) : "memory"); /* it is used */                  \
		if (depth < 2)                                                                \
			frames_at[depth] = (u64)(uintptr_t)__builtin_frame_address(0);        \
		ret = depth ? name(depth - 1, fd) : run_program(fd);                          \
		asm volatile("" : "+r"(ret)); /* not a tail call */                           \
		return ret;                                                                   \
	}
DEFINE_RECURSE(recurse_small, 0)
DEFINE_RECURSE(recurse_medium, 80)
DEFINE_RECURSE(recurse_large, 128)

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Nanoseconds a round of @program, in a stack of @depth more frames of @recurse. */
static int measure_in(struct bench *bench, struct bpf_program *program, recurse_fn recurse,
		      int depth, double *ret)
{
	double batches[BATCHES];

	bench->skel->bss->rounds = ROUNDS;
	for (int i = 0; i < BATCHES; i++) {
		if (recurse(depth, bpf_program__fd(program)))
			return -errno;
		batches[i] = (double)bench->skel->bss->ns / ROUNDS;
	}
	qsort(batches, BATCHES, sizeof(batches[0]), compare);
	*ret = batches[BATCHES / 2];
	return 0;
}

static int measure(struct bench *bench, struct bpf_program *program, double *ret)
{
	return measure_in(bench, program, recurse_small, 0, ret);
}

/* The guest as built, in one piece of our memory, and its description for the programs. */
static int publish_guest(struct bench *bench)
{
	u32 zero = 0;

	for (u64 page = 0; page < BUILD_SHOT_PAGES; page++)
		memcpy(bench->memory + page * SHOT_PAGE,
		       mem_fake_page(bench->build.mem, GPA(page * SHOT_PAGE)), SHOT_PAGE);
	bench->build.vm.slots.slots[0].hva = (u64)(uintptr_t)bench->memory;
	if (bpf_map_update_elem(bench->vm_map, &zero, &bench->build.vm, BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(bench->skel->maps.vms), &zero, &bench->vm_map,
				BPF_ANY))
		return -errno;
	return 0;
}

/* DEPTH frames at @distance. */
static int put_frames(struct build_shot *build, u64 distance)
{
	int err = 0;

	for (u64 i = 0; i < DEPTH && !err; i++) {
		u64 at = BUILD_SHOT_FIRST_FRAME + i * distance;

		err = build_shot_set(build, at, i == DEPTH - 1 ? 0 : at + distance);
		err = err ?: build_shot_set(build, at + 8, build_shot_return(i));
	}
	return err;
}

static int bench_open(struct bench *bench)
{
	int err = build_shot_init(&bench->build, MMU_MODE_X86_4LEVEL);

	if (err)
		return err;
	bench->memory = mmap(NULL, BUILD_SHOT_PAGES * SHOT_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (bench->memory == MAP_FAILED)
		return -errno;
	bench->skel = walk_bpf__open_and_load();
	if (!bench->skel)
		return -errno;
	bench->vm_map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vm", sizeof(u32),
				       sizeof(struct shot_vm), 1, NULL);
	return bench->vm_map < 0 ? bench->vm_map : 0;
}

static int bench_get_stack(struct bench *bench, recurse_fn recurse, double *ret_frame)
{
	int err = measure_in(bench, bench->skel->progs.get_stack, recurse, DEPTH, ret_frame);
	u32 nr = bench->skel->bss->nr_frames;

	if (err)
		return err;
	if (nr < DEPTH)
		return -EBADMSG;
	*ret_frame /= nr;
	printf("bpf_get_stack          %7.1f ns/frame  (%u frames)\n", *ret_frame, nr);
	return 0;
}

static int bench_frames(struct bench *bench, u64 distance, double *ret_frame)
{
	int err = put_frames(&bench->build, distance);

	err = err ?: publish_guest(bench);
	bench->skel->bss->regs = bench->build.regs;
	err = err ?: measure(bench, bench->skel->progs.walk_frames, ret_frame);
	if (err)
		return err;
	if (bench->skel->bss->nr_frames != DEPTH || bench->skel->bss->stop != STOP_COMPLETE)
		return -EBADMSG;
	*ret_frame /= DEPTH;
	printf("frame-pointer walk     %7.1f ns/frame  (%u frames)\n", *ret_frame, DEPTH);
	return 0;
}

/* Both over stacks of the same shape. */
static int bench_pair(struct bench *bench, recurse_fn recurse, double *ret_ratio)
{
	double peer, ours;
	u64 distance;
	int err = bench_get_stack(bench, recurse, &peer);

	distance = frames_at[1] - frames_at[0];
	err = err ?: bench_frames(bench, distance, &ours);
	if (err)
		return err;
	*ret_ratio = ours / peer;
	printf("walk / bpf_get_stack   %7.2f           (frames %llu bytes apart)\n", *ret_ratio,
	       (unsigned long long)distance);
	return 0;
}

/* With a copy of @bytes of the user stack, and with frames to walk or none. */
static int bench_user_sample(struct bench *bench, bool frames, u32 bytes)
{
	double sample = 0;
	int err;

	bench->skel->bss->user_stack = bytes;
	bench->skel->bss->regs = bench->build.regs;
	if (!frames)
		bench->skel->bss->regs.gpr[X86_RBP] = 0;
	err = measure(bench, bench->skel->progs.take_samples, &sample);
	bench->skel->bss->regs = bench->build.regs;
	bench->skel->bss->user_stack = 0;
	if (err)
		return err;
	if (bench->skel->bss->nr_stack_bytes != bytes)
		return -EBADMSG;
	printf("sample in user mode    %7.1f ns/sample (task, %u frames, %u bytes of stack)\n",
	       sample, bench->skel->bss->nr_frames, bytes);
	return 0;
}

/* With @bytes of user stack above the stack pointer, and nothing behind its end, no frames. */
static int bench_end_sample(struct bench *bench, u32 bytes)
{
	double sample = 0;
	int err;

	bench->skel->bss->user_stack = WIRE_MAX_STACK_BYTES;
	bench->skel->bss->regs = bench->build.regs;
	bench->skel->bss->regs.gpr[X86_RBP] = 0;
	bench->skel->bss->regs.gpr[X86_RSP] = BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES - bytes;
	err = measure(bench, bench->skel->progs.take_samples, &sample);
	bench->skel->bss->regs = bench->build.regs;
	bench->skel->bss->user_stack = 0;
	if (err)
		return err;
	if (bench->skel->bss->nr_stack_bytes != bytes + WIRE_RED_ZONE ||
	    bench->skel->bss->stop != STOP_NOT_PRESENT)
		return -EBADMSG;
	printf("sample at stack's end  %7.1f ns/sample (task, %u bytes of stack)\n", sample,
	       bench->skel->bss->nr_stack_bytes);
	return 0;
}

/* With @bytes of kernel stack above the stack pointer, and the user frames. */
static int bench_kernel_sample(struct bench *bench, u32 bytes)
{
	double sample;
	int err;

	build_shot_enter_kernel(&bench->build,
				BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES - bytes);
	bench->skel->bss->regs = bench->build.regs;
	err = measure(bench, bench->skel->progs.take_samples, &sample);
	if (err)
		return err;
	if (bench->skel->bss->nr_stack_bytes != bytes || bench->skel->bss->stop != STOP_COMPLETE)
		return -EBADMSG;
	printf("sample in the kernel   %7.1f ns/sample (task, %u frames, %u bytes of stack)\n",
	       sample, bench->skel->bss->nr_frames, bytes);
	return 0;
}

static int run(struct bench *bench, double *ret_small, double *ret_medium)
{
	static const u32 copies[] = { 0, 160, 4096, 3 * SHOT_PAGE };
	double large;
	int err = bench_pair(bench, recurse_small, ret_small);

	err = err ?: bench_pair(bench, recurse_large, &large);
	/* Last, for the samples are of its frames. */
	err = err ?: bench_pair(bench, recurse_medium, ret_medium);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		err = err ?: bench_user_sample(bench, true, copies[i]);
		err = err ?: bench_user_sample(bench, false, copies[i]);
	}
	err = err ?: bench_end_sample(bench, 1024);
	err = err ?: bench_end_sample(bench, 9 * 1024);
	err = err ?: bench_kernel_sample(bench, 1024);
	err = err ?: bench_kernel_sample(bench, 4096);
	return err ?: bench_kernel_sample(bench, BUILD_SHOT_STACK_BYTES);
}

int main(void)
{
	struct bench bench = { .vm_map = -1 };
	double small, medium;
	int err = bench_open(&bench);

	err = err ?: run(&bench, &small, &medium);
	if (err) {
		fprintf(stderr, "bench-walk: %s\n", error_text(err));
		return 1;
	}
	printf("target: walk at most %.1f of bpf_get_stack: %s\n", TARGET,
	       small > TARGET ? "missed" : medium > TARGET ? "met for small frames" : "met");
	walk_bpf__destroy(bench.skel);
	build_shot_deinit(&bench.build);
	return small <= TARGET ? 0 : 1;
}
