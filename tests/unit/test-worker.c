/* SPDX-License-Identifier: GPL-2.0-only */
/* The thread that does slow work: order, turns, bounds, and leaving it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/worker.h"

#define MINUTE 60000000000ULL	/* ns; for what happens at once */

/* A door that jobs wait at, so that a test knows what has run. */
struct door {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool open;
	unsigned int waiting;	/* jobs that have come to it */
};

struct log {
	unsigned int ran[64];
	unsigned int nr, dropped;
};

struct job {
	struct worker_job job;
	struct door *door;	/* NULL: none */
	struct log *log;
	unsigned int id;
	bool loose;		/* lets go before the door */
	bool tells;		/* that it is there, before the door */
};

static void door_init(struct door *door)
{
	*door = (struct door){ .open = false };
	pthread_mutex_init(&door->lock, NULL);
	pthread_cond_init(&door->moved, NULL);
}

static void door_open(struct door *door)
{
	pthread_mutex_lock(&door->lock);
	door->open = true;
	pthread_cond_broadcast(&door->moved);
	pthread_mutex_unlock(&door->lock);
}

static void door_pass(struct door *door)
{
	pthread_mutex_lock(&door->lock);
	door->waiting++;
	pthread_cond_broadcast(&door->moved);
	while (!door->open)
		pthread_cond_wait(&door->moved, &door->lock);
	pthread_mutex_unlock(&door->lock);
}

static void door_wait(struct door *door, unsigned int nr)
{
	pthread_mutex_lock(&door->lock);
	while (door->waiting < nr)
		pthread_cond_wait(&door->moved, &door->lock);
	pthread_mutex_unlock(&door->lock);
}

static void run(struct worker_job *base)
{
	struct job *job = container_of(base, struct job, job);

	if (job->loose)
		worker_job_let_go(base);
	if (job->tells)
		worker_job_tell(base);
	if (job->door)
		door_pass(job->door);
	job->log->ran[job->log->nr++] = job->id;
}

static void drop(struct worker_job *base)
{
	struct job *job = container_of(base, struct job, job);

	job->log->dropped++;
	free(job);
}

static struct job *make_job(struct log *log, unsigned int id, struct door *door)
{
	struct job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	*job = (struct job){ .job = { .run = run, .drop = drop }, .door = door, .log = log,
			     .id = id };
	return job;
}

static int submit(struct worker_client *client, struct log *log, unsigned int id,
		  struct door *door)
{
	struct job *job = make_job(log, id, door);
	int err = worker_submit(client, &job->job);

	if (err)
		free(job);
	return err;
}

/* Takes @nr jobs. */
static void take(struct worker_client *client, unsigned int nr)
{
	while (nr) {
		struct worker_job *job;

		assert_int_equal(worker_wait(client, clock_now_ns() + MINUTE), 0);
		for (; (job = worker_take(client)); nr--)
			free(container_of(job, struct job, job));
	}
}

static void test_order(void **state)
{
	_cleanup_(worker_destroy) struct worker *worker = NULL;
	_cleanup_(worker_client_destroy) struct worker_client *client = NULL;
	struct log log = { .nr = 0 };

	(void)state;
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 64, &client), 0);
	assert_null(worker_take(client));
	assert_int_equal(worker_wait(client, 0), -ENOENT);
	for (unsigned int i = 0; i < 50; i++)
		assert_int_equal(submit(client, &log, i, NULL), 0);
	take(client, 50);
	assert_int_equal(log.nr, 50);
	for (unsigned int i = 0; i < 50; i++)
		assert_int_equal(log.ran[i], i);
	assert_int_equal(log.dropped, 0);
}

/* Who has much to do does not keep others from theirs; a full queue says so. */
static void test_turns(void **state)
{
	_cleanup_(worker_destroy) struct worker *worker = NULL;
	struct worker_client *busy, *other;
	struct log log = { .nr = 0 };
	struct door door;

	(void)state;
	door_init(&door);
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 8, &busy), 0);
	assert_int_equal(worker_client_create(worker, 8, &other), 0);
	assert_int_equal(submit(busy, &log, 0, &door), 0);
	door_wait(&door, 1);
	for (unsigned int i = 1; i <= 8; i++)
		assert_int_equal(submit(busy, &log, i, NULL), 0);
	assert_int_equal(submit(busy, &log, 9, NULL), -EBUSY);
	assert_int_equal(submit(other, &log, 100, NULL), 0);
	assert_int_equal(submit(other, &log, 101, NULL), 0);
	assert_int_equal(worker_wait(other, clock_now_ns()), -ETIMEDOUT);
	door_open(&door);
	take(other, 2);
	take(busy, 9);
	assert_int_equal(log.nr, 11);
	assert_int_equal(log.ran[1], 100);
	assert_int_equal(log.ran[2], 1);
	assert_int_equal(log.ran[3], 101);
	worker_client_destroy(busy);
	worker_client_destroy(other);
}

