/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-user-perf [--time] FILE: unwinds the stack copies of a file that `perf record --call-graph
 * dwarf -e cpu-clock:u` made of one program, by the rules of the files that the program had mapped,
 * and prints the chains as `perf script -F ip` does. With --time
 * only what unwinding takes, the rules being there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arch/x86-call.h"
#include "base/cursor.h"
#include "base/errors.h"
#include "base/vec.h"
#include "model/sample.h"
#include "unwind/cfi-table.h"
#include "unwind/unwind.h"

#define ROUNDS 7U
#define MAX_DEPTH 127		/* perf's, which is the kernel's */

/* What a sample consists of here; the two in brackets of the format are stepped over. */
#define NEEDED (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | \
		PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define ALLOWED (NEEDED | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC)

struct file {
	const u8 *data;
	size_t size;
};

struct object {
	char *path;
	struct file file;
	struct cfi_table *table;	/* NULL: it has no rules */
};

struct mapping {
	u64 start, end, pgoff;
	size_t object;
};

struct record {
	struct wire_sample wire;
	u8 stack[WIRE_MAX_STACK_BYTES];
};

struct bench {
	struct file recording;
	struct record record __attribute__((aligned(8)));
	struct perf_event_attr attr;
	u64 data, data_end;		/* of the records, in the file */
	u64 exec_time;			/* mappings before it are not the program's */
	VEC(struct object) objects;
	VEC(struct mapping) mappings;
	u64 nr_chains, nr_frames, bytes;
};

static int map_file(int fd, struct file *ret)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st))
		return -errno;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = (struct file){ map, st.st_size };
	return 0;
}

static int read_header(struct bench *b)
{
	u64 attr_size, attrs, size;
	struct cursor c;

	cursor_init(&c, b->recording.data, b->recording.size);
	if (cursor_u64(&c) != 0x32454c4946524550ULL)	/* PERFILE2 */
		return -EBADMSG;
	cursor_skip(&c, 8);
	attr_size = cursor_u64(&c);
	attrs = cursor_u64(&c);
	size = cursor_u64(&c);
	b->data = cursor_u64(&c);
	b->data_end = b->data + cursor_u64(&c);
	cursor_init(&c, b->recording.data, b->recording.size);
	cursor_skip(&c, attrs);
	cursor_copy(&c, &b->attr, MIN(sizeof(b->attr), (size_t)attr_size));
	if (cursor_error(&c) || b->data_end > b->recording.size)
		return -ENODATA;
	if (size != attr_size || b->attr.sample_type & ~(u64)ALLOWED ||
	    (b->attr.sample_type & NEEDED) != NEEDED || !b->attr.sample_id_all)
		return -EOPNOTSUPP;
	return 0;
}

/* The next record of the file, from .data on; false at the end. */
static bool next_record(const struct bench *b, u64 *at, struct perf_event_header *header,
			struct cursor *ret)
{
	if (b->data_end - *at < sizeof(*header))
		return false;
	memcpy(header, b->recording.data + *at, sizeof(*header));
	if (header->size < sizeof(*header) || header->size > b->data_end - *at)
		return false;
	cursor_init(ret, b->recording.data + *at + sizeof(*header),
		    header->size - sizeof(*header));
	*at += header->size;
	return true;
}

/* The last of what follows a record that is no sample. */
static u64 record_time(const struct cursor *record)
{
	u64 time;

	memcpy(&time, record->end - sizeof(time), sizeof(time));
	return time;
}

static int add_object(struct bench *b, const char *path, size_t *ret)
{
	_cleanup_close_ int fd = -1;
	struct object object = { .path = strdup(path) };
	int err;

	for (*ret = 0; *ret < b->objects.nr; ++*ret)
		if (!strcmp(b->objects.data[*ret].path, path)) {
			free(object.path);
			return 0;
		}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = !object.path ? -ENOMEM : fd < 0 ? -errno : map_file(fd, &object.file);
	if (!err)
		err = cfi_table_from_file(fd, &object.table);
	if (!err || err == -ENOENT)
		err = vec_push(&b->objects, object);
	return err;
}

