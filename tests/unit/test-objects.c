/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that processes have mapped: each is one object, and servers keep nobody waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "build-elf.h"
#include "build-program.h"
#include "engine/objects.h"
#include "mute-server.h"

#define NS_PER_S 1000000000ULL
#define AT 0x7f1000000000ULL
#define MANY (OBJECTS_MAX_WAITING + 4)
#define MANY_AT(i) (0x7f2000000000ULL + (i) * 0x100000)

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
	assert_false(objects_is_pending(f->objects, object));
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

/* A source of files that comes to no end before it is let. */
struct slow {
	struct worker *loader;
	struct symbol_sources *sources;
	int pipes[4];
};

static void slow_begin(struct slow *slow, struct fixture *f)
{
	const struct symbol_sources_options options = {
		.list = { .order = { SYMBOL_SOURCE_GUEST }, .nr = 1 },
		.guest = { .find = find_slowly, .arg = slow->pipes },
	};

	assert_int_equal(pipe(slow->pipes) + pipe(slow->pipes + 2), 0);
	assert_int_equal(symbol_sources_create(&options, &slow->sources), 0);
	assert_int_equal(worker_create(&slow->loader), 0);
	assert_int_equal(objects_create(&(struct objects_options){
		.guest = f->guest, .sources = slow->sources, .loader = slow->loader,
	}, &f->objects), 0);
	assert_non_null(object_at(f, AT));
}

/* Until it has been asked. */
static void slow_wait(const struct slow *slow)
{
	char byte;

	assert_int_equal(read(slow->pipes[0], &byte, 1), 1);
}

static void slow_end(struct slow *slow)
{
	close(slow->pipes[3]);
	worker_destroy(slow->loader);
	symbol_sources_destroy(slow->sources);
	for (int i = 0; i < 3; i++)
		close(slow->pipes[i]);
}

/* A guest that ends, or Ctrl-C, does not wait for files of this host. */
static void test_slow_file(void **state)
{
	struct fixture *f = *state;
	struct objects_counts counts;
	struct slow slow;

	slow_begin(&slow, f);
	build_set(&f->program.process, f->process->files.data[1].key.inode + BUILD_INODE_NUMBER,
		  78);
	assert_int_equal(find(f, AT, NS_PER_S), -EAGAIN);
	slow_wait(&slow);
	assert_false(objects_collect(f->objects));
	objects_stop_loading(f->objects);
	objects_get_counts(f->objects, &counts);
	assert_int_equal(counts.unread, 1);
	slow_end(&slow);
}

/* What there is of rules is known while names are still looked for. */
static void test_rules_first(void **state)
{
	struct fixture *f = *state;
	struct objects_counts counts;
	struct slow slow;

	slow_begin(&slow, f);
	assert_int_equal(find(f, AT, NS_PER_S), -EAGAIN);
	slow_wait(&slow);
	assert_true(objects_is_pending(f->objects, object_at(f, AT)));
	assert_true(objects_collect(f->objects));
	assert_false(objects_collect(f->objects));
	assert_false(objects_is_pending(f->objects, object_at(f, AT)));
	assert_int_equal(find(f, AT, NS_PER_S), -ENOENT);
	objects_get_counts(f->objects, &counts);
	assert_int_equal(counts.unread, 1);
	objects_stop_loading(f->objects);
	assert_int_equal(find(f, AT, NS_PER_S), -ENOENT);
	slow_end(&slow);
}

/* What keeps a worker's thread. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool closed;		/* the thread is at the gate */
	bool open;
	struct worker_client *client;
	struct worker_job job;
};

