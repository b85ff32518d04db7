/* SPDX-License-Identifier: GPL-2.0-only */
/* From addresses to names: mappings in time, processes, where symbols come from, chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-elf.h"
#include "build-folder.h"
#include "model/wire.h"
#include "perfdata/place.h"
#include "symbols/cache.h"
#include "symbols/resolve.h"
#include "symbols/space.h"

#define FUNC ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define BASE 0x401000
#define KERNEL 0xffffffff9f000000ULL
#define MODULE 0xffffffffc0800000ULL
#define EXEC 5	/* readable and executable */

static const struct build_id kernel_id = { 20, { 1, 1, 1 } };
static const struct build_id module_id = { 20, { 2, 2, 2 } };
static const struct build_id program_id = { 20, { 3, 3, 3 } };
static const struct build_id other_id = { 20, { 4, 4, 4 } };

/* A folder that is the host's root, with the cache in it. */
struct world {
	char root[32];
	char cache[64];
	struct resolver *resolver;
};

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct resolver_options options = { 0 };

	*state = world;
	if (!world)
		return -1;
	strcpy(world->root, BUILD_FOLDER);
	if (!mkdtemp(world->root))
		return -1;
	snprintf(world->cache, sizeof(world->cache), "%s/cache", world->root);
	options.sources.root = world->root;
	options.sources.cache_dir = world->cache;
	return resolver_create(&options, &world->resolver);
}

static int teardown(void **state)
{
	struct world *world = *state;
	int err = build_folder_remove(world->root);

	resolver_destroy(world->resolver);
	free(world);
	return err;
}

static void write_program(struct world *world, const char *path, const char *function,
			  const struct build_id *id)
{
	const struct build_elf_symbol symbols[] = {
		{ function, BASE, 0x40, FUNC, 0, BUILD_ELF_TEXT },
		{ "_ZN2ns5outerEv", BASE + 0x40, 0x40, FUNC, 0, BUILD_ELF_TEXT },
	};
	const struct build_elf_load load = { BASE, BUILD_ELF_TEXT_OFFSET, 0x100, 0x100 };
	const struct build_elf spec = {
		.type = ET_EXEC, .text_addr = BASE, .symbols = symbols, .nr_symbols = 2,
		.loads = &load, .nr_loads = 1, .build_id = *id,
	};
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	char full[PATH_MAX];

	build_elf(&spec, &image);
	snprintf(full, sizeof(full), "%s%s", world->root, path);
	assert_int_equal(file_write_atomic(full, image.data, image.len), 0);
}

static void add_build_id(struct world *world, u16 misc, const struct build_id *id,
			 const char *filename)
{
	struct perfdata_build_id entry = { .misc = misc, .size = id->size, .filename = filename };

	memcpy(entry.id, id->data, id->size);
	assert_int_equal(resolver_add_build_id(world->resolver, &entry), 0);
}

static void take(struct world *world, const struct perfdata_record *record)
{
	assert_int_equal(resolver_record(world->resolver, record), 0);
}

static void map_file(struct world *world, u32 pid, u64 start, u64 len, u64 pgoff,
		     const char *filename)
{
	const struct perfdata_record record = {
		.kind = PERFDATA_MMAP, .type = PERF_RECORD_MMAP2, .cpumode = PERF_RECORD_MISC_USER,
		.pid = pid, .tid = pid,
		.mmap = { .start = start, .len = len, .pgoff = pgoff, .prot = EXEC,
			  .filename = filename },
	};

	take(world, &record);
}

static void map_kernel(struct world *world, u64 start, u64 len, u64 pgoff, const char *filename)
{
	const struct perfdata_record record = {
		.kind = PERFDATA_MMAP, .type = PERF_RECORD_MMAP,
		.cpumode = PERF_RECORD_MISC_KERNEL, .pid = -1,
		.mmap = { .start = start, .len = len, .pgoff = pgoff, .filename = filename },
	};

	take(world, &record);
}

