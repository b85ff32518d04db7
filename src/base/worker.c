/* SPDX-License-Identifier: GPL-2.0-only */
/* One thread that does slow work for others in turn. */
#include "base/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"

#define LOOK_NS 50000000ULL	/* how often who waits is asked whether to go on */

struct job_list {
	struct worker_job *first, *last;
	unsigned int nr;
};

/* All of it is under .worker->lock but .nr_done and .told, which are set under it. */
struct worker_client {
	struct worker *worker;
	struct worker_client *next, *before;	/* a ring of them all */
	struct job_list queue, done;
	atomic_uint nr_done;
	atomic_bool told;
	unsigned int max;
	bool runs;		/* one of its jobs is .worker->running */
};

struct worker {
	pthread_mutex_t lock;
	pthread_cond_t todo;	/* for the thread */
	pthread_cond_t done;	/* for those who wait */
	struct worker_client *turn;	/* the ring, at the one to be served next; NULL: empty */
	struct worker_job *running;	/* .client NULL: nobody takes it */
	bool let_go;			/* .running need not be waited for */
	pthread_t thread;
	bool started;
	bool end;
};

static void push(struct job_list *list, struct worker_job *job)
{
	job->next = NULL;
	if (list->last)
		list->last->next = job;
	else
		list->first = job;
	list->last = job;
	list->nr++;
}

static struct worker_job *pop(struct job_list *list)
{
	struct worker_job *job = list->first;

	if (!job)
		return NULL;
	list->first = job->next;
	if (!list->first)
		list->last = NULL;
	list->nr--;
	return job;
}

static struct timespec timespec_of(u64 ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

int worker_create(struct worker **ret)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attr;

	if (!worker)
		return -ENOMEM;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->todo, NULL);
	pthread_cond_init(&worker->done, &attr);
	pthread_condattr_destroy(&attr);
	*ret = worker;
	return 0;
}

static void ask_to_end(struct worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->end = true;
	pthread_cond_signal(&worker->todo);
	pthread_mutex_unlock(&worker->lock);
}

static bool join(struct worker *worker, u64 deadline)
{
	const struct timespec until = timespec_of(deadline);

	return !worker->started ||
	       !pthread_clockjoin_np(worker->thread, NULL, CLOCK_MONOTONIC, &until);
}

int worker_end(struct worker *worker, u64 deadline, bool (*hurry)(void))
{
	ask_to_end(worker);
	/* Signals do not end that waiting. */
	while (!join(worker, hurry ? MIN(clock_now_ns() + LOOK_NS, deadline) : deadline))
		if (clock_now_ns() >= deadline || (hurry && hurry()))
			return -ETIMEDOUT;
	worker->started = false;
	return 0;
}

