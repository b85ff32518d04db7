/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One guest being recorded into one perf.data: sample in, unwound and named, event out. Live and
 * replayed samples take this same road; nothing here knows where they come from.
 */
#ifndef ENGINE_RECORDING_H
#define ENGINE_RECORDING_H

#include "base/worker.h"
#include "capture/capture.h"
#include "engine/accounting.h"
#include "guest/guest.h"
#include "mem/reader.h"
#include "perfdata/writer.h"
#include "symbols/cache.h"

struct recording_options {
	const char *path;		/* of the perf.data to write */
	const char *name;		/* the VM's name: the file's host name */
	struct guest_cache *kernels;	/* parsed before; NULL: none. Must outlive the recording */
	struct symcache *symcache;	/* where symbols go; NULL: nowhere. Must outlive it too */
	struct symbol_sources *sources;	/* of files; NULL: the guest's memory. As above */
	struct symbol_sources *servers;	/* slow ones; NULL: none. As above */
	/*
	 * Who reads objects' rules and asks servers; NULL: they are read when a sample needs them.
	 * With a loader the samples that need them wait: a bounded number, for a bounded time.
	 */
	struct worker *loader, *fetcher;
	const struct elf_kernel *elf;	/* what the guest runs; NULL: to be found. As above */
	const char *const *cmdline;	/* NULL-terminated */
	const struct capture_event *events;	/* copied */
	u32 nr_events;
	unsigned int max_depth;
	u32 nr_vcpus;
	u64 memory;			/* bytes */
};

struct recording;

/* @mem must outlive the recording. The file appears at recording_finish(). */
int recording_create(const struct mem_reader *mem, const struct recording_options *options,
		     struct recording **ret);
/* Without finish before it: leaves no file. */
void recording_destroy(struct recording *recording);

/*
 * Looks for the guest's kernel through @regs. 0 when it is known, now or already, else why not as
 * guest_identify() says. Slow the first time: not for the sample path.
 */
int recording_identify(struct recording *recording, const struct vcpu_regs *regs,
		       const char **ret_why);
const struct guest *recording_guest(const struct recording *recording);

/*
 * Whether a sample showed kernel code outside all known modules: one was loaded since. Cleared by
 * recording_refresh(), which reads the module list again.
 */
bool recording_wants_refresh(const struct recording *recording);
int recording_refresh(struct recording *recording);

/* Whether samples came from another kernel than the identified one: the guest was rebooted. */
bool recording_kernel_changed(const struct recording *recording);

/*
 * Unwinds and writes one sample, or keeps a copy until its rules are there. The first write error
 * sticks and is returned from then on. Nothing else ends a recording: what there is no memory for
 * is left out and counted.
 */
int recording_add(struct recording *recording, const struct sample *sample);

/*
 * Goes on with samples that wait and no more have to; those that have waited too long by @now, ns,
 * end with STOP_NOT_LOADED where the rules are not there. To be called now and then, for there may
 * be no more samples. Errors as recording_add()'s.
 */
int recording_catch_up(struct recording *recording, u64 now);

/*
 * For the end, before recording_finish(), which does not wait at all: goes on with samples as what
 * they wait for comes in, at most until @deadline, ns. *@ret_all: nothing is being read any more,
 * neither rules nor symbols. Servers are not waited for: they are told to stop.
 */
int recording_wait(struct recording *recording, u64 deadline, bool *ret_all);

/*
 * Capture has lost @lost events of this VM so far. Those that no record tells of yet get one at
 * @time. Errors as recording_add()'s.
 */
int recording_note_lost(struct recording *recording, u64 lost, u64 time);

/*
 * Ends the reading of rules, and waits for the object that is being read: from here on nothing but
 * the owner's thread reads the guest's memory. Part of recording_finish() and _destroy().
 */
void recording_stop_loading(struct recording *recording);

const struct accounting *recording_accounting(const struct recording *recording);
u64 recording_bytes(const struct recording *recording);

/* After finish: why the guest's symbols could not be stored; the file is good without them. */
int recording_symbols_error(const struct recording *recording);

/*
 * Completes the file with symbols, accounting and @counts (of this VM's events), under its name.
 * Events lost in them that no record tells of get one at the time of the newest sample.
 */
int recording_finish(struct recording *recording, const struct capture_counts *counts);

#endif
