/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-userland: what following a guest's processes takes. A guest in this process's memory runs
 * processes that have mapped what this very program has, libraries shared. Each read of guest
 * memory costs a process_vm_readv(), as of a live guest.
 *
 * First the time from nothing to a user frame with a name, step by step; then the memory that a
 * recording of 1, 10 and 100 such processes takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/file.h"
#include "build-program.h"
#include "engine/recording.h"
#include "guest/file.h"
#include "symbols/elf-file.h"
#include "unwind/cfi-table.h"

#define PAGE 4096ULL
#define MAX_FILES 64
#define MAX_MAPS 200
#define MAX_FILE (64ULL << 20)
#define ROUNDS 20

struct map {
	u64 start, end, offset;
	u32 flags;		/* BUILD_VM_* */
	int file;		/* -1: none */
};

struct bench {
	struct build_program program;
	struct mem_reader reader;	/* of the guest's memory, as dear as a live guest's */
	struct map maps[MAX_MAPS];
	size_t nr_maps;
	struct {
		char path[256];
		u64 file;		/* guest's struct file */
	} files[MAX_FILES];
	size_t nr_files;
	u64 libc_pc;			/* an address in libc's code */
};

static struct bench bench;

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "bench-userland: %s: %s\n", what, error_text(err));
	exit(1);
}

static int read_as_live(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	static u8 room[64 * PAGE];
	struct iovec local = { room, MIN(size, sizeof(room)) }, remote = { out, local.iov_len };
	int err = mem_read(mem_fake_reader(bench.program.guest.mem), gpa, out, size);

	(void)reader;
	if (!err && process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0)
		return -errno;
	return err;
}

/* The guest's file of that name, all of it cached; -1: not to be read. */
static int add_file(const char *path)
{
	struct build_process *p = &bench.program.process;
	_cleanup_free_ char *data = NULL;
	const char *slash = strrchr(path, '/');
	size_t size;
	u64 inode;

	for (size_t i = 0; i < bench.nr_files; i++)
		if (!strcmp(bench.files[i].path, path))
			return i;
	if (bench.nr_files == MAX_FILES || file_read(AT_FDCWD, path, MAX_FILE, &data, &size))
		return -1;
	snprintf(bench.files[bench.nr_files].path, sizeof(bench.files[0].path), "%s", path);
	bench.files[bench.nr_files].file = build_named_file(p, slash + 1, 1000 + bench.nr_files,
							    size);
	inode = build_get(p, bench.files[bench.nr_files].file + BUILD_FILE_INODE);
	for (u64 at = 0; at < size; at += PAGE) {
		u64 pfn = build_folio(p, inode, at / PAGE, 0);

		check(mem_fake_set(bench.program.guest.mem, GPA(pfn * PAGE), data + at,
				   MIN(PAGE, size - at)), "a page");
		build_cache_store(p, inode, at / PAGE, 0, build_page(pfn));
	}
	return bench.nr_files++;
}

/* What this program has mapped. */
static void read_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	check(maps ? 0 : -errno, "/proc/self/maps");
	while (fgets(line, sizeof(line), maps) && bench.nr_maps < MAX_MAPS) {
		struct map map = { .file = -1 };
		char mode[5], path[256] = "";

		if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %255s", &map.start, &map.end, mode,
			   &map.offset, path) < 4 || map.start >> 47)
			continue;
		map.flags = (mode[0] == 'r' ? BUILD_VM_READ : 0) |
			    (mode[1] == 'w' ? BUILD_VM_WRITE : 0) |
			    (mode[2] == 'x' ? BUILD_VM_EXEC : 0);
		if (path[0] == '/')
			map.file = add_file(path);
		if (strstr(path, "libc.so") && mode[2] == 'x')
			bench.libc_pc = (u64)(uintptr_t)qsort;
		bench.maps[bench.nr_maps++] = map;
	}
	fclose(maps);
}

/* Makes another process the one that the builder knows. */
static struct wire_task make_process(u32 pid)
{
	struct build_process *p = &bench.program.process;
	u64 fs = p->fs, task = build_object(p, 256, 64), mm = build_object(p, BUILD_MM_BYTES, 64);

