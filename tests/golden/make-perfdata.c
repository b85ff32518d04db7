/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make-perfdata FILE CACHE [host|anonymous]: a recording of a guest that never was, and what the
 * cache keeps of it. The cache knows the kernel and the module at the addresses of one boot, the
 * recording is of another. Three chains, of 50, 30 and 20 %.
 *
 * With "host" the guest runs the very kernel that this machine runs, as far as its build id and
 * its symbols tell. Exit status 77: that kernel does not show them. With "anonymous" it is that
 * kernel too, but its build id and that of the program are not known to the recording.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "perfdata/writer.h"
#include "symbols/cache.h"
#include "symbols/kallsyms-text.h"

#define RELEASE "6.1.0-18-amd64"
#define TEXT_SIZE 0x1800000ULL
#define CACHED_KERNEL 0xffffffff83000000ULL
#define RECORDED_KERNEL 0xffffffff9fe00000ULL
#define CACHED_MODULE 0xffffffffc0201000ULL
#define RECORDED_MODULE 0xffffffffc0a83000ULL
#define MODULE_SIZE 0x3000ULL
#define RECORDED_CODE 0xffffffffc0c00000ULL	/* a trampoline, and a BPF program a page later */

static const struct build_id guest_id = { 20, { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77 } };
static const struct build_id module_id = { 20, { 0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33 } };

/* The kernel's code, by its distance from _text. */
struct kernel {
	struct build_id id;	/* for the cache */
	bool anonymous;		/* the recording does not have it */
	struct strbuf cached;	/* kallsyms text for the cache */
	u64 entry, read, schedule;
};

static void put_symbol(struct kernel *kernel, u64 offset, char type, const char *name)
{
	strbuf_addf(&kernel->cached, "%llx %c %s\n",
		    (unsigned long long)(CACHED_KERNEL + offset), type, name);
}

static int made_up_kernel(struct kernel *kernel)
{
	kernel->id = guest_id;
	kernel->entry = 0x200000;
	kernel->read = 0x3000;
	kernel->schedule = 0x100000;
	put_symbol(kernel, 0, 'T', "_text");
	put_symbol(kernel, 0, 'T', "_stext");
	put_symbol(kernel, kernel->read, 'T', "vfs_read");
	put_symbol(kernel, kernel->read + 0x200, 't', "rw_verify_area");
	put_symbol(kernel, kernel->schedule, 'T', "schedule");
	put_symbol(kernel, kernel->schedule + 0x100, 't', "do_task_dead");
	put_symbol(kernel, kernel->entry, 'T', "do_syscall_64");
	put_symbol(kernel, kernel->entry + 0x100, 'T', "do_int80_syscall_32");
	put_symbol(kernel, TEXT_SIZE, 'T', "_etext");
	/* A module of that boot: of no use at any other, and not to be believed. */
	strbuf_addf(&kernel->cached, "%llx t wrong_name\t[testmod]\n", RECORDED_MODULE);
	return strbuf_error(&kernel->cached);
}

static int find_offset(const struct symtab *symtab, u64 text, const char *name, u64 *ret)
{
	const struct symbol *symbol = symtab_find_name(symtab, name);

	if (!symbol || !symbol_type_is_code(symbol->type) || symbol->start < text ||
	    symbol->start - text >= TEXT_SIZE)
		return -ENOENT;
	*ret = symbol->start - text;
	return 0;
}

static int host_build_id(struct build_id *ret)
{
	_cleanup_free_ char *notes = NULL;
	size_t size;
	int err = file_read(AT_FDCWD, "/sys/kernel/notes", 1 << 20, &notes, &size);

	return err ? err : build_id_from_notes(notes, size, false, ret);
}