static void take_code(struct world *world, u64 start, u32 len, const char *name, bool gone)
{
	const struct perfdata_record record = {
		.kind = PERFDATA_KSYMBOL, .type = PERF_RECORD_KSYMBOL,
		.ksymbol = { .start = start, .len = len, .name = name, .gone = gone },
	};

	take(world, &record);
}

static void set_comm(struct world *world, u32 pid, u32 tid, const char *comm)
{
	const struct perfdata_record record = {
		.kind = PERFDATA_COMM, .type = PERF_RECORD_COMM, .pid = pid, .tid = tid,
		.comm = { .comm = comm },
	};

	take(world, &record);
}

static void do_fork(struct world *world, u32 pid, u32 tid, u32 ppid, u32 ptid, u16 misc)
{
	const struct perfdata_record record = {
		.kind = PERFDATA_FORK, .type = PERF_RECORD_FORK, .misc = misc, .pid = pid,
		.tid = tid, .task = { .ppid = ppid, .ptid = ptid },
	};

	take(world, &record);
}

/* "symbol+0xoffset (object)" as perf script prints it. */
static void expect_place(struct world *world, u32 place, const char *text)
{
	struct resolver *r = world->resolver;
	const struct resolver_place *p = resolver_place_at(r, place);
	char got[256];

	if (p->symbol == RESOLVER_NONE)
		snprintf(got, sizeof(got), "[unknown] (%s)", resolver_dso_name(r, p->dso));
	else
		snprintf(got, sizeof(got), "%s+0x%llx (%s)", resolver_symbol_name(r, p->symbol),
			 (unsigned long long)p->offset, resolver_dso_name(r, p->dso));
	assert_string_equal(got, text);
	if (p->symbol != RESOLVER_NONE)
		assert_int_equal(resolver_symbol_dso(r, p->symbol), p->dso);
}

static void expect_user(struct world *world, u32 pid, u64 ip, const char *text)
{
	struct resolver_space *space = resolver_process(world->resolver, pid);

	expect_place(world, resolver_place(world->resolver, space, ip), text);
}

static void expect_kernel(struct world *world, u64 ip, const char *text)
{
	struct resolver_space *space = resolver_kernel(world->resolver);

	expect_place(world, resolver_place(world->resolver, space, ip), text);
}

static void expect_comm(struct world *world, u32 pid, u32 tid, const char *text)
{
	u32 comm = resolver_comm(world->resolver, pid, tid);

	assert_string_equal(resolver_comm_name(world->resolver, comm), text);
	assert_true(comm < resolver_nr_comms(world->resolver));
}

static void test_program(void **state)
{
	struct world *world = *state;
	struct resolver *r = world->resolver;
	u32 one, two;

	write_program(world, "/bin/program", "inner", &program_id);
	map_file(world, 1, 0x7f0000000000, 0x1000, 0x1000, "/bin/program");
	map_file(world, 2, 0x550000000000, 0x1000, 0x1000, "/bin/program");
	expect_user(world, 1, 0x7f0000000010, "inner+0x10 (/bin/program)");
	expect_user(world, 1, 0x7f0000000050, "ns::outer+0x10 (/bin/program)");
	expect_user(world, 1, 0x7f00000000f0, "[unknown] (/bin/program)");
	expect_user(world, 1, 0x7f0000001000, "[unknown] ([unknown])");
	expect_user(world, 3, 0x7f0000000010, "[unknown] ([unknown])");
	/* The same place, wherever it is mapped. */
	one = resolver_place(r, resolver_process(r, 1), 0x7f0000000020);
	two = resolver_place(r, resolver_process(r, 2), 0x550000000020);
	assert_int_equal(one, two);
	assert_int_equal(resolver_place_at(r, one)->addr, 0x1020);
	assert_string_equal(resolver_dso_short_name(r, resolver_place_at(r, one)->dso), "program");
	assert_false(resolver_dso_is_kernel(r, resolver_place_at(r, one)->dso));
	assert_int_equal(resolver_nr_dsos(r), 1);
	assert_int_equal(resolver_nr_symbols(r), 2);
}