	build_set_u32(p, task + BUILD_TASK_PID, pid);
	build_set_u32(p, task + BUILD_TASK_TGID, pid);
	build_set(p, task + BUILD_TASK_MM, mm);
	build_set(p, task + BUILD_TASK_START, pid);
	build_set(p, task + BUILD_TASK_LEADER, task);
	build_set(p, task + BUILD_TASK_FS, fs);
	build_set(p, mm + BUILD_MM_TASK_SIZE, 0x7ffffffff000);
	build_set(p, mm + BUILD_MM_TOTAL, 100);
	p->mm = mm;
	p->nr_vmas = 0;
	for (size_t i = 0; i < bench.nr_maps; i++) {
		const struct map *map = &bench.maps[i];

		build_vma(p, map->start, map->end, map->flags,
			  map->file < 0 ? 0 : bench.files[map->file].file,
			  map->file < 0 ? 0 : map->offset / PAGE);
	}
	build_hang_mappings(p, 4, BUILD_MAPLE_ARANGE);
	return (struct wire_task){ .task = task, .mm = mm, .tid = pid, .pid = pid,
				   .comm = "bench" };
}

static double since_ms(u64 *start)
{
	u64 now = clock_now_ns(), before = *start;

	*start = now;
	return (now - before) / 1e6;
}

static struct symtab *read_symbols(const struct file_image *image)
{
	_cleanup_(elf_file_close) struct elf_file *elf = NULL;
	struct symtab *symtab;

	check(elf_file_open_memory(image->data, image->size, &elf), "the C library");
	check(symtab_create(&symtab), "a table of symbols");
	check(elf_file_add_symbols(elf, elf, symtab), "its symbols");
	check(symtab_finish(symtab), "its symbols");
	return symtab;
}

/* The best of all rounds, of each step: others use this machine, too. */
struct steps {
	double process, read, rules, stored, named;	/* ms */
	char name[64];
};

static void note(double *best, u64 *start)
{
	double ms = since_ms(start);

	*best = *best ? MIN(*best, ms) : ms;
}

static void find_first_name(const struct guest *guest, const struct wire_task *task,
			    const char *dir, struct steps *steps)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(guest_process_destroy) struct guest_process *process = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	const struct guest_mapping *mapping;
	const struct symbol *symbol;
	struct build_id id;
	u64 start = clock_now_ns();

	check(guest_process_read(guest, task, &process), "the process");
	note(&steps->process, &start);
	mapping = guest_process_find(process, GVA(bench.libc_pc));
	check(mapping && mapping->file < process->files.nr ? 0 : -ENOENT, "libc's mapping");
	check(guest_file_image(guest, process, mapping->file, &image), "libc's bytes");
	check(guest_image_build_id(image, &id), "libc's build id");
	note(&steps->read, &start);
	check(cfi_table_from_image(image, &table), "libc's rules");
	note(&steps->rules, &start);
	check(symcache_create(dir, &cache), "a cache");
	check(symcache_add_image(cache, &id, "/usr/libc.so.6", image, NULL), "the cache");
	note(&steps->stored, &start);
	symtab = read_symbols(image);
	symbol = symtab_find(symtab, bench.libc_pc - mapping->start.addr + mapping->offset);
	note(&steps->named, &start);
	snprintf(steps->name, sizeof(steps->name), "%s",
		 symbol ? symtab_name(symtab, symbol) : "?");
}

static u64 resident_kb(void)
{
	_cleanup_free_ char *text = NULL;
	const char *at;

	malloc_trim(0);
	if (file_read(AT_FDCWD, "/proc/self/status", 1 << 16, &text, NULL))
		return 0;
	at = strstr(text, "VmRSS:");
	return at ? strtoull(at + 6, NULL, 10) : 0;
}