/* This machine's kernel as it would have been loaded elsewhere. */
static int host_kernel(struct kernel *kernel)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *parsed = NULL;
	_cleanup_free_ char *text = NULL;
	const struct symtab *symtab;
	const struct symbol *start;
	size_t size;
	int err;

	err = host_build_id(&kernel->id);
	if (!err)
		err = file_read(AT_FDCWD, "/proc/kallsyms", KALLSYMS_MAX_TEXT, &text, &size);
	if (!err)
		err = kallsyms_text_read(text, size, 0, &parsed);
	if (err)
		return err;
	symtab = kallsyms_text_kernel(parsed);
	start = symtab_find_name(symtab, "_text");
	if (!start)
		return -ENOENT;
	err = find_offset(symtab, start->start, "do_syscall_64", &kernel->entry);
	if (!err)
		err = find_offset(symtab, start->start, "vfs_read", &kernel->read);
	if (!err)
		err = find_offset(symtab, start->start, "schedule", &kernel->schedule);
	for (size_t i = 0; i < symtab_nr(symtab) && !err; i++) {
		const struct symbol *symbol = symtab_at(symtab, i);

		if (symbol->start - start->start < 2 * TEXT_SIZE)
			put_symbol(kernel, symbol->start - start->start, symbol->type,
				   symtab_name(symtab, symbol));
	}
	return err ? err : strbuf_error(&kernel->cached);
}

static int fill_cache(const char *dir, const struct kernel *kernel)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	_cleanup_(symtab_destroy) struct symtab *module = NULL;
	struct elf_synth synth = {
		.start = CACHED_MODULE,
		.size = MODULE_SIZE,
		.machine = EM_X86_64,
		.build_id = module_id,
	};
	int err;

	err = symcache_create(dir, &cache);
	if (!err)
		err = symcache_add_kallsyms(cache, &kernel->id, kernel->cached.data,
					    kernel->cached.len);
	if (!err)
		err = symtab_create(&module);
	if (!err)
		err = symtab_add(module, CACHED_MODULE, 0, 't', "testmod_read");
	if (!err)
		err = symtab_add(module, CACHED_MODULE + 0x400, 0, 'T', "testmod_write");
	if (!err)
		err = symtab_finish(module);
	if (err)
		return err;
	synth.symbols = module;
	return symcache_add_module(cache, RELEASE, "testmod", &synth);
}

/*
 * One of the three chains; the innermost address is in the kernel, the module or the program. The
 * kernel's come first: what perf then makes of its symbols must not spoil the module's.
 */
static int add_sample(struct perfdata_writer *writer, const struct kernel *kernel, int i)
{
	const u64 in_module[] = {
		PERF_CONTEXT_KERNEL, RECORDED_MODULE + 0x410, RECORDED_KERNEL + kernel->read + 0x18,
		RECORDED_KERNEL + kernel->entry + 0x35, PERF_CONTEXT_USER, 0x401136, 0x401150,
	};
	const u64 in_kernel[] = {
		PERF_CONTEXT_KERNEL, RECORDED_KERNEL + kernel->schedule + 0x20,
		RECORDED_CODE + 0x21, RECORDED_CODE + 0x1010,
		RECORDED_KERNEL + kernel->entry + 0x35, PERF_CONTEXT_USER, 0x401140,
	};
	const u64 in_user[] = { PERF_CONTEXT_USER, 0x401160, 0x401150 };
	struct perfdata_sample sample = {
		.pid = 100, .tid = 101, .cpu = i % 2, .time = 1000000000ULL + i * 1000000ULL,
		.period = 1000000, .ips = in_kernel, .nr_ips = ARRAY_SIZE(in_kernel),
	};

	if (i % 10 >= 8) {
		sample.user = true;
		sample.pid = sample.tid = 200;
		sample.ips = in_user;
		sample.nr_ips = ARRAY_SIZE(in_user);
	} else if (i % 10 >= 3) {
		sample.ips = in_module;
		sample.nr_ips = ARRAY_SIZE(in_module);
	}
	sample.ip = sample.ips[1];
	return perfdata_writer_sample(writer, &sample);
}