void worker_destroy(struct worker *worker)
{
	if (!worker)
		return;
	ask_to_end(worker);
	if (worker->started)
		pthread_join(worker->thread, NULL);
	pthread_cond_destroy(&worker->todo);
	pthread_cond_destroy(&worker->done);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

/* The next job of the client whose turn it is, or of one behind it. */
static struct worker_job *next_job(struct worker *worker)
{
	struct worker_client *first = worker->turn;

	while (worker->turn) {
		struct worker_job *job = pop(&worker->turn->queue);

		worker->turn = worker->turn->next;
		if (job || worker->turn == first)
			return job;
	}
	return NULL;
}

static void set_running(struct worker *worker, struct worker_job *job, bool runs)
{
	worker->running = runs ? job : NULL;
	worker->let_go = false;
	if (job->client)
		job->client->runs = runs;
}

/* Under the lock; lets go of it while the job runs. */
static void run_job(struct worker *worker, struct worker_job *job)
{
	struct worker_client *client;

	set_running(worker, job, true);
	pthread_mutex_unlock(&worker->lock);
	job->run(job);
	pthread_mutex_lock(&worker->lock);
	set_running(worker, job, false);
	client = job->client;
	if (client) {
		push(&client->done, job);
		atomic_store_explicit(&client->nr_done, client->done.nr, memory_order_relaxed);
	} else {
		job->drop(job);
	}
	pthread_cond_broadcast(&worker->done);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	pthread_mutex_lock(&worker->lock);
	while (!worker->end) {
		struct worker_job *job = next_job(worker);

		if (job)
			run_job(worker, job);
		else
			pthread_cond_wait(&worker->todo, &worker->lock);
	}
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

/* Signals are for the thread that polls: they have to end its waiting. */
static int start(struct worker *worker)
{
	sigset_t all, before;
	int err;

	if (worker->started)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&worker->thread, NULL, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	worker->started = !err;
	return -err;
}

int worker_client_create(struct worker *worker, unsigned int max, struct worker_client **ret)
{
	struct worker_client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->worker = worker;
	client->max = max;
	pthread_mutex_lock(&worker->lock);
	if (worker->turn) {
		client->next = worker->turn;
		client->before = worker->turn->before;
		client->before->next = client->next->before = client;
	} else {
		worker->turn = client->next = client->before = client;
	}
	pthread_mutex_unlock(&worker->lock);
	*ret = client;
	return 0;
}

static void leave_ring(struct worker_client *client)
{
	struct worker *worker = client->worker;

	client->before->next = client->next;
	client->next->before = client->before;
	if (worker->turn == client)
		worker->turn = client->next == client ? NULL : client->next;
}

static void drop_all(struct job_list *list)
{
	struct worker_job *job;

	while ((job = pop(list)))
		job->drop(job);
}

static void end_client(struct worker_client *client, bool wait)
{
	struct worker *worker = client->worker;

	pthread_mutex_lock(&worker->lock);
	drop_all(&client->queue);
	while (wait && client->runs && !worker->let_go)
		pthread_cond_wait(&worker->done, &worker->lock);
	if (client->runs)
		worker->running->client = NULL;
	drop_all(&client->done);
	leave_ring(client);
	pthread_mutex_unlock(&worker->lock);
	free(client);
}

void worker_client_destroy(struct worker_client *client)
{
	if (client)
		end_client(client, true);
}

void worker_client_leave(struct worker_client *client)
{
	if (client)
		end_client(client, false);
}

int worker_submit(struct worker_client *client, struct worker_job *job)
{
	struct worker *worker = client->worker;
	int err;

	pthread_mutex_lock(&worker->lock);
	err = client->queue.nr >= client->max ? -EBUSY : start(worker);
	if (!err) {
		job->worker = worker;
		job->client = client;
		push(&client->queue, job);
		pthread_cond_signal(&worker->todo);
	}
	pthread_mutex_unlock(&worker->lock);
	return err;
}

void worker_job_let_go(struct worker_job *job)
{
	struct worker *worker = job->worker;

	pthread_mutex_lock(&worker->lock);
	worker->let_go = true;
	pthread_cond_broadcast(&worker->done);
	pthread_mutex_unlock(&worker->lock);
}

void worker_job_tell(struct worker_job *job)
{
	struct worker *worker = job->worker;

	pthread_mutex_lock(&worker->lock);
	if (job->client)
		atomic_store_explicit(&job->client->told, true, memory_order_relaxed);
	pthread_cond_broadcast(&worker->done);
	pthread_mutex_unlock(&worker->lock);
}

bool worker_was_told(struct worker_client *client)
{
	return atomic_load_explicit(&client->told, memory_order_relaxed) &&
	       atomic_exchange_explicit(&client->told, false, memory_order_acquire);
}

struct worker_job *worker_take(struct worker_client *client)
{
	struct worker *worker = client->worker;
	struct worker_job *job;

	if (!atomic_load_explicit(&client->nr_done, memory_order_relaxed))
		return NULL;
	pthread_mutex_lock(&worker->lock);
	job = pop(&client->done);
	atomic_store_explicit(&client->nr_done, client->done.nr, memory_order_relaxed);
	pthread_mutex_unlock(&worker->lock);
	return job;
}

int worker_wait(struct worker_client *client, u64 deadline)
{
	const struct timespec until = timespec_of(deadline);
	struct worker *worker = client->worker;
	int err = 0;

	pthread_mutex_lock(&worker->lock);
	while (!client->done.nr && !client->told && !err) {
		if (!client->queue.nr && !client->runs)
			err = -ENOENT;
		else
			err = -pthread_cond_timedwait(&worker->done, &worker->lock, &until);
	}
	err = client->done.nr || client->told ? 0 : err;
	pthread_mutex_unlock(&worker->lock);
	return err;
}
