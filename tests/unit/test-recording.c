/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: what its file holds of a guest whose kernel is not known, and of one whose samples
 * have to wait for rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "build-program.h"
#include "engine/parked.h"
#include "engine/recording.h"
#include "perfdata/note.h"
#include "mem/fake.h"
#include "perfdata/format.h"
#include "perfdata/reader.h"
#include "starve.h"

#define NS_PER_S 1000000000ULL

static const struct capture_event cpu_clock = {
	.name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .freq = 997,
};

struct place {
	char dir[32], path[64];
	struct mem_fake *mem;
	struct recording *recording;
};

static int setup(void **state)
{
	static struct place place;
	struct recording_options options = {
		.path = place.path,
		.name = "vm",
		.events = &cpu_clock,
		.nr_events = 1,
		.nr_vcpus = 1,
		.memory = 1 << 20,
	};

	strcpy(place.dir, "/tmp/kvmprof-test.XXXXXX");
	place.mem = mem_fake_create();
	if (!place.mem || !mkdtemp(place.dir))
		return -1;
	snprintf(place.path, sizeof(place.path), "%s/perf.data", place.dir);
	*state = &place;
	return recording_create(mem_fake_reader(place.mem), &options, &place.recording);
}

static int teardown(void **state)
{
	struct place *place = *state;

	recording_destroy(place->recording);
	mem_fake_destroy(place->mem);
	unlink(place->path);
	return rmdir(place->dir);
}

static void add_sample_starving(struct place *place, u64 time, bool starving)
{
	struct build_sample build;
	struct sample sample;
	int err;

	build_sample_init(&build, 0xffffffff81000010, 0xffffc90000003f00);
	build.wire.time = time;
	assert_int_equal(build_sample_finish(&build, &sample), 0);
	if (starving && !starve_begin()) {
		build_sample_deinit(&build);
		skip();
	}
	err = recording_add(place->recording, &sample);
	if (starving)
		starve_end();
	assert_int_equal(err, 0);
	build_sample_deinit(&build);
}

static void add_sample(struct place *place, u64 time)
{
	add_sample_starving(place, time, false);
}

