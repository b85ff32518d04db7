/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording live guests: which VMs, their capture, one recording each, and following what comes
 * and goes. Drives src/capture and feeds src/engine/recording.
 *
 * Threads: a recorder is for one thread. It has one more of its own that reads the rules of guests'
 * programs, and another one when there are servers to ask (see engine/objects.h). What @options
 * point to must outlive it; .sources and .servers are not to be used by others until it is
 * destroyed.
 */
#ifndef ENGINE_RECORDER_H
#define ENGINE_RECORDER_H

#include <signal.h>

#include "capture/capture.h"
#include "engine/accounting.h"
#include "guest/guest.h"
#include "symbols/cache.h"
#include "vm/vm.h"

/*
 * A VM that cannot be recorded, or not whole, while others are: told once for each, and of VMs
 * that come while recording only if it stays so. Strings are valid during the call only.
 */
struct recorder_notice {
	const char *name;	/* of the VM; "of process PID" when that is not known */
	const char *why;	/* what stands in the way, and what can be done about it */
	int error;
	bool partly;		/* it is recorded, as it was before it changed */
	enum capture_mode instead;	/* in which it could be, by itself; CAPTURE_AUTO: none */
};
typedef void (*recorder_notice_fn)(const struct recorder_notice *notice, void *arg);

struct recorder_options {
	/* Which VMs: exactly one of these, or none for the only one there is. */
	pid_t pid;			/* all VMs of this VMM */
	const char *name;		/* the VM of that name */
	bool all;			/* every VM, those that start later too */
	bool wait;			/* with .name: until there is such a VM */

	struct capture_options capture;	/* .mode may be CAPTURE_AUTO */
	/* For VMMs that catch it; VM_KICK_WORK: for all; 0: what each is known to stand. */
	int kick_signal;
	const char *path;		/* of the file; with several see engine/output-path.h */
	struct guest_cache *kernels;	/* guest kernels parsed before; may be NULL */
	struct symcache *symcache;	/* where guests' symbols go; may be NULL */
	struct symbol_sources *sources;	/* of guests' files, quick ones; NULL: their memory only */
	struct symbol_sources *servers;	/* the same, that take long; NULL: none */
	const struct elf_kernel *elf;	/* what the guests run; NULL: to be found */
	const char *const *cmdline;

	bool (*cancelled)(void);	/* whether creating shall end, with -EINTR; may be NULL */
	recorder_notice_fn on_notice;	/* may be NULL */
	void *notice_arg;
};

/* What one VM's recording came to. */
struct recorder_result {
	const char *name;
	const char *path;	/* NULL: nothing was written */
	u64 bytes;
	const struct accounting *accounting;
	const char *os_release;	/* "" when the guest's kernel was not identified */
	int error;		/* why the file is missing or short */
	int symbols_error;	/* why the symbols are not in the cache */
};

struct recorder;

/*
 * Finds the VMs and opens their capture. *@ret_why (never NULL on failure) says what stood in the
 * way and what to do, as a string that lives as long as the program.
 */
int recorder_create(struct vm_host *host, const struct recorder_options *options,
		    struct recorder **ret, const char **ret_why);
void recorder_destroy(struct recorder *recorder);

/* The mode in use and why. */
enum capture_mode recorder_mode(const struct recorder *recorder, const char **ret_why);
size_t recorder_nr_vms(const struct recorder *recorder);

/* What is known of the operating system of guest @i, below recorder_nr_vms(). */
struct recorder_system {
	const char *name;			/* of the VM */
	const struct guest_kernel *kernel;	/* .os says whether one was identified */
	const char *why;			/* constant: what was missing, if none was */
};

void recorder_get_system(const struct recorder *recorder, size_t i, struct recorder_system *ret);

int recorder_start(struct recorder *recorder);

/*
 * Handles what is there, waits at most @timeout_ms. 0; -EINTR on a signal; -ESRCH when every VM is
 * gone and no more are waited for; else the first error that ends recording (-ENOSPC).
 */
int recorder_step(struct recorder *recorder, int timeout_ms);

void recorder_get_counts(const struct recorder *recorder, struct capture_counts *ret);
/* capture_get_times() */
void recorder_get_times(const struct recorder *recorder, u32 event, u64 *ret_on, u64 *ret_counted);
/* Of all VMs together. */
void recorder_get_accounting(const struct recorder *recorder, struct accounting *ret);

/* Stops the events. For what was captured before the two that follow are to be called. */
int recorder_stop(struct recorder *recorder);

/*
 * Goes on with what waits for files of the guests' programs, at most until @deadline,
 * CLOCK_MONOTONIC in ns. Whether all are read; servers are not waited for.
 */
bool recorder_wait(struct recorder *recorder, u64 deadline);

/*
 * Completes every file, without what is not read yet. The first error, all files tried. A file of
 * this host that is being read is waited for then, 10 s at most and not when @hurry says so.
 */
int recorder_finish(struct recorder *recorder, bool (*hurry)(void));

/*
 * After that: a file of this host still keeps a thread, as one can on a file system that hangs. All
 * that was given in the options must stay, and recorder_destroy() would wait for it: only the end
 * of the process helps.
 */
bool recorder_is_stuck(const struct recorder *recorder);

size_t recorder_nr_results(const struct recorder *recorder);
void recorder_result(const struct recorder *recorder, size_t i, struct recorder_result *ret);

#endif
