/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One thread that does slow work for others in turn. Each who has work for it is a client with a
 * bounded queue; clients are served in turn, one job each, so that none keeps the others waiting
 * for more than a job.
 *
 * Threads: a client belongs to one thread, which submits jobs and takes them back. A job belongs to
 * the worker from submitting to taking: what run() needs and others change is theirs to guard. What
 * run() wrote is seen by who takes the job.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include "base/types.h"

struct worker;
struct worker_client;

/* Part of a larger struct. The caller fills in the functions. */
struct worker_job {
	void (*run)(struct worker_job *job);	/* on the worker's thread; takes no signals */
	void (*drop)(struct worker_job *job);	/* frees a job that nobody takes; on any thread */
	struct worker *worker;			/* the worker's, as are the next */
	struct worker_client *client;
	struct worker_job *next;
};

/*
 * The thread starts with the first job: with the privileges that its submitter has by then, and all
 * signals blocked.
 */
int worker_create(struct worker **ret);

/* Ends the thread, when the job that runs is done. All clients must be gone. */
void worker_destroy(struct worker *worker);
DEFINE_CLEANUP(struct worker *, worker_destroy)

/*
 * Ends the thread, but waits for the job that runs at most until @deadline, CLOCK_MONOTONIC in ns,
 * or until @hurry says so, which is asked now and then (NULL: nobody is). -ETIMEDOUT: it still
 * runs, so the worker and all that the job uses must stay.
 */
int worker_end(struct worker *worker, u64 deadline, bool (*hurry)(void));

/* At most @max jobs of it wait at a time. */
int worker_client_create(struct worker *worker, unsigned int max, struct worker_client **ret);

/* Drops its jobs, those that are done too; waits for the one that runs, unless that was let go. */
void worker_client_destroy(struct worker_client *client);
DEFINE_CLEANUP(struct worker_client *, worker_client_destroy)

/* The same without waiting: the job that runs is dropped when it is done, by the worker. */
void worker_client_leave(struct worker_client *client);

/* -EBUSY: too many wait; else why no thread could be started. A job that failed is the caller's. */
int worker_submit(struct worker_client *client, struct worker_job *job);

/*
 * For run(): from here on the job uses nothing that is gone after worker_client_destroy(), which
 * need not wait for it any more.
 */
void worker_job_let_go(struct worker_job *job);

/* For run(): a job that is not done has something for its client, which worker_wait() waits for. */
void worker_job_tell(struct worker_job *job);

/* Whether one has since this was asked last. Costs next to nothing. */
bool worker_was_told(struct worker_client *client);

/* A job that is done, the caller's from now on; NULL: none. Costs next to nothing then. */
struct worker_job *worker_take(struct worker_client *client);

/*
 * Waits until a job is done that was not taken yet, or has told something; at most until
 * @deadline, CLOCK_MONOTONIC in ns. -ETIMEDOUT; -ENOENT: there is none to wait for.
 */
int worker_wait(struct worker_client *client, u64 deadline);

#endif