/* What is at the path now is not what was recorded. */
static void test_wrong_build_id(void **state)
{
	struct world *world = *state;
	u32 first = RESOLVER_NONE;

	add_build_id(world, PERF_RECORD_MISC_USER, &other_id, "/bin/program");
	write_program(world, "/bin/program", "wrong", &program_id);
	map_file(world, 1, BASE, 0x1000, 0x1000, "/bin/program");
	assert_int_equal(resolver_nr_missing(world->resolver, &first), 0);
	expect_user(world, 1, BASE, "[unknown] (/bin/program)");
	assert_int_equal(resolver_nr_missing(world->resolver, &first), 1);
	assert_true(build_id_equal(resolver_dso_build_id(world->resolver, first), &other_id));
}

static void test_debug_by_build_id(void **state)
{
	struct world *world = *state;
	u32 first;

	add_build_id(world, PERF_RECORD_MISC_USER, &program_id, "/bin/program");
	write_program(world,
		      "/usr/lib/debug/.build-id/03/03030000000000000000000000000000000000.debug",
		      "from_debug", &program_id);
	map_file(world, 1, BASE, 0x1000, 0x1000, "/bin/program");
	expect_user(world, 1, BASE, "from_debug+0x0 (/bin/program)");
	assert_int_equal(resolver_nr_missing(world->resolver, &first), 0);
}

/* The later mapping hides the earlier where they overlap, in time and in space. */
static void test_overlap(void **state)
{
	struct world *world = *state;

	write_program(world, "/a", "in_a", &program_id);
	write_program(world, "/b", "in_b", &other_id);
	map_file(world, 1, 0x10000, 0x3000, 0, "/a");
	expect_user(world, 1, 0x11000, "in_a+0x0 (/a)");
	map_file(world, 1, 0x11000, 0x1000, 0x1000, "/b");
	expect_user(world, 1, 0x11008, "in_b+0x8 (/b)");
	expect_user(world, 1, 0x10fff, "[unknown] (/a)");
	expect_user(world, 1, 0x12000, "[unknown] (/a)");
	map_file(world, 1, 0x10000, 0x3000, 0, "/a");
	expect_user(world, 1, 0x11008, "in_a+0x8 (/a)");
}

static void test_fork(void **state)
{
	struct world *world = *state;

	write_program(world, "/a", "in_a", &program_id);
	write_program(world, "/b", "in_b", &other_id);
	map_file(world, 1, BASE, 0x1000, 0x1000, "/a");
	set_comm(world, 1, 1, "parent");
	do_fork(world, 2, 2, 1, 1, 0);
	expect_user(world, 2, BASE, "in_a+0x0 (/a)");
	expect_comm(world, 2, 2, "parent");
	/* The child goes its own way. */
	map_file(world, 2, BASE, 0x1000, 0x1000, "/b");
	set_comm(world, 2, 2, "child");
	expect_user(world, 2, BASE, "in_b+0x0 (/b)");
	expect_user(world, 1, BASE, "in_a+0x0 (/a)");
	expect_comm(world, 1, 1, "parent");
	/* A thread has its process's mappings. */
	do_fork(world, 2, 3, 2, 2, 0);
	expect_user(world, 2, BASE, "in_b+0x0 (/b)");
	expect_comm(world, 2, 3, "child");
	/* The number is used again, by a process that was there before. */
	do_fork(world, 2, 2, 1, 1, PERF_RECORD_MISC_FORK_EXEC);
	expect_user(world, 2, BASE, "[unknown] ([unknown])");
}