static int add_mapping(struct bench *b, struct cursor record)
{
	struct mapping mapping;
	const char *path;

	if (record_time(&record) < b->exec_time)
		return 0;
	cursor_skip(&record, 8);
	mapping.start = cursor_u64(&record);
	mapping.end = mapping.start + cursor_u64(&record);
	mapping.pgoff = cursor_u64(&record);
	cursor_skip(&record, 24);
	if (!(cursor_u32(&record) & PROT_EXEC))
		return 0;
	cursor_skip(&record, 4);
	path = cursor_string(&record, 4096, NULL);
	if (!path || *path != '/' || add_object(b, path, &mapping.object))
		return 0;
	return vec_push(&b->mappings, mapping);
}

/* Records are in the order of the CPUs' buffers: first when the program began, then its maps. */
static int read_mappings(struct bench *b)
{
	struct perf_event_header header;
	struct cursor record;
	int err = 0;

	for (u64 at = b->data; next_record(b, &at, &header, &record);)
		if (header.type == PERF_RECORD_COMM && header.misc & PERF_RECORD_MISC_COMM_EXEC)
			b->exec_time = record_time(&record);
	for (u64 at = b->data; !err && next_record(b, &at, &header, &record);)
		if (header.type == PERF_RECORD_MMAP2)
			err = add_mapping(b, record);
	return err ? err : b->mappings.nr ? 0 : -ENOENT;
}

static const struct mapping *find_mapping(const struct bench *b, u64 pc)
{
	for (size_t i = 0; i < b->mappings.nr; i++)
		if (pc >= b->mappings.data[i].start && pc < b->mappings.data[i].end)
			return &b->mappings.data[i];
	return NULL;
}

static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct bench *b = ctx;
	const struct mapping *mapping = find_mapping(b, pc.addr);
	const struct cfi_table *table = mapping ? b->objects.data[mapping->object].table : NULL;
	u64 address;

	if (!table || cfi_table_address(table, pc.addr - mapping->start + mapping->pgoff, &address))
		return -ENOENT;
	return cfi_table_find(table, address, ret_row);
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	const struct bench *b = ctx;
	const struct mapping *mapping = find_mapping(b, ret_addr.addr - 1);
	const struct file *file;
	u64 offset;

	(void)user;
	if (!mapping)
		return -EBADMSG;
	file = &b->objects.data[mapping->object].file;
	offset = ret_addr.addr - mapping->start + mapping->pgoff;
	if (offset < X86_CALL_MAX || offset > file->size)
		return -EFAULT;
	return x86_call_ends_at((u8 *)file->data + offset - X86_CALL_MAX, X86_CALL_MAX) ?
		       0 : -EBADMSG;
}

static const struct unwind_ops ops = {
	.check_call = check_call,
	.find_user_row = find_user_row,
};

/* By the numbers of <asm/perf_regs.h> to those of the psABI. */
static void read_registers(struct cursor *c, u64 mask, struct vcpu_regs *regs)
{
	static const s8 numbers[64] = {
		X86_RAX, X86_RBX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_RBP, X86_RSP,
		-1, -1, -1, -1, -1, -1, -1, -1,
		X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	};

	for (unsigned int i = 0; i < 24; i++) {
		u64 value = mask >> i & 1 ? cursor_u64(c) : 0;

		if (i == 8)
			regs->pc = value;
		else if (numbers[i] >= 0)
			regs->gpr[numbers[i]] = value;
	}
}

/* 1: a sample of user mode with a stack, made into a record of capture's. */
static int read_sample(struct bench *b, struct cursor c)
{
	struct wire_sample *wire = &b->record.wire;
	u64 size, dynamic, nr;
	const void *stack;

	cursor_skip(&c, 8 + 8 + 8);
	if (b->attr.sample_type & PERF_SAMPLE_ADDR)
		cursor_skip(&c, 8);
	cursor_skip(&c, 8);
	nr = cursor_u64(&c);
	cursor_skip(&c, nr * 8);
	if (!cursor_u64(&c))
		return 0;
	read_registers(&c, b->attr.sample_regs_user, &wire->regs);
	size = cursor_u64(&c);
	stack = cursor_bytes(&c, size);
	dynamic = size ? cursor_u64(&c) : 0;
	if (cursor_error(&c) || !stack || dynamic > size)
		return 0;
	size = MIN(dynamic, (u64)WIRE_MAX_STACK_BYTES) & ~7ULL;
	memcpy(b->record.stack, stack, size);
	wire->size = sizeof(*wire) + size;
	wire->stacks[0].gva = wire->regs.gpr[X86_RSP];
	wire->stacks[0].size = size;
	return 1;
}

