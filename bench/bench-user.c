/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-user: what unwinding user space by call frame information costs, over copies of this very
 * program's stack of three sizes, and what elfutils (libdwfl) takes for the same chains; both
 * have to come to the same frames. And what making the table of the C library costs.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "arch/x86-call.h"
#include "base/clock.h"
#include "base/errors.h"
#include "build-sample.h"
#include "callers.h"
#include "unwind/cfi-table.h"
#include "unwind/unwind.h"

#define NR_STACKS 64U
#define NR_CHAINS 8192U
#define NR_PEER_CHAINS 256U
#define ROUNDS 5U
#define TID 1

struct shot {
	u64 gpr[16];
	u64 pc;
	u8 stack[WIRE_MAX_STACK_BYTES] __attribute__((aligned(8)));
};

struct bench {
	struct shot shots[NR_STACKS];
	struct build_sample builds[NR_STACKS];
	struct sample samples[NR_STACKS];
	struct cfi_table *table;	/* of this program */
	u64 base, end;			/* where it is loaded */
	u32 size;			/* of the copies */
	Dwfl *dwfl;
	struct shot *peer_shot;
	u64 peer_frames[CHAIN_MAX_FRAMES];
	u32 nr_peer_frames;
};

static struct bench bench;

static __attribute__((noinline)) void take(void *arg)
{
	static const u8 order[] = {
		X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15, X86_RDI,
		X86_RSI, X86_RBP, X86_RBX, X86_RDX, X86_RAX, X86_RCX, X86_RSP,
	};
	static ucontext_t context;	/* large: not on the stack that is copied */
	struct shot *shot = arg;

	getcontext(&context);
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		shot->gpr[order[i]] = context.uc_mcontext.gregs[i];
	shot->pc = context.uc_mcontext.gregs[REG_RIP];
	memcpy(shot->stack, (void *)(uintptr_t)shot->gpr[X86_RSP], sizeof(shot->stack));
}

static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct bench *b = ctx;

	return pc.addr - b->base < b->end - b->base ?
		       cfi_table_find(b->table, pc.addr - b->base, ret_row) :
		       -ENOENT;
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	const struct bench *b = ctx;

	(void)user;
	if (ret_addr.addr - b->base >= b->end - b->base)
		return -EBADMSG;
	return x86_call_ends_at((u8 *)(uintptr_t)(ret_addr.addr - X86_CALL_MAX), X86_CALL_MAX) ?
		       0 :
		       -EBADMSG;
}

static const struct unwind_ops ops = {
	.check_call = check_call,
	.find_user_row = find_user_row,
};

/* The first object is the program itself. */
static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct bench *b = arg;

	(void)size;
	b->base = info->dlpi_addr;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			b->end = b->base + info->dlpi_phdr[i].p_vaddr +
				 info->dlpi_phdr[i].p_memsz;
	return 1;
}

static int make_samples(struct bench *b, u32 size)
{
	int err = 0;

	b->size = size;
	for (u32 i = 0; i < NR_STACKS && !err; i++) {
		struct build_sample *build = &b->builds[i];
		const struct shot *shot = &b->shots[i];

		build_sample_deinit(build);
		build_sample_init(build, shot->pc, 0);
		memcpy(build->wire.regs.gpr, shot->gpr, sizeof(shot->gpr));
		build->wire.flags = WIRE_F_USER;
		build->wire.regs.user = 1;
		strbuf_add(&build->stacks[0], shot->stack, size);
		build->wire.stacks[0] = (struct wire_stack){
			.gva = shot->gpr[X86_RSP],
			.size = size,
			.kind = WIRE_STACK_USER,
			.stop = STOP_STACK_CUT,
		};
		build->wire.nr_stacks = 1;
		err = build_sample_finish(build, &b->samples[i]);
	}
	return err;
}

/* elfutils' unwinder over the same copies. */

static char *debuginfo_path;
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debuginfo_path,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return TID;
}

static bool peer_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct bench *b = arg;
	u64 skip = addr - b->peer_shot->gpr[X86_RSP];

	(void)dwfl;
	if (skip > b->size - sizeof(*result))
		return false;
	memcpy(result, b->peer_shot->stack + skip, sizeof(*result));
	return true;
}