static void test_comms(void **state)
{
	struct world *world = *state;

	expect_comm(world, 5, 6, ":6");
	expect_comm(world, 0, 0, "swapper");
	set_comm(world, 5, 6, "six");
	set_comm(world, 7, 7, "six");
	expect_comm(world, 5, 6, "six");
	assert_int_equal(resolver_comm(world->resolver, 5, 6),
			 resolver_comm(world->resolver, 7, 7));
	do_fork(world, 8, 8, 9, 9, 0);
	expect_comm(world, 8, 8, ":8");
}

/* The cache has them from another boot; the module is somewhere else, too. */
static void fill_cache(struct world *world)
{
	static const char text[] =
		"ffffffff81000000 T _text\n"
		"ffffffff81000100 T schedule\n"
		"ffffffff81000200 R not_code\n"
		"ffffffff81000300 t last\n"
		"ffffffffc0800000 t wrong\t[test_mod]\n";
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	_cleanup_(symtab_destroy) struct symtab *module = NULL;
	struct elf_synth synth = { .start = 0xffffffffc0100000, .size = 0x1000,
				   .build_id = module_id };

	assert_int_equal(symcache_create(world->cache, &cache), 0);
	assert_int_equal(symcache_add_kallsyms(cache, &kernel_id, text, strlen(text)), 0);
	assert_int_equal(symtab_create(&module), 0);
	assert_int_equal(symtab_add(module, 0xffffffffc0100000, 0, 't', "mod_read"), 0);
	assert_int_equal(symtab_add(module, 0xffffffffc0100080, 0, 'T', "mod_write"), 0);
	assert_int_equal(symtab_finish(module), 0);
	synth.symbols = module;
	assert_int_equal(symcache_add_module(cache, "6.1", "test_mod", &synth), 0);
}

static void test_kernel(void **state)
{
	struct world *world = *state;
	struct resolver *r = world->resolver;

	fill_cache(world);
	add_build_id(world, PERF_RECORD_MISC_KERNEL, &kernel_id, "[kernel.kallsyms]");
	add_build_id(world, PERF_RECORD_MISC_KERNEL, &module_id,
		     "/lib/modules/6.1/test-mod.ko.xz");
	map_kernel(world, KERNEL, 0x1000000, KERNEL, "[kernel.kallsyms]_text");
	map_kernel(world, MODULE, 0x1000, 0, "/lib/modules/6.1/test-mod.ko.xz");
	expect_kernel(world, KERNEL + 0x110, "schedule+0x10 ([kernel.kallsyms])");
	expect_kernel(world, KERNEL + 0x208, "schedule+0x108 ([kernel.kallsyms])");
	expect_kernel(world, KERNEL + 0x300, "last+0x0 ([kernel.kallsyms])");
	/* Its last symbol ends with the next page; so does the kernel. */
	expect_kernel(world, KERNEL + 0x2000, "[unknown] ([unknown])");
	expect_kernel(world, KERNEL - 1, "[unknown] ([unknown])");
	expect_kernel(world, MODULE + 0x88, "mod_write+0x8 (/lib/modules/6.1/test-mod.ko.xz)");
	expect_kernel(world, MODULE + 0x1000, "[unknown] ([unknown])");
	assert_true(resolver_dso_is_kernel(r, 0));
	assert_true(resolver_dso_is_kernel(r, 1));
	assert_string_equal(resolver_dso_short_name(r, 0), "[kernel.kallsyms]");
	assert_string_equal(resolver_dso_short_name(r, 1), "[test_mod]");
	expect_user(world, 1, KERNEL + 0x110, "[unknown] ([unknown])");
}

/* Nobody knows this kernel: not this host's symbols for it, and not another's. */
static void test_unknown_kernel(void **state)
{
	struct world *world = *state;

	fill_cache(world);
	add_build_id(world, PERF_RECORD_MISC_KERNEL, &other_id, "[kernel.kallsyms]");
	map_kernel(world, KERNEL, 0x1000000, KERNEL, "[kernel.kallsyms]_text");
	map_kernel(world, MODULE, 0x1000, 0, "[test_mod]");
	expect_kernel(world, KERNEL + 0x110, "[unknown] ([kernel.kallsyms])");
	expect_kernel(world, MODULE + 0x88, "[unknown] ([test_mod])");
}