static void init_record(struct record *record)
{
	struct wire_sample *wire = &record->wire;

	wire->type = WIRE_SAMPLE;
	wire->flags = WIRE_F_USER;
	wire->regs.arch = VCPU_ARCH_X86_64;
	wire->regs.bits = 64;
	wire->regs.user = 1;
	wire->user_frames_offset = sizeof(*wire);
	wire->nr_stacks = 1;
	wire->stacks[0] = (struct wire_stack){
		.offset = sizeof(*wire), .kind = WIRE_STACK_USER, .stop = STOP_STACK_CUT,
	};
}

/* A line of perf script. */
static void print_number(u64 number)
{
	char line[] = "\t                0\n";
	char *p = line + sizeof(line) - 3;

	for (; number; number >>= 4)
		*p-- = "0123456789abcdef"[number & 15];
	fwrite_unlocked(line, 1, sizeof(line) - 1, stdout);
}

static void print_chain(const struct bench *b, const struct chain *chain)
{
	for (u32 i = 0; i < chain->nr; i++) {
		const struct frame *frame = &chain->frames[i];
		u64 ip = frame->ip - !!(frame->flags & FRAME_F_RETURN);
		const struct mapping *mapping = find_mapping(b, ip);

		print_number(mapping ? ip - mapping->start + mapping->pgoff : ip);
	}
	putchar_unlocked('\n');
}

static int unwind_one(struct bench *b, struct cursor record, struct chain *ret)
{
	const struct unwinder unwinder = { &ops, b, MAX_DEPTH };
	struct sample sample;
	int err;

	ret->nr = 0;
	if (!read_sample(b, record))
		return 0;
	err = sample_init(&sample, &b->record, b->record.wire.size);
	if (err)
		return err;
	unwind_sample(&unwinder, &sample, ret);
	b->nr_chains++;
	b->nr_frames += ret->nr;
	b->bytes += b->record.wire.stacks[0].size;
	return 0;
}

/* All samples of the file. */
static int unwind_all(struct bench *b, bool print)
{
	static struct chain chain;
	struct perf_event_header header;
	struct cursor record;
	int err = 0;

	b->nr_chains = b->nr_frames = b->bytes = 0;
	for (u64 at = b->data; !err && next_record(b, &at, &header, &record);) {
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		err = unwind_one(b, record, &chain);
		if (!err && print)
			print_chain(b, &chain);
	}
	return err ? err : b->nr_chains ? 0 : -ENOENT;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* CPU time, for others may be running; the best of ROUNDS. */
static int time_all(struct bench *b)
{
	double best = 0;
	int err = 0;

	for (unsigned int round = 0; round < ROUNDS && !err; round++) {
		double begin = cpu_ns(), ns;

		err = unwind_all(b, false);
		ns = cpu_ns() - begin;
		best = !round || ns < best ? ns : best;
	}
	if (!err)
		printf("%llu chains, %.1f frames, copies of %llu bytes: %.0f chains/s, "
		       "%.0f ns a frame\n",
		       (unsigned long long)b->nr_chains, (double)b->nr_frames / b->nr_chains,
		       (unsigned long long)(b->bytes / b->nr_chains), b->nr_chains * 1e9 / best,
		       best / b->nr_frames);
	return err;
}

static int run(struct bench *b, bool timed)
{
	int err = read_header(b);

	if (!err)
		err = read_mappings(b);
	if (!err)
		err = timed ? time_all(b) : unwind_all(b, true);
	return err;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	bool timed = argc == 3 && !strcmp(argv[1], "--time");
	_cleanup_close_ int fd = -1;
	int err;

	if (argc != 2 && !timed) {
		fprintf(stderr, "usage: %s [--time] FILE\n", argv[0]);
		return 2;
	}
	init_record(&bench.record);
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : map_file(fd, &bench.recording);
	if (!err)
		err = run(&bench, timed);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[argc - 1], error_text(err));
	vec_for_each(&bench.objects, object) {
		cfi_table_destroy(object->table);
		munmap((void *)object->file.data, object->file.size);
		free(object->path);
	}
	vec_deinit(&bench.objects);
	vec_deinit(&bench.mappings);
	return err ? 1 : 0;
}
