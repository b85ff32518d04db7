/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that processes have mapped: each is one object, and servers keep nobody waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "build-elf.h"
#include "build-program.h"
#include "engine/objects.h"
#include "mute-server.h"

#define NS_PER_S 1000000000ULL
#define AT 0x7f1000000000ULL

/* The program's library, and a file with a build id of which little is cached. */
struct fixture {
	char dir[32];
	struct build_program program;
	struct guest *guest;
	struct guest_process *process;
	struct strbuf file;
	struct objects *objects;
};

static int setup(void **state)
{
	const struct build_elf spec = {
		.type = ET_DYN, .machine = EM_X86_64, .build_id = { 20, { 0xab, 0xcd } },
		.note_in_segment = true,
	};
	struct fixture *f = calloc(1, sizeof(*f));
	struct wire_task task;
	struct vcpu_regs regs;

	*state = f;
	strcpy(f->dir, "/tmp/kvmprof-test.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	build_program_init(&f->program);
	build_program_cache(&f->program);
	build_elf(&spec, &f->file);
	build_program_map(&f->program, "some.so", &f->file, AT);
	regs = build_guest_regs(&f->program.guest);
	assert_int_equal(guest_create(mem_fake_reader(f->program.guest.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	task = build_process_task(&f->program.process);
	assert_int_equal(guest_process_read(f->guest, &task, &f->process), 0);
	return 0;
}

static int remove_any(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int err;

	objects_destroy(f->objects);
	guest_process_destroy(f->process);
	guest_destroy(f->guest);
	build_program_deinit(&f->program);
	strbuf_deinit(&f->file);
	err = nftw(f->dir, remove_any, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return err;
}

static size_t mapping_at(const struct fixture *f, u64 address)
{
	const struct guest_mapping *mapping = guest_process_find(f->process, GVA(address));

	assert_non_null(mapping);
	return mapping - f->process->mappings.data;
}

static struct object *object_at(struct fixture *f, u64 address)
{
	return objects_get(f->objects, f->process,
			   &f->process->mappings.data[mapping_at(f, address)]);
}

static int find(struct fixture *f, u64 address, u64 now)
{
	size_t i = mapping_at(f, address);
	struct cfi_row row;

	return objects_find_row(f->objects, object_at(f, address), f->process, i,
				address - f->process->mappings.data[i].start.addr, now, &row);
}

static void test_objects(void **state)
{
	struct fixture *f = *state;
	struct objects_counts counts;

	assert_int_equal(objects_create(&(struct objects_options){ .guest = f->guest },
					&f->objects), 0);
	assert_ptr_equal(object_at(f, AT), object_at(f, AT));
	assert_ptr_not_equal(object_at(f, AT), object_at(f, BUILD_PROGRAM_TEXT));
	assert_null(object_at(f, BUILD_PROGRAM_JIT));
	assert_int_equal(objects_nr(f->objects), 2);
	assert_int_equal(object_build_id(object_at(f, AT))->size, 20);
	assert_int_equal(object_build_id(object_at(f, BUILD_PROGRAM_TEXT))->size, 0);
	assert_int_equal(find(f, BUILD_PROGRAM_TEXT + BUILD_PROGRAM_FUNCTION, NS_PER_S), 0);
	assert_int_equal(find(f, AT, NS_PER_S), -ENOENT);
	assert_false(objects_collect(f->objects));
	assert_int_equal(objects_wait(f->objects, 0), -ENOENT);
	objects_get_counts(f->objects, &counts);
	assert_int_equal(counts.from_guest, 1);
	assert_int_equal(counts.no_rules, 1);
}

/* Of a file that is not in memory a server is asked: meanwhile all goes on, and ends at once. */
static void test_servers(void **state)
{
	_cleanup_(worker_destroy) struct worker *loader = NULL, *fetcher = NULL;
	_cleanup_(symbol_sources_destroy) struct symbol_sources *servers = NULL;
	struct symbol_sources_options options = {
		.list = { .order = { SYMBOL_SOURCE_DEBUGINFOD }, .nr = 1 },
	};
	struct fixture *f = *state;
	struct objects_counts counts;
	struct mute_server server;
	char url[64], folder[64];
	bool has_client = mute_server_has_client();
	struct object *object;
	u64 start;

	assert_int_equal(mute_server_start(&server, NULL, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server.port);
	snprintf(folder, sizeof(folder), "%s/client", f->dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
	options.cache_dir = f->dir;
	assert_int_equal(symbol_sources_create(&options, &servers), 0);
	assert_int_equal(worker_create(&loader), 0);
	assert_int_equal(worker_create(&fetcher), 0);
	assert_int_equal(objects_create(&(struct objects_options){
		.guest = f->guest, .servers = servers, .loader = loader, .fetcher = fetcher,
	}, &f->objects), 0);
	object = object_at(f, AT);
	/* It was there when it was first seen. */
	build_set(&f->program.process, f->process->files.data[1].key.inode + BUILD_INODE_NUMBER,
		  78);
	assert_int_equal(find(f, AT, NS_PER_S), -EAGAIN);
	assert_int_equal(objects_wait(f->objects, clock_now_ns() + 60 * NS_PER_S), 0);
	assert_true(objects_collect(f->objects));
	assert_false(object_is_loading(object));
	assert_int_equal(find(f, AT, NS_PER_S), -ENODATA);
	assert_int_equal(objects_wait(f->objects, clock_now_ns()), -ENOENT);
	if (has_client)
		mute_server_wait(&server);
	assert_int_equal(find(f, BUILD_PROGRAM_TEXT + BUILD_PROGRAM_FUNCTION, NS_PER_S), -EAGAIN);
	assert_int_equal(objects_wait(f->objects, clock_now_ns() + 60 * NS_PER_S), 0);
	start = clock_now_ns();
	objects_stop_loading(f->objects);
	objects_get_counts(f->objects, &counts);
	if (has_client)
		assert_int_equal(counts.unread, 2);
	worker_destroy(TAKE_PTR(fetcher));
	assert_true(clock_now_ns() - start < 30 * NS_PER_S);	/* the client alone takes 90 */
	mute_server_stop(&server);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* A file that takes for ever to read, until the pipe is closed. */
static int find_slowly(void *arg, const struct symbol_query *query, struct file_image **ret)
{
	const int *pipes = arg;
	char byte;

	(void)query;
	(void)ret;
	assert_int_equal(write(pipes[1], "", 1), 1);
	(void)!read(pipes[2], &byte, 1);
	return -ENOENT;
}

/* A guest that ends, or Ctrl-C, does not wait for files of this host. */
static void test_slow_file(void **state)
{
	_cleanup_(worker_destroy) struct worker *loader = NULL;
	_cleanup_(symbol_sources_destroy) struct symbol_sources *sources = NULL;
	int pipes[4];
	const struct symbol_sources_options options = {
		.list = { .order = { SYMBOL_SOURCE_GUEST }, .nr = 1 },
		.guest = { .find = find_slowly, .arg = pipes },
	};
	struct fixture *f = *state;
	struct objects_counts counts;
	char byte;

	assert_int_equal(pipe(pipes) + pipe(pipes + 2), 0);
	assert_int_equal(symbol_sources_create(&options, &sources), 0);
	assert_int_equal(worker_create(&loader), 0);
	assert_int_equal(objects_create(&(struct objects_options){
		.guest = f->guest, .sources = sources, .loader = loader,
	}, &f->objects), 0);
	assert_non_null(object_at(f, AT));
	build_set(&f->program.process, f->process->files.data[1].key.inode + BUILD_INODE_NUMBER,
		  78);
	assert_int_equal(find(f, AT, NS_PER_S), -EAGAIN);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	objects_stop_loading(f->objects);
	objects_get_counts(f->objects, &counts);
	assert_int_equal(counts.unread, 1);
	close(pipes[3]);
	worker_destroy(TAKE_PTR(loader));
	for (int i = 0; i < 3; i++)
		close(pipes[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(objects), TEST(servers), TEST(slow_file) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