/* Programs come and go; what is the kernel's or a module's stays so. */
static void test_code(void **state)
{
	struct world *world = *state;
	u64 at = 0xffffffffc0100000;

	map_kernel(world, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
		   "[kernel.kallsyms]_text");
	map_kernel(world, 0xffffffffc0a00000, 0x2000, 0, "[ext4]");
	expect_kernel(world, at, "[unknown] ([unknown])");
	take_code(world, at, 0x80, "bpf_prog_one", false);
	take_code(world, at + 0x1000, 0xb3, "ftrace_trampoline", false);
	take_code(world, at + 0x2000, 0xb3, "ftrace_trampoline", false);
	expect_kernel(world, at, "bpf_prog_one+0x0 (bpf_prog_one)");
	expect_kernel(world, at + 0x7f, "bpf_prog_one+0x7f (bpf_prog_one)");
	expect_kernel(world, at + 0x80, "[unknown] ([unknown])");
	expect_kernel(world, at + 0x2010, "ftrace_trampoline+0x10 (ftrace_trampoline)");
	take_code(world, at, 0, "", true);
	expect_kernel(world, at, "[unknown] ([unknown])");
	take_code(world, at, 0x40, "bpf_prog_two", false);
	expect_kernel(world, at + 0x10, "bpf_prog_two+0x10 (bpf_prog_two)");
	take_code(world, 0xffffffff81000100, 0x80, "bpf_prog_wrong", false);
	expect_kernel(world, 0xffffffff81000110, "[unknown] ([kernel.kallsyms])");
	take_code(world, 0xffffffffc0a00100, 0x80, "bpf_prog_wrong", false);
	take_code(world, 0xffffffffc0a00000, 0, "", true);
	expect_kernel(world, 0xffffffffc0a00110, "[unknown] ([ext4])");
}

/* Of nothing, of no name, over the end of all addresses, of the whole half; twice one place. */
static void test_bad_code(void **state)
{
	struct world *world = *state;
	u64 at = 0xffffffffc0100000;

	take_code(world, at, 0, "empty", false);
	take_code(world, at, 0x80, "", false);
	take_code(world, UINT64_MAX - 0x10, 0x80, "wraps", false);
	take_code(world, at, UINT32_MAX, "large", false);
	expect_kernel(world, at, "[unknown] ([unknown])");
	take_code(world, at, 0x80, "first", false);
	take_code(world, at + 0x40, 0x80, "second", false);
	expect_kernel(world, at + 0x40, "first+0x40 (first)");
	expect_kernel(world, at + 0x90, "[unknown] ([unknown])");
	take_code(world, at + 0x10, 0, "", true);
	expect_kernel(world, at + 0x40, "[unknown] ([unknown])");
}

/* A place is as large as no code is, and has its name wherever in it. */
static void test_place(void **state)
{
	struct world *world = *state;
	u64 at = perfdata_place_address(STOP_NESTED, 0);

	take_code(world, at, PERFDATA_PLACE_BYTES, "[nested guest]", false);
	expect_kernel(world, at + 0x81000123, "[nested guest]+0x81000123 ([nested guest])");
	expect_kernel(world, at - 1, "[unknown] ([unknown])");
}