/* A record for each time that there was something new, and all of them are all. */
static void test_lost(void **state)
{
	static const struct { u64 time, lost; } expected[] = {
		{ 2 * NS_PER_S + 1, 3 }, { 4 * NS_PER_S + 1, 1 }, { 5 * NS_PER_S, 6 },
	};
	struct capture_counts counts = {
		.events = 15, .samples = 5, .lost_ring = 1, .lost_pending = 2, .lost_signal = 1,
		.lost_exit = 3, .lost_stop = 1, .lost_kernel = 2,
	};
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct place *place = *state;
	struct perfdata_record record;
	size_t nr = 0;
	u64 sum = 0;

	for (u64 i = 1; i <= 5; i++) {
		add_sample(place, i * NS_PER_S);
		assert_int_equal(recording_note_lost(place->recording, i < 2 ? 0 : i < 4 ? 3 : 4,
						     i * NS_PER_S + 1), 0);
	}
	assert_int_equal(recording_finish(place->recording, &counts), 0);
	assert_int_equal(perfdata_reader_open(place->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0) {
		if (record.kind != PERFDATA_LOST)
			continue;
		assert_true(nr < ARRAY_SIZE(expected));
		assert_int_equal(record.time, expected[nr].time);
		assert_int_equal(record.lost.lost, expected[nr].lost);
		sum += record.lost.lost;
		nr++;
	}
	assert_int_equal(nr, ARRAY_SIZE(expected));
	assert_int_equal(sum, accounting_lost(&counts));
	assert_non_null(strstr(perfdata_reader_string(reader, PERFDATA_FEATURE_ACCOUNTING),
			       "lost: ring buffer full: 1"));
}

static void test_nothing_lost(void **state)
{
	const struct capture_counts counts = { .events = 2, .samples = 1, .host = 1 };
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct place *place = *state;
	struct perfdata_record record;

	add_sample(place, NS_PER_S);
	assert_int_equal(recording_finish(place->recording, &counts), 0);
	assert_int_equal(perfdata_reader_open(place->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0)
		assert_int_not_equal(record.kind, PERFDATA_LOST);
}

/* What a sample's process takes in memory is the guest's choice, and no reason to end. */
static void test_no_memory(void **state)
{
	const struct capture_counts counts = { .events = 2, .samples = 2 };
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	unsigned int kinds[PERFDATA_SAMPLE + 16] = { 0 };
	struct place *place = *state;
	struct perfdata_record record;

	add_sample_starving(place, NS_PER_S, true);
	assert_int_equal(recording_accounting(place->recording)->no_memory, 1);
	add_sample(place, 2 * NS_PER_S);
	assert_int_equal(recording_accounting(place->recording)->no_memory, 1);
	assert_int_equal(recording_finish(place->recording, &counts), 0);
	assert_int_equal(perfdata_reader_open(place->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0)
		kinds[MIN((size_t)record.kind, ARRAY_SIZE(kinds) - 1)]++;
	assert_int_equal(kinds[PERFDATA_SAMPLE], 2);
	assert_int_equal(kinds[PERFDATA_COMM], 1);
	assert_non_null(strstr(perfdata_reader_string(reader, PERFDATA_FEATURE_ACCOUNTING),
			       "samples whose process did not fit into memory: 1"));
}

/* A worker that is kept busy for as long as a test wants. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool open;
	struct worker *worker;
	struct worker_client *client;
	struct worker_job job;
};

static void hold(struct worker_job *job)
{
	struct gate *gate = container_of(job, struct gate, job);

	pthread_mutex_lock(&gate->lock);
	while (!gate->open)
		pthread_cond_wait(&gate->moved, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void drop_nothing(struct worker_job *job)
{
	(void)job;
}

static void gate_close(struct gate *gate)
{
	gate->open = false;
	assert_int_equal(worker_submit(gate->client, &gate->job), 0);
}

static void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_signal(&gate->moved);
	pthread_mutex_unlock(&gate->lock);
}

static void gate_init(struct gate *gate)
{
	*gate = (struct gate){ .job = { .run = hold, .drop = drop_nothing } };
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->moved, NULL);
	assert_int_equal(worker_create(&gate->worker), 0);
	assert_int_equal(worker_client_create(gate->worker, 1, &gate->client), 0);
}

/* A guest with a program, and a recording whose loader waits at a gate. */
struct waiting {
	struct mem_reader reader;	/* of the program's guest; first: it leads back here */
	char dir[32], path[64];
	pthread_t owner;
	bool slow;			/* what is to be loaded is, during a read of the owner's */
	struct build_program program;
	struct gate gate;
	struct recording *recording;
};

/* Clients are served in turn: behind the second job all that waited before the first is done. */
static void settle_loader(struct gate *gate)
{
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(worker_submit(gate->client, &gate->job), 0);
		assert_int_equal(worker_wait(gate->client, clock_now_ns() + 60 * NS_PER_S), 0);
		assert_non_null(worker_take(gate->client));
	}
}

static int read_memory(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	struct waiting *w = (struct waiting *)reader;

	if (pthread_equal(pthread_self(), w->owner) && w->slow)
		settle_loader(&w->gate);
	return mem_read(mem_fake_reader(w->program.guest.mem), gpa, out, size);
}

static int setup_waiting(void **state)
{
	struct waiting *w = calloc(1, sizeof(*w));
	struct recording_options options = {
		.path = w->path,
		.name = "vm",
		.events = &cpu_clock,
		.nr_events = 1,
		.nr_vcpus = 1,
		.memory = 1 << 20,
	};
	struct vcpu_regs regs;

	*state = w;
	strcpy(w->dir, "/tmp/kvmprof-test.XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	snprintf(w->path, sizeof(w->path), "%s/perf.data", w->dir);
	build_program_init(&w->program);
	build_program_cache(&w->program);
	gate_init(&w->gate);
	gate_close(&w->gate);
	options.loader = w->gate.worker;
	w->reader.read = read_memory;
	w->owner = pthread_self();
	if (recording_create(&w->reader, &options, &w->recording))
		return -1;
	regs = build_guest_regs(&w->program.guest);
	return recording_identify(w->recording, &regs, NULL);
}

static int teardown_waiting(void **state)
{
	struct waiting *w = *state;

	gate_open(&w->gate);
	recording_destroy(w->recording);
	worker_client_destroy(w->gate.client);
	worker_destroy(w->gate.worker);
	build_program_deinit(&w->program);
	unlink(w->path);
	rmdir(w->dir);
	free(w);
	return 0;
}

static void sample_program(struct waiting *w, u64 time)
{
	struct build_sample build;
	struct sample sample;

	build_program_sample(&w->program, time, &build, &sample);
	assert_int_equal(recording_add(w->recording, &sample), 0);
	build_sample_deinit(&build);
}

/* How the samples of the finished file ended; they have to be in order, of time and of rounds. */
static void count_stops(const struct waiting *w, u64 stops[STOP_NR])
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_reader_stats stats;
	struct perfdata_record record;
	u64 last = 0;

	memset(stops, 0, STOP_NR * sizeof(*stops));
	assert_int_equal(perfdata_reader_open(w->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0) {
		struct perfdata_note note;

		if (record.kind != PERFDATA_SAMPLE)
			continue;
		assert_true(record.time > last);
		last = record.time;
		assert_int_equal(record.sample.raw_size, sizeof(note));
		memcpy(&note, record.sample.raw, sizeof(note));
		stops[note.user_stop]++;
	}
	perfdata_reader_stats(reader, &stats);
	assert_int_equal(stats.unordered, 0);
}

static void finish(struct waiting *w, u64 stops[STOP_NR])
{
	const struct capture_counts counts = { .events = 1 };

	assert_int_equal(recording_finish(w->recording, &counts), 0);
	count_stops(w, stops);
}

static void settle(struct waiting *w)
{
	bool all = false;

	assert_int_equal(recording_wait(w->recording, clock_now_ns() + 60 * NS_PER_S, &all), 0);
	assert_true(all);
}

/* They are whole when the rules come, and in the order that a reader needs. */
static void test_waiting(void **state)
{
	struct waiting *w = *state;
	u64 stops[STOP_NR];

	for (u64 i = 0; i < 25; i++)
		sample_program(w, NS_PER_S + i * NS_PER_S / 10);
	assert_int_equal(recording_accounting(w->recording)->samples, 0);
	assert_int_equal(recording_catch_up(w->recording, 3 * NS_PER_S), 0);
	assert_int_equal(recording_accounting(w->recording)->samples, 0);
	gate_open(&w->gate);
	settle(w);
	assert_int_equal(recording_accounting(w->recording)->samples, 25);
	for (u64 i = 0; i < 40; i++)
		sample_program(w, 4 * NS_PER_S + i * NS_PER_S / 10);
	finish(w, stops);
	assert_int_equal(stops[STOP_COMPLETE], 65);
}

/* The next sample finds the rules there, and takes those along that wait. */
static void test_waiting_goes_on(void **state)
{
	struct waiting *w = *state;
	u64 stops[STOP_NR], time = NS_PER_S;

	sample_program(w, time);
	gate_open(&w->gate);
	/* Not so fast that there is no more room to wait before the loader has run. */
	for (; recording_accounting(w->recording)->samples < 2; usleep(1000))
		sample_program(w, ++time);
	assert_int_equal(recording_accounting(w->recording)->samples, time - NS_PER_S + 1);
	finish(w, stops);
	assert_int_equal(stops[STOP_COMPLETE], time - NS_PER_S + 1);
}

/* Not for ever: what was waited for too long is not known, and that is what is said. */
static void test_waiting_too_long(void **state)
{
	struct waiting *w = *state;
	u64 stops[STOP_NR];
	bool all;

	sample_program(w, NS_PER_S);
	sample_program(w, 2 * NS_PER_S);
	assert_int_equal(recording_catch_up(w->recording, 31 * NS_PER_S + NS_PER_S / 2), 0);
	assert_int_equal(recording_accounting(w->recording)->samples, 1);
	assert_int_equal(recording_wait(w->recording, 0, &all), 0);
	assert_false(all);
	assert_int_equal(recording_accounting(w->recording)->samples, 1);
	finish(w, stops);
	assert_int_equal(stops[STOP_NOT_LOADED], 2);
}

/* Nor any number of them. */
static void test_waiting_full(void **state)
{
	struct waiting *w = *state;
	u64 stops[STOP_NR], time = NS_PER_S, kept;

	while (!recording_accounting(w->recording)->from_user[STOP_NOT_LOADED])
		sample_program(w, ++time);
	kept = time - NS_PER_S - 1;
	assert_in_range(kept, 5000, PARKED_MAX_BYTES / sizeof(struct wire_sample));
	gate_open(&w->gate);
	settle(w);
	finish(w, stops);
	assert_int_equal(stops[STOP_NOT_LOADED], 1);
	assert_int_equal(stops[STOP_COMPLETE], kept);
}

#define AT 0x7f1000000000ULL

/* A sample of a function that was called from another file, at AT. */
static void sample_two_files(struct waiting *w, u64 time)
{
	u64 pc = BUILD_PROGRAM_TEXT + BUILD_PROGRAM_FUNCTION + 8;
	struct build_sample build;
	struct build_stack stack;
	struct sample sample;

	build_stack_init(&stack, 0x7ffffffff000);
	for (u64 i = 0; i < 6; i++)
		build_stack_push(&stack, i == 3 ? AT + BUILD_PROGRAM_FUNCTION + 8 : i % 3);
	build_sample_init(&build, pc, stack.sp);
	build.wire.flags = WIRE_F_USER | WIRE_F_TASK;
	build.wire.time = time;
	build.wire.regs.user = 1;
	build.wire.user_pc = pc;
	build.wire.user_sp = stack.sp;
	build.wire.task = build_process_task(&w->program.process);
	build_sample_stack(&build, WIRE_STACK_USER, &stack, WIRE_MAX_STACK_BYTES, STOP_COMPLETE);
	assert_int_equal(build_sample_finish(&build, &sample), 0);
	assert_int_equal(recording_add(w->recording, &sample), 0);
	build_sample_deinit(&build);
}

/* Who waits until a time comes back then, though there is always something new by then. */
static void test_waiting_until(void **state)
{
	struct waiting *w = *state;
	u64 stops[STOP_NR];
	bool all = true;

	build_program_map(&w->program, "other.so", &w->program.file, AT);
	for (u64 i = 0; i < 5; i++)
		sample_two_files(w, NS_PER_S + i);
	gate_open(&w->gate);
	assert_int_equal(worker_wait(w->gate.client, clock_now_ns() + 60 * NS_PER_S), 0);
	assert_non_null(worker_take(w->gate.client));
	settle_loader(&w->gate);
	w->slow = true;
	assert_int_equal(recording_wait(w->recording, 0, &all), 0);
	w->slow = false;
	assert_false(all);
	assert_int_equal(recording_accounting(w->recording)->samples, 0);
	settle(w);
	finish(w, stops);
	assert_int_equal(stops[STOP_COMPLETE], 5);
}

#define WAITING(name) cmocka_unit_test_setup_teardown(name, setup_waiting, teardown_waiting)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		WAITING(test_waiting),
		WAITING(test_waiting_goes_on),
		WAITING(test_waiting_too_long),
		WAITING(test_waiting_full),
		WAITING(test_waiting_until),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