static void hold(struct worker_job *job)
{
	struct gate *gate = container_of(job, struct gate, job);

	pthread_mutex_lock(&gate->lock);
	gate->closed = true;
	pthread_cond_signal(&gate->moved);
	while (!gate->open)
		pthread_cond_wait(&gate->moved, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void drop_nothing(struct worker_job *job)
{
	(void)job;
}

static void gate_close(struct gate *gate, struct worker *worker)
{
	*gate = (struct gate){ .job = { .run = hold, .drop = drop_nothing } };
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->moved, NULL);
	assert_int_equal(worker_client_create(worker, 1, &gate->client), 0);
	assert_int_equal(worker_submit(gate->client, &gate->job), 0);
	pthread_mutex_lock(&gate->lock);
	while (!gate->closed)
		pthread_cond_wait(&gate->moved, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_signal(&gate->moved);
	pthread_mutex_unlock(&gate->lock);
	worker_client_destroy(gate->client);
	pthread_cond_destroy(&gate->moved);
	pthread_mutex_destroy(&gate->lock);
}

static void map_one(struct fixture *f, u64 i)
{
	const struct build_elf spec = {
		.type = ET_DYN, .machine = EM_X86_64, .build_id = { 20, { 0xee, i } },
		.note_in_segment = true,
	};
	struct build_process *p = &f->program.process;
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	char name[16];
	u64 file, inode;

	build_elf(&spec, &bytes);
	snprintf(name, sizeof(name), "%u.so", (unsigned int)i);
	file = build_named_file(p, name, 1000 + i, bytes.len);
	inode = build_get(p, file + BUILD_FILE_INODE);
	build_vma(p, MANY_AT(i), MANY_AT(i) + ALIGN_UP(bytes.len, 4096),
		  BUILD_VM_READ | BUILD_VM_EXEC, file, 0);
	for (u64 page = 0; page * 4096 < bytes.len; page++) {
		u64 pfn = build_folio(p, inode, page, 0);

		assert_int_equal(mem_fake_set(f->program.guest.mem, GPA(pfn * 4096),
					      bytes.data + page * 4096,
					      MIN(4096UL, bytes.len - page * 4096)), 0);
		build_cache_store(p, inode, page, 0, build_page(pfn));
	}
}

/* More files than may wait, each with a build id and no rules. */
static void map_many(struct fixture *f)
{
	struct wire_task task = build_process_task(&f->program.process);

	for (u64 i = 0; i < MANY; i++)
		map_one(f, i);
	build_hang_mappings(&f->program.process, 3, BUILD_MAPLE_ARANGE);
	guest_process_destroy(TAKE_PTR(f->process));
	assert_int_equal(guest_process_read(f->guest, &task, &f->process), 0);
}

static u64 sum(const struct objects_counts *counts)
{
	return counts->from_guest + counts->from_file + counts->partial + counts->no_rules +
	       counts->missing + counts->bad + counts->limit + counts->unread;
}

/* Those that find no room are looked for again when there is some, and not before. */
static void test_loader_full(void **state)
{
	_cleanup_(worker_destroy) struct worker *loader = NULL;
	struct fixture *f = *state;
	struct objects_counts counts;
	struct object *last;
	struct gate gate;

	map_many(f);
	assert_int_equal(worker_create(&loader), 0);
	assert_int_equal(objects_create(&(struct objects_options){
		.guest = f->guest, .loader = loader,
	}, &f->objects), 0);
	gate_close(&gate, loader);
	for (u64 i = 0; i < MANY; i++)
		assert_int_equal(find(f, MANY_AT(i), NS_PER_S), -EAGAIN);
	last = object_at(f, MANY_AT(MANY - 1));
	assert_true(objects_is_pending(f->objects, object_at(f, MANY_AT(0))));
	assert_true(objects_is_pending(f->objects, last));
	objects_get_counts(f->objects, &counts);
	assert_int_equal(counts.unread, MANY);
	assert_int_equal(sum(&counts), MANY);
	gate_open(&gate);
	assert_int_equal(objects_wait(f->objects, clock_now_ns() + 60 * NS_PER_S), 0);
	assert_true(objects_collect(f->objects));
	assert_false(objects_is_pending(f->objects, last));
	assert_int_equal(find(f, MANY_AT(MANY - 1), NS_PER_S), -EAGAIN);
	assert_true(objects_is_pending(f->objects, last));
	while (!objects_wait(f->objects, clock_now_ns() + 60 * NS_PER_S))
		objects_collect(f->objects);
	assert_int_equal(find(f, MANY_AT(MANY - 1), NS_PER_S), -ENOENT);
	objects_get_counts(f->objects, &counts);
	assert_int_equal(sum(&counts), MANY);
	objects_destroy(TAKE_PTR(f->objects));
}

static int count_queries(void *arg, const struct symbol_query *query, struct file_image **ret)
{
	atomic_uint *asked = arg;

	(void)query;
	(void)ret;
	++*asked;
	return -ENOENT;
}

/* Servers are asked for all, however many there are at once; once each. */
static void test_fetcher_full(void **state)
{
	_cleanup_(worker_destroy) struct worker *fetcher = NULL;
	_cleanup_(symbol_sources_destroy) struct symbol_sources *servers = NULL;
	atomic_uint asked = 0;
	const struct symbol_sources_options options = {
		.list = { .order = { SYMBOL_SOURCE_GUEST }, .nr = 1 },
		.guest = { .find = count_queries, .arg = &asked },
	};
	struct fixture *f = *state;
	struct objects_counts counts;
	struct gate gate;
	u64 deadline;

	map_many(f);
	assert_int_equal(symbol_sources_create(&options, &servers), 0);
	assert_int_equal(worker_create(&fetcher), 0);
	assert_int_equal(objects_create(&(struct objects_options){
		.guest = f->guest, .servers = servers, .fetcher = fetcher,
	}, &f->objects), 0);
	gate_close(&gate, fetcher);
	for (u64 i = 0; i < MANY; i++)
		assert_int_equal(find(f, MANY_AT(i), NS_PER_S), -ENOENT);
	objects_get_counts(f->objects, &counts);
	assert_int_equal(counts.unread, MANY);
	assert_int_equal(sum(&counts), MANY);
	gate_open(&gate);
	deadline = clock_now_ns() + 60 * NS_PER_S;
	do {
		usleep(1000);
		objects_collect(f->objects);
		objects_get_counts(f->objects, &counts);
	} while (counts.unread && clock_now_ns() < deadline);
	assert_int_equal(asked, MANY);
	assert_int_equal(counts.no_rules, MANY);
	objects_destroy(TAKE_PTR(f->objects));
}

/* Those that found no room are not asked for any more when loading ends. */
static void test_fetcher_left(void **state)
{
	_cleanup_(worker_destroy) struct worker *fetcher = NULL;
	_cleanup_(symbol_sources_destroy) struct symbol_sources *servers = NULL;
	atomic_uint asked = 0;
	const struct symbol_sources_options options = {
		.list = { .order = { SYMBOL_SOURCE_GUEST }, .nr = 1 },
		.guest = { .find = count_queries, .arg = &asked },
	};
	struct fixture *f = *state;
	struct gate gate;

	map_many(f);
	assert_int_equal(symbol_sources_create(&options, &servers), 0);
	assert_int_equal(worker_create(&fetcher), 0);
	assert_int_equal(objects_create(&(struct objects_options){
		.guest = f->guest, .servers = servers, .fetcher = fetcher,
	}, &f->objects), 0);
	gate_close(&gate, fetcher);
	for (u64 i = 0; i < MANY; i++)
		assert_int_equal(find(f, MANY_AT(i), NS_PER_S), -ENOENT);
	objects_stop_loading(f->objects);
	gate_open(&gate);
	worker_destroy(TAKE_PTR(fetcher));
	assert_int_equal(asked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects), TEST(servers), TEST(slow_file), TEST(rules_first), TEST(loader_full),
		TEST(fetcher_full), TEST(fetcher_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