static void add_sample(struct recording *recording, const struct wire_task *task, u64 time)
{
	struct build_sample build;
	struct build_stack stack;
	struct sample sample;

	build_stack_init(&stack, 0x7ffffffff000);
	for (unsigned int i = 0; i < 64; i++)
		build_stack_push(&stack, bench.libc_pc);
	build_sample_init(&build, bench.libc_pc, stack.sp);
	build.wire.flags = WIRE_F_USER | WIRE_F_TASK;
	build.wire.time = time;
	build.wire.regs.user = 1;
	build.wire.user_pc = bench.libc_pc;
	build.wire.user_sp = stack.sp;
	build.wire.task = *task;
	build_sample_stack(&build, WIRE_STACK_USER, &stack, WIRE_MAX_STACK_BYTES, STOP_COMPLETE);
	check(build_sample_finish(&build, &sample), "a sample");
	check(recording_add(recording, &sample), "recording");
	build_sample_deinit(&build);
}

/* Ten samples of each process, which come in turn. */
static void report_memory(const struct wire_task *tasks, unsigned int nr)
{
	static const struct capture_event cpu_clock = {
		.name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .freq = 997,
	};
	const struct recording_options options = {
		.path = "/dev/null",
		.name = "vm",
		.events = &cpu_clock,
		.nr_events = 1,
		.nr_vcpus = 1,
		.memory = 1 << 20,
	};
	struct vcpu_regs regs = build_guest_regs(&bench.program.guest);
	struct recording *recording;
	u64 before = resident_kb(), identified, after;

	check(recording_create(&bench.reader, &options, &recording), "a recording");
	check(recording_identify(recording, &regs, NULL), "the guest");
	identified = resident_kb();
	for (unsigned int i = 0; i < 10 * nr; i++)
		add_sample(recording, &tasks[i % nr], 1000000000ULL + i * 1000000ULL);
	after = resident_kb();
	printf("memory: %3u process%s %6llu KiB, beside %llu KiB of the recording without any\n",
	       nr, nr == 1 ? ": " : "es:", (unsigned long long)(after - MIN(after, identified)),
	       (unsigned long long)(identified - MIN(identified, before)));
	recording_destroy(recording);
}

/* In a process of its own: what another one left in the heap does not count. */
static void in_child(const struct wire_task *tasks, unsigned int nr)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		report_memory(tasks, nr);
		exit(0);
	}
	check(pid < 0 || waitpid(pid, NULL, 0) < 0 ? -errno : 0, "a child");
}

static void time_first_name(const struct wire_task *task)
{
	char dir[] = "/tmp/kvmprof-bench.XXXXXX", command[64];
	struct vcpu_regs regs = build_guest_regs(&bench.program.guest);
	struct steps best = { 0 };
	struct guest *guest;

	check(mkdtemp(dir) ? 0 : -errno, "a folder");
	check(guest_create(&bench.reader, NULL, &guest), "the guest");
	check(guest_identify(guest, &regs, NULL), "the guest");
	for (unsigned int i = 0; i < ROUNDS; i++) {
		char cache[64];

		snprintf(cache, sizeof(cache), "%s/%u", dir, i);
		find_first_name(guest, task, cache, &best);
	}
	printf("first name: process read %.2f ms, libc read %.2f, rules %.2f, stored %.2f, "
	       "symbols %.2f: %.1f ms to %s\n", best.process, best.read, best.rules, best.stored,
	       best.named, best.process + best.read + best.rules + best.stored + best.named,
	       best.name);
	guest_destroy(guest);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	check(system(command) ? -EIO : 0, "the folder");
}

int main(void)
{
	static struct wire_task tasks[100];

	build_program_init(&bench.program);
	bench.reader.read = read_as_live;
	read_maps();
	check(bench.libc_pc ? 0 : -ENOENT, "the C library");
	for (unsigned int i = 0; i < ARRAY_SIZE(tasks); i++)
		tasks[i] = make_process(5000 + i);
	printf("%zu mappings of %zu files\n", bench.nr_maps, bench.nr_files);
	time_first_name(&tasks[0]);
	for (unsigned int nr = 1; nr <= ARRAY_SIZE(tasks); nr *= 10)
		in_child(tasks, nr);
	build_program_deinit(&bench.program);
	return 0;
}