/* Jobs that nobody takes are dropped: those that wait, run, or are done. */
static void test_destroy(void **state)
{
	_cleanup_(worker_destroy) struct worker *worker = NULL;
	struct worker_client *client;
	struct log log = { .nr = 0 };

	(void)state;
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 64, &client), 0);
	for (unsigned int i = 0; i < 60; i++)
		assert_int_equal(submit(client, &log, i, NULL), 0);
	assert_int_equal(worker_wait(client, clock_now_ns() + MINUTE), 0);
	worker_client_destroy(client);
	assert_int_equal(log.dropped, 60);
	assert_in_range(log.nr, 1, 60);
}

/* Leaving waits for nothing, and what still runs is dropped when it is done. */
static void test_leave(void **state)
{
	struct worker *worker;
	struct worker_client *client, *next;
	struct log log = { .nr = 0 };
	struct door door;

	(void)state;
	door_init(&door);
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 8, &client), 0);
	assert_int_equal(submit(client, &log, 1, &door), 0);
	assert_int_equal(submit(client, &log, 2, NULL), 0);
	door_wait(&door, 1);
	worker_client_leave(client);
	assert_int_equal(log.dropped, 1);
	assert_int_equal(worker_client_create(worker, 8, &next), 0);
	assert_int_equal(submit(next, &log, 3, NULL), 0);
	door_open(&door);
	take(next, 1);
	worker_client_destroy(next);
	worker_destroy(worker);
	assert_int_equal(log.nr, 2);
	assert_int_equal(log.ran[0], 1);
	assert_int_equal(log.ran[1], 3);
	assert_int_equal(log.dropped, 2);
}

static bool in_a_hurry(void)
{
	return true;
}

/* A job that needs nothing of its client's any more keeps nobody from going. */
static void test_let_go(void **state)
{
	struct worker *worker;
	struct worker_client *client;
	struct log log = { .nr = 0 };
	struct door door;
	struct job *job;

	(void)state;
	door_init(&door);
	job = make_job(&log, 1, &door);
	job->loose = true;
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 8, &client), 0);
	assert_int_equal(worker_submit(client, &job->job), 0);
	door_wait(&door, 1);
	worker_client_destroy(client);
	assert_int_equal(worker_end(worker, clock_now_ns(), NULL), -ETIMEDOUT);
	assert_int_equal(worker_end(worker, UINT64_MAX, in_a_hurry), -ETIMEDOUT);
	door_open(&door);
	assert_int_equal(worker_end(worker, clock_now_ns() + MINUTE, NULL), 0);
	assert_int_equal(worker_end(worker, clock_now_ns(), in_a_hurry), 0);
	assert_int_equal(log.nr, 1);
	assert_int_equal(log.dropped, 1);
	worker_destroy(worker);
}

/* What is waited for is a job's end or its word. */
static void test_tell(void **state)
{
	_cleanup_(worker_destroy) struct worker *worker = NULL;
	struct worker_client *client, *other;
	struct log log = { .nr = 0 };
	struct door door;
	struct job *job;

	(void)state;
	door_init(&door);
	job = make_job(&log, 1, &door);
	job->tells = true;
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 8, &client), 0);
	assert_int_equal(worker_client_create(worker, 8, &other), 0);
	assert_int_equal(submit(other, &log, 2, NULL), 0);
	assert_false(worker_was_told(client));
	assert_int_equal(worker_submit(client, &job->job), 0);
	assert_int_equal(worker_wait(client, clock_now_ns() + MINUTE), 0);
	assert_null(worker_take(client));
	assert_false(worker_was_told(other));
	assert_true(worker_was_told(client));
	assert_false(worker_was_told(client));
	assert_int_equal(worker_wait(client, clock_now_ns()), -ETIMEDOUT);
	door_open(&door);
	take(client, 1);
	take(other, 1);
	worker_client_destroy(client);
	worker_client_destroy(other);
	assert_int_equal(log.dropped, 0);
}

static pthread_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = pthread_self();
}

/* Signals find the thread that submitted, which may wait for them. */
static void test_signals(void **state)
{
	_cleanup_(worker_destroy) struct worker *worker = NULL;
	_cleanup_(worker_client_destroy) struct worker_client *client = NULL;
	struct sigaction action = { .sa_handler = on_signal }, before;
	struct log log = { .nr = 0 };
	struct door door;

	(void)state;
	door_init(&door);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(worker_create(&worker), 0);
	assert_int_equal(worker_client_create(worker, 8, &client), 0);
	assert_int_equal(submit(client, &log, 1, &door), 0);
	door_wait(&door, 1);
	for (unsigned int i = 0; i < 20; i++) {
		interrupted = 0;
		assert_int_equal(kill(getpid(), SIGUSR1), 0);
		assert_true(pthread_equal(interrupted, pthread_self()));
	}
	door_open(&door);
	take(client, 1);
	sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	cmocka_unit_test(test_turns),
		cmocka_unit_test(test_destroy), cmocka_unit_test(test_leave),
		cmocka_unit_test(test_let_go),	cmocka_unit_test(test_tell),
		cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
