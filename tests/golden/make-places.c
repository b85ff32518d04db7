/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make-places FILE: a recording of a guest that boots, as far as registers tell, and of what else
 * its vCPU runs that is not its system. No kernel is ever identified.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "build-sample.h"
#include "engine/recording.h"
#include "mem/fake.h"

#define NS_PER_S 1000000000ULL
#define CR0_PE 0x11
#define CR0_PG 0x80050033

static const struct {
	u64 cr0, pc;
	u32 flags;
} moments[] = {
	{ 0x10, 0xffff0, 0 },				/* reset */
	{ CR0_PE, 0xfe05b, 0 },				/* SeaBIOS */
	{ 0x10, 0x1029f, 0 },				/* Linux' setup code */
	{ CR0_PG, 0xffff1000, WIRE_F_FLAT },		/* OVMF's flash */
	{ CR0_PG, 0x4f3ef31, WIRE_F_FLAT },		/* the decompressor */
	{ CR0_PG, 0xffffffff99e7957e, WIRE_F_FLAT },	/* the kernel, that nobody knows */
	{ CR0_PG, 0x8000, WIRE_F_SMM },
	{ CR0_PG, 0xffffffff81234567, WIRE_F_NESTED },
	{ CR0_PG, 0x401000, WIRE_F_NESTED | WIRE_F_USER },
};

static const struct capture_event cpu_clock = {
	.name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .freq = 997,
};

static int add(struct recording *recording, size_t i)
{
	struct build_sample build;
	struct sample sample;
	int err;

	build_sample_init(&build, moments[i].pc, 0x7000);
	build.wire.time = (i + 1) * NS_PER_S;
	build.wire.period = 1;
	build.wire.flags = moments[i].flags;
	build.wire.regs.x86.cr0 = moments[i].cr0;
	build.wire.user_stop = STOP_BAD_POINTER;
	err = build_sample_finish(&build, &sample);
	if (!err)
		err = recording_add(recording, &sample);
	build_sample_deinit(&build);
	return err;
}

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
	const struct capture_counts counts = {
		.events = ARRAY_SIZE(moments), .samples = ARRAY_SIZE(moments),
	};
	struct mem_fake *mem = mem_fake_create();
	struct recording *recording;
	int err = mem ? recording_create(mem_fake_reader(mem), &options, &recording) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(moments) && !err; i++)
		err = add(recording, i);
	if (!err)
		err = recording_finish(recording, &counts);
	recording_destroy(recording);
	mem_fake_destroy(mem);
	return err;
}

int main(int argc, char **argv)
{
	int err = argc == 2 ? write_file(argv[1]) : -EINVAL;

	if (err)
		fprintf(stderr, "make-places: %s\n", strerror(-err));
	return err ? 1 : 0;
}