static void test_chain(void **state)
{
	struct world *world = *state;
	const u64 ips[] = {
		PERF_CONTEXT_KERNEL, KERNEL + 0x110, PERF_CONTEXT_USER, BASE, BASE + 0x40,
	};
	const u64 guest_ips[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x110, PERF_CONTEXT_GUEST, BASE };
	struct perfdata_record sample = {
		.kind = PERFDATA_SAMPLE, .cpumode = PERF_RECORD_MISC_KERNEL, .pid = 1, .tid = 1,
		.sample = { .ip = KERNEL + 0x110, .ips = ips, .nr_ips = ARRAY_SIZE(ips) },
	};
	u32 places[8];
	u64 addrs[8];

	fill_cache(world);
	write_program(world, "/a", "in_a", &program_id);
	add_build_id(world, PERF_RECORD_MISC_KERNEL, &kernel_id, "[kernel.kallsyms]");
	map_kernel(world, KERNEL, 0x1000000, KERNEL, "[kernel.kallsyms]_text");
	map_file(world, 1, BASE, 0x1000, 0x1000, "/a");
	assert_int_equal(resolver_chain(world->resolver, &sample, 8, places, addrs), 3);
	expect_place(world, places[0], "schedule+0x10 ([kernel.kallsyms])");
	expect_place(world, places[1], "in_a+0x0 (/a)");
	expect_place(world, places[2], "ns::outer+0x0 (/a)");
	assert_int_equal(addrs[2], BASE + 0x40);
	assert_int_equal(resolver_chain(world->resolver, &sample, 2, places, NULL), 2);
	assert_int_equal(resolver_chain(world->resolver, &sample, 0, places, NULL), 0);
	sample.sample.nr_ips = 0;
	assert_int_equal(resolver_chain(world->resolver, &sample, 8, places, addrs), 1);
	expect_place(world, places[0], "schedule+0x10 ([kernel.kallsyms])");
	sample.sample.ips = guest_ips;
	sample.sample.nr_ips = ARRAY_SIZE(guest_ips);
	assert_int_equal(resolver_chain(world->resolver, &sample, 8, places, addrs), 0);
}

static void test_memory_that_is_no_file(void **state)
{
	struct world *world = *state;

	map_file(world, 1, 0x10000, 0x1000, 0, "[heap]");
	map_file(world, 1, 0x20000, 0x1000, 0, "//anon");
	expect_user(world, 1, 0x10010, "[unknown] (/tmp/perf-1.map)");
	expect_user(world, 1, 0x20010, "[unknown] (/tmp/perf-1.map)");
	assert_string_equal(resolver_dso_short_name(world->resolver, 0), "[JIT] tid 1");
}

/* Records that make no sense, and lengths that wrap. */
static void test_bad_records(void **state)
{
	struct world *world = *state;

	map_file(world, 1, UINT64_MAX, 2, 0, "/a");
	map_file(world, 1, 0x1000, 0, 0, "/a");
	map_file(world, 1, 0x1000, 0x1000, 0, "");
	map_kernel(world, UINT64_MAX, 2, 0, "[x]");
	map_kernel(world, 0, 0, 0, "");
	map_kernel(world, 0, 0, 0, "[kernel.kallsyms]");
	expect_user(world, 1, 0x1000, "[unknown] ()");
	expect_user(world, 1, UINT64_MAX, "[unknown] ([unknown])");
	expect_kernel(world, 5, "[unknown] ([kernel.kallsyms])");
}

/* Many insertions against a map of bytes. */
static void test_space(void **state)
{
	struct space space = { 0 };
	u32 owner[256];
	u64 shift[256], seed = 7;

	(void)state;
	memset(owner, 0xff, sizeof(owner));
	for (u32 i = 0; i < 2000; i++) {
		struct map map = { .dso = i };

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		map.start = seed >> 56;
		map.end = map.start + ((seed >> 48 & 255) >> (i % 8));
		map.end = MIN(map.end, 256);
		map.pgoff = seed >> 32 & 0xfff;
		assert_int_equal(space_insert(&space, &map), 0);
		for (u64 a = map.start; a < map.end; a++) {
			owner[a] = i;
			shift[a] = a - map.start + map.pgoff;
		}
		for (u64 a = 0; a < 256; a++) {
			const struct map *found = space_find(&space, a);

			assert_int_equal(found ? found->dso : UINT32_MAX, owner[a]);
			if (found)
				assert_int_equal(map_address(found, a), shift[a]);
		}
	}
	space_deinit(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_by_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_that_is_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_records, setup, teardown),
		cmocka_unit_test(test_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