/* A program of which the host has one of the same name. */
static int add_program(struct perfdata_writer *writer)
{
	const struct perfdata_mmap mmap = {
		.pid = 200, .tid = 200, .start = 0x400000, .len = 0x100000, .prot = 5, .flags = 2,
		.filename = "/proc/self/exe", .time = 900000000,
	};

	return perfdata_writer_mmap(writer, &mmap);
}

/* What the kernel made itself; a program that was there before is none of the samples'. */
static int add_code(struct perfdata_writer *writer)
{
	static const struct perfdata_ksymbol code[] = {
		{ .start = RECORDED_CODE, .len = 0xb3, .name = "ftrace_trampoline" },
		{ .start = RECORDED_CODE + 0x1000, .len = 0x40, .bpf = true,
		  .name = "bpf_prog_0123456789abcdef_gone" },
		{ .start = RECORDED_CODE + 0x1000, .len = 0x40, .bpf = true, .gone = true,
		  .name = "", .time = 1 },
		{ .start = RECORDED_CODE + 0x1000, .len = 0x80, .bpf = true,
		  .name = "bpf_prog_6deef7357e7b4530", .time = 2 },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(code) && !err; i++)
		err = perfdata_writer_ksymbol(writer, &code[i]);
	return err;
}

static int add_records(struct perfdata_writer *writer, const struct kernel *kernel)
{
	int err = perfdata_writer_kernel(writer, &(struct perfdata_kernel){
		.start = RECORDED_KERNEL,
		.end = RECORDED_KERNEL + TEXT_SIZE,
		.ref = RECORDED_KERNEL,
		.ref_name = "_text",
		.build_id = kernel->anonymous ? NULL : kernel->id.data,
		.build_id_size = kernel->anonymous ? 0 : kernel->id.size,
	});

	if (!err && kernel->anonymous)
		err = add_program(writer);
	if (!err)
		err = perfdata_writer_module(writer, "testmod", RECORDED_MODULE, MODULE_SIZE,
					     module_id.data, module_id.size, 0);
	if (!err)
		err = add_code(writer);
	if (!err)
		err = perfdata_writer_comm(writer, 100, 101, "reader thread", false, 900000000);
	if (!err)
		err = perfdata_writer_comm(writer, 200, 200, "spinner", true, 900000000);
	for (int i = 0; i < 1000 && !err; i++)
		err = add_sample(writer, kernel, i);
	return err ? err : perfdata_writer_lost(writer, 3, 1500000000ULL);
}

static int write_file(const char *path, const struct kernel *kernel)
{
	static const char *const cmdline[] = { "kvmprof", "record", "--vm", "vm one", NULL };
	static const struct perfdata_writer_event event = {
		.name = "cpu-clock",
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.period_or_freq = 1000,
		.freq = true,
	};
	const struct perfdata_writer_options options = {
		.hostname = "vm one",
		.os_release = RELEASE,
		.arch = "x86_64",
		.cpu_desc = "Some Processor",
		.cmdline = cmdline,
		.nr_cpus = 2,
		.total_mem_kb = 524288,
		.events = &event,
		.nr_events = 1,
	};
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	int err = perfdata_writer_create(path, &options, &writer);

	if (!err)
		err = add_records(writer, kernel);
	if (!err)
		err = perfdata_writer_set_accounting(writer, "events: 1003\nlost: 3\n");
	return err ? err : perfdata_writer_finish(writer);
}

int main(int argc, char **argv)
{
	struct kernel kernel = { .cached = STRBUF_INIT };
	bool host = argc == 4;
	int err;

	if (argc != 3 && !host) {
		fprintf(stderr, "usage: %s FILE CACHE [host|anonymous]\n", argv[0]);
		return 2;
	}
	kernel.anonymous = host && !strcmp(argv[3], "anonymous");
	err = host ? host_kernel(&kernel) : made_up_kernel(&kernel);
	if (err && host)
		return 77;
	if (!err)
		err = fill_cache(argv[2], &kernel);
	if (!err)
		err = write_file(argv[1], &kernel);
	strbuf_deinit(&kernel.cached);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[0], error_text(err));
	return err ? 1 : 0;
}
