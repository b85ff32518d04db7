/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make-tasks FILE: a recording of a guest in fake memory whose tasks begin, run, end, and have
 * their numbers used again.
 */
#include <stdio.h>
#include <string.h>

#include "build-program.h"
#include "engine/recording.h"

#define NS_PER_S 1000000000ULL
#define PID 1234	/* of build-process.h */

static u64 make_task(struct build_process *p, u32 pid, u32 tid, u64 start, u64 leader, u64 parent)
{
	u64 task = build_object(p, 256, 64);

	build_set_u32(p, task + BUILD_TASK_PID, tid);
	build_set_u32(p, task + BUILD_TASK_TGID, pid);
	build_set(p, task + BUILD_TASK_START, start);
	build_set(p, task + BUILD_TASK_LEADER, leader ? leader : task);
	build_set(p, task + BUILD_TASK_PARENT, parent);
	build_set(p, task + BUILD_TASK_MM, p->mm);
	return task;
}

static int add(const struct build_program *program, struct recording *recording, u64 task, u32 tid,
	       const char *comm, u64 time)
{
	struct build_sample build;
	struct wire_task *as;
	struct sample sample;
	int err;

	build_program_sample(program, time, &build, &sample);
	as = &((struct wire_sample *)sample.wire)->task;	/* in the builder's own memory */
	*as = (struct wire_task){ .task = task, .tid = tid, .pid = PID, .mm = program->process.mm };
	memcpy(as->comm, comm, strlen(comm));
	err = recording_add(recording, &sample);
	build_sample_deinit(&build);
	return err;
}

/* A process with a thread, which ends; then another process of the same numbers. */
static int add_all(struct build_program *program, struct recording *recording)
{
	struct build_process *p = &program->process;
	u64 init = make_task(p, 1, 1, 1, 0, 0), first, thread, second;
	int err;

	first = make_task(p, PID, PID, 100, 0, init);
	build_guest_poke(&program->guest, first + BUILD_TASK_COMM, "first", 6);
	thread = make_task(p, PID, 1240, 110, first, init);
	second = make_task(p, PID, PID, 900, 0, init);
	err = add(program, recording, thread, 1240, "worker", NS_PER_S);
	if (!err)
		err = add(program, recording, first, PID, "first", NS_PER_S + 1000);
	build_set_u32(p, thread + BUILD_TASK_EXIT_STATE, 16);
	if (!err)
		err = add(program, recording, first, PID, "first", 2 * NS_PER_S);
	if (!err)
		err = add(program, recording, second, PID, "second", 3 * NS_PER_S);
	return err;
}

static const struct capture_event cpu_clock = {
	.name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .freq = 997,
};

static int write_file(const char *path)
{
	const struct recording_options options = {
		.path = path,
		.name = "vm",
		.events = &cpu_clock,
		.nr_events = 1,
		.nr_vcpus = 1,
		.memory = 1 << 20,
	};
	const struct capture_counts counts = { .events = 4, .samples = 4 };
	struct recording *recording;
	struct build_program program;
	struct vcpu_regs regs;
	int err;

	build_program_init(&program);
	build_program_cache(&program);
	regs = build_guest_regs(&program.guest);
	err = recording_create(mem_fake_reader(program.guest.mem), &options, &recording);
	if (err)
		return err;
	err = recording_identify(recording, &regs, NULL);
	if (!err)
		err = add_all(&program, recording);
	if (!err)
		err = recording_finish(recording, &counts);
	recording_destroy(recording);
	build_program_deinit(&program);
	return err;
}

int main(int argc, char **argv)
{
	int err = argc == 2 ? write_file(argv[1]) : -EINVAL;

	if (err)
		fprintf(stderr, "make-tasks: %s\n", strerror(-err));
	return err ? 1 : 0;
}
