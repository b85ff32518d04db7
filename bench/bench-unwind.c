/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-unwind: what unwinding the kernel part of a chain costs, when every chain is another one
 * and when a few come again and again, as samples do. The tables have the size of a Debian kernel's
 * and cover as much text; each return address is checked against the call before it. No guest is
 * needed.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arch/x86-call.h"
#include "base/errors.h"
#include "base/hashmap.h"
#include "build-orc.h"
#include "build-sample.h"
#include "unwind/unwind.h"

#define TEXT 0xffffffff81000000ULL
#define TEXT_SIZE (16U << 20)
#define FUNCTION_SIZE 256U
#define NR_FUNCTIONS (TEXT_SIZE / FUNCTION_SIZE)
#define CALL_END 0x80U		/* where each function's call ends */
#define FRAME_SIZE 48		/* bytes of stack there, with the return address */
#define NR_FRAMES 30U
#define NR_CHAINS 4096U
#define NR_HOT 64U
#define ROUNDS 5U
#define STACK_TOP 0xffffc90000014000ULL

struct bench {
	u8 *text;
	struct orc_table *table;
	struct build_sample *builds;	/* NR_CHAINS */
	struct sample *samples;
};

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct bench *bench = ctx;

	return orc_table_find(bench->table, pc, ret_row);
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	const struct bench *bench = ctx;
	u64 offset = ret_addr.addr - TEXT;

	(void)user;
	if (offset < X86_CALL_MAX || offset > TEXT_SIZE)
		return -EFAULT;
	return x86_call_ends_at(bench->text + offset - X86_CALL_MAX, X86_CALL_MAX) ? 0 : -EBADMSG;
}

static bool is_kernel_text(void *ctx, gva_t addr)
{
	(void)ctx;
	return addr.addr - TEXT < TEXT_SIZE;
}

static const struct unwind_ops ops = { find_row, check_call, is_kernel_text };

/* Seven entries a function, as its pushes and pops make them; function 0 is outermost. */
static int make_table(struct bench *bench)
{
	static const struct { u8 at; s16 cfa; } steps[] = {
		{ 0, 8 }, { 2, 16 }, { 4, 24 }, { 9, FRAME_SIZE }, { 0xe8, 24 }, { 0xe9, 16 },
		{ 0xeb, 8 },
	};
	struct build_orc build = { .format = ORC_FORMAT_TYPES, .ip_base = TEXT + 2 * TEXT_SIZE };
	int err;

	build_orc_end(&build, TEXT);
	for (u32 i = 1; i < NR_FUNCTIONS; i++) {
		u64 start = TEXT + i * FUNCTION_SIZE;

		for (size_t s = 0; s < ARRAY_SIZE(steps); s++)
			build_orc_call(&build, start + steps[s].at, steps[s].cfa);
	}
	build_orc_undefined(&build, TEXT + TEXT_SIZE);
	err = build_orc_table(&build, &bench->table);
	build_orc_deinit(&build);
	return err;
}

static u64 return_address(u32 function)
{
	return TEXT + function * FUNCTION_SIZE + CALL_END;
}

/* Chain @nr: NR_FRAMES functions, anywhere in the text. */
static int make_chain(struct bench *bench, u32 nr)
{
	static struct build_stack stack;
	u64 random = hash_u64(nr + 1);

	build_stack_init(&stack, STACK_TOP);
	build_stack_push(&stack, return_address(0));
	for (u32 i = 0; i < NR_FRAMES - 2; i++) {
		random = hash_u64(random);
		build_stack_locals(&stack, FRAME_SIZE / sizeof(u64) - 1);
		build_stack_push(&stack, return_address(1 + random % (NR_FUNCTIONS - 1)));
	}
	build_sample_init(&bench->builds[nr], TEXT + FUNCTION_SIZE * (1 + nr), stack.sp);
	build_sample_stack(&bench->builds[nr], WIRE_STACK_AT_SP, &stack, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	return build_sample_finish(&bench->builds[nr], &bench->samples[nr]);
}

static int bench_init(struct bench *bench)
{
	int err;

	bench->text = malloc(TEXT_SIZE);
	bench->builds = calloc(NR_CHAINS, sizeof(*bench->builds));
	bench->samples = calloc(NR_CHAINS, sizeof(*bench->samples));
	if (!bench->text || !bench->builds || !bench->samples)
		return -ENOMEM;
	memset(bench->text, 0x90, TEXT_SIZE);
	for (u32 i = 0; i < NR_FUNCTIONS; i++)
		bench->text[i * FUNCTION_SIZE + CALL_END - 5] = 0xe8;
	err = make_table(bench);
	for (u32 i = 0; i < NR_CHAINS && !err; i++)
		err = make_chain(bench, i);
	return err;
}

static void bench_deinit(struct bench *bench)
{
	for (u32 i = 0; bench->builds && i < NR_CHAINS; i++)
		build_sample_deinit(&bench->builds[i]);
	free(bench->builds);
	free(bench->samples);
	free(bench->text);
	orc_table_destroy(bench->table);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* NR_CHAINS chains, @different of them different; the time of it, negative when one is wrong. */
static double run(struct bench *bench, u32 different)
{
	static struct chain chain;
	struct unwinder unwinder = { &ops, bench, 0 };
	double start = now_ns();

	for (u32 i = 0; i < NR_CHAINS; i++) {
		unwind_sample(&unwinder, &bench->samples[i % different], &chain);
		if (chain.nr != NR_FRAMES || chain_stop(&chain) != STOP_COMPLETE)
			return -1;
	}
	return now_ns() - start;
}

/* The best of ROUNDS. */
static int measure(struct bench *bench, u32 different)
{
	double best = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		double ns = run(bench, different);

		if (ns < 0)
			return -EBADMSG;
		if (!best || ns < best)
			best = ns;
	}
	printf("unwind, %4u different chains of %u frames: %6.1f ns a frame, %7.0f chains/s\n",
	       different, NR_FRAMES, best / NR_CHAINS / NR_FRAMES, NR_CHAINS / best * 1e9);
	return 0;
}

int main(void)
{
	struct bench bench = { 0 };
	int err = bench_init(&bench);

	if (!err)
		err = measure(&bench, NR_CHAINS);
	if (!err)
		err = measure(&bench, NR_HOT);
	if (err)
		fprintf(stderr, "bench-unwind: %s\n", error_text(err));
	bench_deinit(&bench);
	return err ? 1 : 0;
}