static bool peer_registers(Dwfl_Thread *thread, void *arg)
{
	const struct bench *b = arg;
	Dwarf_Word regs[17];

	for (unsigned int i = 0; i < 16; i++)
		regs[i] = b->peer_shot->gpr[i];
	regs[16] = b->peer_shot->pc;
	return dwfl_thread_state_registers(thread, 0, ARRAY_SIZE(regs), regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = peer_read,
	.set_initial_registers = peer_registers,
};

static int peer_frame(Dwfl_Frame *state, void *arg)
{
	struct bench *b = arg;
	Dwarf_Addr pc;

	if (b->nr_peer_frames == ARRAY_SIZE(b->peer_frames) || !dwfl_frame_pc(state, &pc, NULL))
		return DWARF_CB_ABORT;
	b->peer_frames[b->nr_peer_frames++] = pc;
	return DWARF_CB_OK;
}

static int peer_init(struct bench *b)
{
	b->dwfl = dwfl_begin(&callbacks);
	if (!b->dwfl)
		return -ENOMEM;
	if (!dwfl_report_elf(b->dwfl, "self", "/proc/self/exe", -1, b->base, false) ||
	    dwfl_report_end(b->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(b->dwfl, NULL, TID, &thread_callbacks, b))
		return -EBADMSG;
	return 0;
}

/* It ends in an error where the copy ends. */
static void peer_unwind(struct bench *b, u32 i)
{
	b->peer_shot = &b->shots[i];
	b->nr_peer_frames = 0;
	dwfl_getthread_frames(b->dwfl, TID, peer_frame, b);
}

/* Both come to the same frames. How many all chains have. */
static int compare(struct bench *b, u64 *ret_frames)
{
	static struct chain chain;
	struct unwinder unwinder = { &ops, b, 0 };
	u64 nr = 0;

	for (u32 i = 0; i < NR_STACKS; i++) {
		unwind_sample(&unwinder, &b->samples[i], &chain);
		peer_unwind(b, i);
		if (chain.user_stop != STOP_STACK_CUT || chain.nr != b->nr_peer_frames)
			return -EBADMSG;
		for (u32 k = 0; k < chain.nr; k++)
			if (chain.frames[k].ip != b->peer_frames[k])
				return -EBADMSG;
		nr += chain.nr;
	}
	*ret_frames = nr;
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* ns for a chain, the best of ROUNDS. */
static double time_own(struct bench *b)
{
	static struct chain chain;
	struct unwinder unwinder = { &ops, b, 0 };
	double best = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		double start = now(), ns;

		for (u32 i = 0; i < NR_CHAINS; i++)
			unwind_sample(&unwinder, &b->samples[i % NR_STACKS], &chain);
		ns = (now() - start) / NR_CHAINS;
		best = !best || ns < best ? ns : best;
	}
	return best;
}

static double time_peer(struct bench *b)
{
	double best = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		double start = now(), ns;

		for (u32 i = 0; i < NR_PEER_CHAINS; i++)
			peer_unwind(b, i % NR_STACKS);
		ns = (now() - start) / NR_PEER_CHAINS;
		best = !best || ns < best ? ns : best;
	}
	return best;
}

static int measure(struct bench *b, u32 size)
{
	double own, peer;
	u64 frames;
	int err = make_samples(b, size);

	if (!err)
		err = compare(b, &frames);
	if (err)
		return err;
	own = time_own(b);
	peer = time_peer(b);
	printf("user, copies of %5u bytes, %5.1f frames: %8.0f chains/s, %4.0f ns a frame; ", size,
	       (double)frames / NR_STACKS, 1e9 / own, own * NR_STACKS / frames);
	printf("elfutils %7.0f chains/s, %4.0f ns\n", 1e9 / peer, peer * NR_STACKS / frames);
	return 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	int *fd = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	return 1;
}

/* All rows of it, by elfutils. */
static double time_peer_table(int fd, const struct cfi_table *table)
{
	double start = now();
	Dwarf_CFI *cfi;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	for (u32 i = 0; cfi && i < table->nr; i++) {
		Dwarf_Frame *frame = NULL;

		if (!dwarf_cfi_addrframe(cfi, table->start + table->offset[i], &frame))
			free(frame);
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	return now() - start;
}

static int measure_table(void)
{
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	_cleanup_close_ int fd = -1;
	double start, own;
	int err;

	dl_iterate_phdr(find_libc, &fd);
	start = now();
	err = fd < 0 ? -ENOENT : cfi_table_from_file(fd, &table);
	own = now() - start;
	if (err)
		return err;
	printf("user, the C library's table: %u functions, %u rows, %u rules, %zu bytes, %.1f ms; ",
	       table->nr_functions, table->nr, table->nr_rules, cfi_table_size(table), own / 1e6);
	printf("elfutils for its rows %.1f ms\n", time_peer_table(fd, table) / 1e6);
	return 0;
}

static int bench_init(struct bench *b)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char top;
	int err;

	if (fd < 0)
		return -errno;
	dl_iterate_phdr(find_self, b);
	for (u32 i = 0; i < NR_STACKS; i++)
		callers_call(i, &(struct callers){ &top, WIRE_MAX_STACK_BYTES + 1024, take,
						   &b->shots[i] });
	err = cfi_table_from_file(fd, &b->table);
	return err ? err : peer_init(b);
}

int main(void)
{
	static const u32 sizes[] = { 1024, 4096, 16384 };
	int err = bench_init(&bench);

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes) && !err; i++)
		err = measure(&bench, sizes[i]);
	if (!err)
		err = measure_table();
	if (err)
		fprintf(stderr, "bench-user: %s\n", error_text(err));
	dwfl_end(bench.dwfl);
	cfi_table_destroy(bench.table);
	for (u32 i = 0; i < NR_STACKS; i++)
		build_sample_deinit(&bench.builds[i]);
	return err ? 1 : 0;
}
