/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof record: sample guests and write a perf.data for each. */
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/child.h"
#include "cmd/commands.h"
#include "cmd/input.h"
#include "cmd/interrupt.h"
#include "cmd/options.h"
#include "engine/privileges.h"
#include "engine/recorder.h"
#include "symbols/cache-admin.h"
#include "vm/absence.h"

#define MAX_HZ 100000
#define DEFAULT_CACHE_SIZE (2ULL << 30)
#define MIN_COUNTED_PERCENT 95
#define MAX_NAMED_EVENTS 4	/* in the first line */
#define POLL_MS 100
#define PROGRESS_NS 1000000000ULL
#define SAY_WAIT_NS 1000000000ULL	/* until it is said why it takes so long to end */
#define END_WAIT_NS 10000000000ULL	/* at the end, for files of the guests' programs */

static const char *const mode_names[] = { "auto", "inline", "deferred", "ptrace", NULL };

struct event_word {
	const char *text;
	bool filter;
};

static struct {
	u64 pid;
	const char *vm;
	bool all;
	bool wait;
	VEC(struct event_word) words;	/* what -e and --filter said, in order */
	u64 freq;
	u64 period;
	int mode;
	const char *kick_signal;
	bool chains;	/* of no consequence */
	u64 max_depth;
	u64 stack_size;
	u64 duration_ms;
	const char *output;
	const char *debug_dir;
	u64 cache_size;
	struct symbol_source_list sources;
	const char *guestmount;
	const char *guest_elf;
} opt = {
	/* No servers: what is fetched from them comes too late for most samples. */
	.sources = {
		.order = { SYMBOL_SOURCE_GUEST, SYMBOL_SOURCE_CACHE, SYMBOL_SOURCE_HOST,
			   SYMBOL_SOURCE_GUESTMOUNT },
		.nr = 4,
	},
	.max_depth = 127,	/* kernel.perf_event_max_stack's default */
	.stack_size = CAPTURE_USER_STACK_DEFAULT,
	.output = "perf.data",
	.cache_size = DEFAULT_CACHE_SIZE,
};

static int keep_event(const char *text, void *arg, const char **ret_why)
{
	const struct event_word word = { .text = text };

	(void)arg;
	*ret_why = "out of memory";
	return vec_push(&opt.words, word);
}

static int keep_filter(const char *text, void *arg, const char **ret_why)
{
	const struct event_word word = { .text = text, .filter = true };

	(void)arg;
	*ret_why = opt.words.nr ? "out of memory" : "it is for the event before it: -e comes first";
	return opt.words.nr ? vec_push(&opt.words, word) : -EINVAL;
}

/* perf's "fp", "dwarf,SIZE" or "lbr", of people used to it. */
static int check_call_graph(const char *text, void *arg, const char **ret_why)
{
	static const char *const modes[] = { "fp", "dwarf", "lbr" };
	size_t len = strcspn(text, ",");

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strlen(modes[i]) == len && !strncmp(modes[i], text, len))
			return 0;
	*ret_why = "perf's are fp, dwarf and lbr; chains are recorded without the option";
	return -EINVAL;
}

static const struct option_spec record_options[] = {
	OPT_GROUP("Which guests"),
	OPT_NUMBER('p', "pid", &opt.pid, 1, INT32_MAX, "PID", "the guests of this VMM process",
		   .complete = "pid"),
	OPT_STRING(0, "vm", &opt.vm, "NAME", "the guest of that name", .complete = "vm"),
	OPT_FLAG(0, "wait", &opt.wait, "with --vm: wait for a guest of that name to start"),
	OPT_FLAG('a', "all", &opt.all, "every guest, those that start later too; one file each"),
	OPT_GROUP("What to sample"),
	OPT_CALLBACK('e', "event", keep_event, NULL, "EVENT",
		     "perf's event syntax; may be a list, and given again; "
		     "default cycles in guest mode, else cpu-clock",
		     .complete = "event"),
	OPT_CALLBACK(0, "filter", keep_filter, NULL, "FILTER",
		     "of the tracepoint before it only hits that this lets pass"),
	OPT_NUMBER('F', "freq", &opt.freq, 1, MAX_HZ, "HZ", "samples a second (default 997)"),
	OPT_NUMBER('c', "count", &opt.period, 1, UINT64_MAX, "N", "one sample every N events"),
	OPT_NUMBER(0, "max-depth", &opt.max_depth, 1, WIRE_MAX_USER_FRAMES, "N",
		   "frames of a chain, kernel and user together (default 127)"),
	OPT_NUMBER(0, "stack-size", &opt.stack_size, 0, WIRE_MAX_STACK_BYTES, "BYTES",
		   "of the user stack to unwind (default 16384); 0: go by frame pointers"),
	OPT_GROUP("How"),
	OPT_CHOICE(0, "capture", &opt.mode, mode_names, "MODE",
		   "how a sample is taken (default auto)"),
	OPT_FLAG('g', NULL, &opt.chains, "call chains are recorded, as always"),
	OPT_CALLBACK(0, "call-graph", check_call_graph, NULL, "MODE",
		     "the same; how is not for MODE to say"),
	OPT_STRING(0, "kick-signal", &opt.kick_signal, "SIGNAL",
		   "deferred: the signal that this VMM kicks its vCPUs with; or none",
		   .complete = "signal"),
	OPT_DURATION(0, "duration", &opt.duration_ms, "end after this time"),
	OPT_FILE('o', "output", &opt.output,
		 "the file; with several guests FILE.NAME, FILE.NAME.2 if that is taken"),
	OPT_STRING(0, "buildid-dir", &opt.debug_dir, "DIR",
		   "symbols go there (default ~/.debug or perf's buildid.dir)",
		   .complete = "dir"),
	OPT_CALLBACK(0, "symbol-sources", input_parse_sources, &opt.sources, "LIST",
		     "where guests' files come from (default guest,cache,host,guestmount)"),
	OPT_STRING(0, "guestmount", &opt.guestmount, "DIR",
		   "a guest's root folder is mounted at DIR or DIR/PID", .complete = "dir"),
	OPT_FILE(0, "guest-elf", &opt.guest_elf,
		 "the guest is no Linux but runs this ELF file; FILE@ADDR: loaded there"),
	OPT_SIZE(0, "cache-size", &opt.cache_size,
		 "what kvmprof may keep there; old ones go (default 2G, 0: no limit)"),
	OPT_END
};

static const struct command_spec spec = {
	.name = "record",
	.usage = "[-p PID | --vm NAME [--wait] | -a] [OPTIONS] [-- COMMAND…]",
	.summary = "Sample guests and write a perf.data for each",
	.options = record_options,
	.max_operands = OPERANDS_ANY,
	.stop_at_operand = true,
};

/* What ends the recording, and what would stop it. */
static void catch_signals(void)
{
	interrupt_catch();
	/*
	 * Who is stopped while it holds a vCPU thread stopped (ptrace mode) stops the guest. The
	 * command that runs beside was given its own defaults before.
	 */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

static int check_options(void)
{
	int chosen = !!opt.pid + !!opt.vm + opt.all;

	if (chosen > 1)
		return options_usage_error(&spec, "-p, --vm and -a exclude each other");
	if (opt.wait && !opt.vm)
		return options_usage_error(&spec, "--wait goes with --vm");
	if (opt.guest_elf && opt.all)
		return options_usage_error(&spec, "--guest-elf is for one guest, -a for all");
	if (opt.freq && opt.period)
		return options_usage_error(&spec, "-F and -c exclude each other");
	if (!*opt.output || !strcmp(opt.output, "-"))
		return options_usage_error(&spec, "-o takes a file's name, not '%s'", opt.output);
	return STATUS_OK;
}

/* "10", "USR1", "SIGUSR1", "RTMIN+1". 0 or -EINVAL. */
static int parse_signal(const char *text, int *ret)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text && !*end && number > 0 && number < NSIG) {
		*ret = number;
		return 0;
	}
	if (!strncmp(text, "SIG", 3))
		text += 3;
	if (!strncmp(text, "RTMIN", 5)) {
		number = text[5] == '+' ? strtol(text + 6, &end, 10) : 0;
		if ((text[5] && (text[5] != '+' || !text[6] || *end)) || number < 0 ||
		    number > SIGRTMAX - SIGRTMIN)
			return -EINVAL;
		*ret = SIGRTMIN + number;
		return 0;
	}
	for (int i = 1; i < SIGRTMIN; i++) {
		const char *name = sigabbrev_np(i);

		if (name && !strcmp(name, text)) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* @err: that of capture_events_add(). */
static const char *event_error_text(const char *event, int err, const char *why)
{
	const char *absence = NULL;

	/* Of KVM's own events there are none before KVM is there. */
	if (err == -ENOENT && !strncmp(event, "kvm:", 4))
		absence = vm_kvm_absence("/sys", "/proc/cpuinfo");
	return absence ?: why ?: error_text(err);
}

/* Before anything else is done: files go beside @opt.output, and appear there at the end. */
static int check_output(void)
{
	_cleanup_free_ char *copy = strdup(opt.output);
	const char *folder;

	if (!copy)
		return log_error_errno(-ENOMEM, "cannot write %s", opt.output);
	folder = dirname(copy);
	if (access(folder, W_OK | X_OK))
		return log_error_errno(-errno, "cannot write %s: its folder", opt.output);
	return 0;
}

static int fill_kick_signal(int *ret)
{
	if (!opt.kick_signal || !parse_signal(opt.kick_signal, ret))
		return 0;
	if (!strcmp(opt.kick_signal, "none")) {
		*ret = VM_KICK_WORK;
		return 0;
	}
	log_error("'%s' is no signal name or number (try SIGUSR1, RTMIN+1 or none)",
		  opt.kick_signal);
	return -EINVAL;
}

static int add_event(struct capture_events *events, const char *text)
{
	const char *why = NULL;
	int err = capture_events_add(events, text, &why);

	if (err)
		log_error("event '%s': %s", events->wrong,
			  event_error_text(events->wrong, err, why));
	return err;
}

static int add_filter(struct capture_events *events, const char *text)
{
	_cleanup_free_ char *said = NULL;
	int err = capture_events_filter(events, text, &said);

	if (err == -EOPNOTSUPP)
		log_error("event '%s': filters are for tracepoints", events->wrong);
	else if (err)
		log_error("event '%s': filter '%s': the kernel says: %s", events->wrong, text,
			  said ?: error_text(err));
	return err;
}

static int add_events(struct capture_events *events, const char **ret_why)
{
	int err = 0;

	for (size_t i = 0; i < opt.words.nr && !err; i++) {
		const struct event_word *word = &opt.words.data[i];

		err = word->filter ? add_filter(events, word->text) :
				     add_event(events, word->text);
	}
	if (err || events->list.nr)
		return err;
	err = capture_events_add_default(events, ret_why);
	if (err)
		log_error("no event: %s", *ret_why ?: error_text(err));
	return err;
}

/* The options borrow from @events. */
static int fill_capture(struct capture_options *capture, struct capture_events *events,
			const char **ret_event_why)
{
	int err;

	*ret_event_why = "asked for";
	events->freq = opt.freq;
	events->period = opt.period;
	err = add_events(events, ret_event_why);
	if (err)
		return err;
	*capture = (struct capture_options){
		.mode = (enum capture_mode)opt.mode,
		.events = events->list.data,
		.nr_events = events->list.nr,
		.max_depth = opt.max_depth,
		.user_stack = opt.stack_size,
	};
	return 0;
}

static void add_rate(struct strbuf *line, const struct capture_event *event)
{
	if (event->period)
		strbuf_addf(line, " every %llu", (unsigned long long)event->period);
	else
		strbuf_addf(line, " at %llu Hz", (unsigned long long)event->freq);
}

/* "event cycles at 997 Hz"; of more than a few only how many. */
static void add_event_names(struct strbuf *line, const struct capture_options *capture)
{
	if (capture->nr_events > MAX_NAMED_EVENTS) {
		strbuf_addf(line, "%u events", capture->nr_events);
		return;
	}
	strbuf_adds(line, capture->nr_events > 1 ? "events" : "event");
	for (u32 i = 0; i < capture->nr_events; i++) {
		strbuf_addf(line, "%s %s", i ? "," : "", capture->events[i].name);
		add_rate(line, &capture->events[i]);
	}
}

/* Of guests that are no Linux that is known: what they are taken for, and what that means. */
static void say_systems(const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder_nr_vms(recorder); i++) {
		struct recorder_system system;

		recorder_get_system(recorder, i, &system);
		if (system.kernel->os == GUEST_OS_GIVEN)
			log_notice("guest %s: its OS is unknown, names and rules are those of %s "
				   "at %#llx; its tasks and programs are not told apart",
				   system.name, system.kernel->release,
				   (unsigned long long)system.kernel->start.addr);
		else if (system.kernel->os == GUEST_OS_UNKNOWN)
			log_notice("guest %s: its OS is unknown (%s): chains go as far as frame "
				   "pointers lead, frames are addresses, tasks are not told apart "
				   "(see --guest-elf)", system.name, system.why);
	}
}

static void say_start(const struct recorder *recorder, const struct capture_options *capture,
		      const char *event_why)
{
	_cleanup_strbuf_ struct strbuf events = STRBUF_INIT;
	const char *mode_why;
	enum capture_mode mode = recorder_mode(recorder, &mode_why);

	add_event_names(&events, capture);
	log_notice("%s (%s), capture %s (%s), %zu guest%s", strbuf_cstr(&events), event_why,
		   capture_mode_name(mode), mode_why, recorder_nr_vms(recorder),
		   recorder_nr_vms(recorder) == 1 ? "" : "s");
	if (opt.wait && !recorder_nr_vms(recorder))
		log_notice("waiting for a guest %s", opt.vm);
}

static double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * part / whole : 0;
}

/* One line that is written over, on a terminal only. */
static void show_progress(const struct recorder *recorder, u64 started)
{
	struct accounting accounting;
	struct capture_counts counts;

	if (!isatty(STDERR_FILENO) || log_get_level() < LOG_LEVEL_NOTICE)
		return;
	recorder_get_accounting(recorder, &accounting);
	recorder_get_counts(recorder, &counts);
	fprintf(stderr, "\r%llu s: %llu samples, %llu lost, %.1f %% of chains complete\033[K",
		(unsigned long long)((clock_now_ns() - started) / 1000000000ULL),
		(unsigned long long)accounting.samples,
		(unsigned long long)accounting_lost(&counts),
		percent(accounting_complete(&accounting), accounting.samples));
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO) && log_get_level() >= LOG_LEVEL_NOTICE)
		fputs("\r\033[K", stderr);
}

static void say_notice(const struct recorder_notice *notice, void *arg)
{
	const char *what = notice->partly ? "recorded without what is new" : "not recorded";

	(void)arg;
	clear_progress();
	if (notice->instead)
		log_warning("guest %s is %s: %s; with --vm and --capture %s it can be",
			    notice->name, what, notice->why, capture_mode_name(notice->instead));
	else
		log_warning("guest %s is %s: %s (%s)", notice->name, what, notice->why,
			    error_text(notice->error));
}

/* Until time, command, signal or the last VM ends. *@ret_child is the command's wait status. */
static int run(struct recorder *recorder, struct child *child, int *ret_child)
{
	u64 started = clock_now_ns(), next_progress = started + PROGRESS_NS;
	u64 end = opt.duration_ms ? started + opt.duration_ms * 1000000ULL : UINT64_MAX;
	int err = 0;

	while (!interrupted() && !err) {
		u64 now = clock_now_ns();

		if (now >= end || child_ended(child, ret_child))
			break;
		if (now >= next_progress) {
			show_progress(recorder, started);
			next_progress = now + PROGRESS_NS;
		}
		err = recorder_step(recorder, MIN((end - now) / 1000000 + 1, (u64)POLL_MS));
		if (err == -EINTR)
			err = 0;
	}
	clear_progress();
	return err;
}

/*
 * Files of the guests' programs that are still being read have what samples of them wait for, and
 * their names. A second Ctrl-C leaves them, as does a first one after the recording.
 */
static void wait_for_files(struct recorder *recorder)
{
	u64 now = clock_now_ns(), say = now + SAY_WAIT_NS, end = now + END_WAIT_NS;
	bool was_interrupted = interrupted();

	while (!recorder_wait(recorder, MIN(now + POLL_MS * 1000000ULL, end)) && now < end) {
		if (was_interrupted ? interrupted_again() : interrupted())
			break;
		now = clock_now_ns();
		if (now < say)
			continue;
		log_notice("reading the rest of what the guests' programs are made of "
			   "(Ctrl-C to leave it)");
		say = UINT64_MAX;
	}
}

static void say_counts(const struct capture_counts *counts)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	accounting_sum_text(counts, &line);
	log_notice("%s", strbuf_cstr(&line));
}

static void say_result(const struct recorder_result *result)
{
	_cleanup_strbuf_ struct strbuf reasons = STRBUF_INIT;
	const struct accounting *accounting = result->accounting;

	if (!result->path) {
		log_error_errno(result->error, "guest %s: no file was written", result->name);
		return;
	}
	accounting_reasons(accounting, &reasons);
	log_notice("guest %s (%s): %llu samples, %.1f %% of chains complete%s%s%s -> %s, %.3f MB",
		   result->name, *result->os_release ? result->os_release : "kernel not identified",
		   (unsigned long long)accounting->samples,
		   percent(accounting_complete(accounting), accounting->samples),
		   reasons.len ? " (others: " : "", strbuf_cstr(&reasons), reasons.len ? ")" : "",
		   result->path, result->bytes / 1e6);
	if (result->symbols_error)
		log_warning("guest %s: its symbols could not be stored: %s (see --buildid-dir)",
			    result->name, error_text(result->symbols_error));
	if (!accounting->samples)
		log_warning("guest %s: no samples: is it idle, or the time too short?",
			    result->name);
}

/* Samples that are missing because others had the counters are in no other sum. */
static void warn_shared_counters(const struct recorder *recorder,
				 const struct capture_options *capture)
{
	for (u32 i = 0; i < capture->nr_events; i++) {
		u64 on, counted;

		recorder_get_times(recorder, i, &on, &counted);
		if (percent(counted, on) < MIN_COUNTED_PERCENT && on)
			log_warning("event %s counted in %.0f %% of the time only: others had the "
				    "hardware counters; fewer events at once have more of them",
				    capture->events[i].name, percent(counted, on));
	}
}

static void say_end(const struct recorder *recorder, const struct capture_options *capture)
{
	struct capture_counts counts;

	recorder_get_counts(recorder, &counts);
	say_counts(&counts);
	warn_shared_counters(recorder, capture);
	for (size_t i = 0; i < recorder_nr_results(recorder); i++) {
		struct recorder_result result;

		recorder_result(recorder, i, &result);
		say_result(&result);
	}
}

/* After a recording; what it added or used itself stays in any case. */
static void limit_cache(struct symcache *cache)
{
	const struct symcache_limits limits = { .max_size = opt.cache_size, .ours_only = true };
	struct symcache_pruned pruned = { 0 };
	int err = opt.cache_size ? symcache_prune(cache, &limits, &pruned) : 0;

	if (err)
		log_warning("old symbols in %s could not be removed: %s", symcache_dir(cache),
			    error_text(err));
	if (pruned.nr)
		log_notice("%zu entries of %s that were not used for long were removed, %.1f MB "
			   "(see --cache-size)", pruned.nr, symcache_dir(cache),
			   pruned.bytes / 1e6);
}

/*
 * Ctrl-C or the like before there was a recording; there is no file, and the command has not run.
 * Most errors then come of that, too.
 */
static int status_not_begun(void)
{
	if (!interrupted())
		return STATUS_FAILURE;
	log_notice("interrupted before the recording began");
	return 128 + interrupted_by();
}

static int begin(struct recorder *recorder, struct child *child, char **command)
{
	int err = privileges_drop();

	if (err)
		log_debug("privileges are kept: %s", error_text(err));
	if (interrupted())
		return -EINTR;
	err = recorder_start(recorder);
	if (err)
		return log_error_errno(err, "cannot start sampling");
	if (interrupted())
		return -EINTR;
	err = command[0] ? child_start(child) : 0;
	if (err && !interrupted())
		log_error("cannot run %s: %s", command[0],
			  child_start_error_text(err, command[0], opt.pid || opt.vm || opt.all));
	return err;
}

/* Ends the process under a thread that nothing else ends. The files are complete. */
static void __attribute__((noreturn)) leave(struct child *child, int status)
{
	log_warning("a file of this host cannot be read to its end; left as it is");
	child_deinit(child, interrupted_again);
	fflush(NULL);
	_exit(status);
}

static int record(struct recorder *recorder, const struct recorder_options *options,
		  const char *event_why, struct child *child, char **command)
{
	int err, stop_err, finish_err, status = 0;

	err = begin(recorder, child, command);
	if (err)
		return status_not_begun();
	say_systems(recorder);
	say_start(recorder, &options->capture, event_why);
	err = run(recorder, child, &status);
	if (err == -ESRCH) {
		log_notice("every recorded guest has ended");
		err = 0;
	}
	stop_err = recorder_stop(recorder);
	wait_for_files(recorder);
	finish_err = recorder_finish(recorder, interrupted_again);
	finish_err = stop_err ? stop_err : finish_err;
	if (err)
		log_error_errno(err, "recording ended early");
	say_end(recorder, &options->capture);
	status = err || finish_err ? STATUS_FAILURE : child_exit_status(status);
	if (recorder_is_stuck(recorder))
		leave(child, status);
	limit_cache(options->symcache);
	return status;
}

DEFINE_CLEANUP(struct recorder *, recorder_destroy)

static int record_guests(struct recorder_options *options, const char *event_why,
			 struct child *child, char **command)
{
	_cleanup_(vm_host_close) struct vm_host *host = NULL;
	_cleanup_(recorder_destroy) struct recorder *recorder = NULL;
	const char *why = NULL;
	int err;

	err = vm_host_open(&host, &why);
	if (err && !interrupted())
		log_error("cannot look at this host's guests: %s", why ? why : error_text(err));
	if (err || interrupted())
		return status_not_begun();
	err = recorder_create(host, options, &recorder, &why);
	if (err && !interrupted())
		log_error("cannot record: %s (%s)", why, error_text(err));
	if (err)
		return status_not_begun();
	return record(recorder, options, event_why, child, command);
}

/* $XDG_CACHE_HOME/kvmprof or ~/.cache/kvmprof; NULL, and no cache, when neither is set. */
static char *kernel_cache_dir(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *dir = NULL;
	int n = -1;

	if (cache && *cache == '/')
		n = asprintf(&dir, "%s/kvmprof", cache);
	else if (home && *home == '/')
		n = asprintf(&dir, "%s/.cache/kvmprof", home);
	return n < 0 ? NULL : dir;
}

/* Servers take a thread of their own: all other sources come before them. */
static void split_sources(struct symbol_source_list *quick, struct symbol_source_list *servers)
{
	for (size_t i = 0; i < opt.sources.nr; i++) {
		bool slow = opt.sources.order[i] == SYMBOL_SOURCE_DEBUGINFOD;
		struct symbol_source_list *list = slow ? servers : quick;

		list->order[list->nr++] = opt.sources.order[i];
	}
	/* An empty list would be all of them; of this one nothing comes. */
	if (!quick->nr)
		quick->order[quick->nr++] = SYMBOL_SOURCE_GATEWAY;
}

static int create_sources(struct symbol_sources **ret, struct symbol_sources **ret_servers)
{
	struct symbol_source_list servers = { .nr = 0 };
	struct symbol_sources_options options = {
		.cache_dir = opt.debug_dir,
		.guestmount = opt.guestmount,
		.copies = true,
	};
	int err;

	split_sources(&options.list, &servers);
	err = symbol_sources_create(&options, ret);
	options.list = servers;
	if (!err && servers.nr)
		err = symbol_sources_create(&options, ret_servers);
	return err;
}

static int record_with_caches(struct recorder_options *options, const char *event_why,
			      struct child *child, char **command)
{
	_cleanup_(guest_cache_destroy) struct guest_cache *kernels = NULL;
	_cleanup_(symcache_destroy) struct symcache *symcache = NULL;
	_cleanup_(symbol_sources_destroy) struct symbol_sources *sources = NULL, *servers = NULL;
	_cleanup_free_ char *dir = kernel_cache_dir();
	int err;

	err = guest_cache_create(dir, &kernels);
	if (!err)
		err = symcache_create(opt.debug_dir, &symcache);
	if (!err)
		symcache_limit_added(symcache, opt.cache_size);
	if (!err)
		err = create_sources(&sources, &servers);
	if (err) {
		log_error_errno(err, "cannot use the symbol cache (see --buildid-dir)");
		return STATUS_FAILURE;
	}
	err = symcache_check(symcache);
	if (err)
		log_warning("no symbols can be stored in %s, other machines will have none: %s "
			    "(see --buildid-dir)", symcache_dir(symcache), error_text(err));
	options->kernels = kernels;
	options->symcache = symcache;
	options->sources = sources;
	options->servers = servers;
	return record_guests(options, event_why, child, command);
}

/* "FILE", or "FILE@ADDR" with a number in C's form behind the last "@". */
static int open_guest_elf(const char *text, struct elf_kernel **ret)
{
	_cleanup_free_ char *path = strdup(text);
	char *at = path ? strrchr(path, '@') : NULL, *end;
	u64 address = ELF_KERNEL_AS_LINKED;
	int err;

	if (!path)
		return log_error_errno(-ENOMEM, "cannot read %s", text);
	if (at && access(path, F_OK)) {
		address = strtoull(at + 1, &end, 0);
		if (!at[1] || *end) {
			log_error("--guest-elf %s: no file of that name, and no address after '@'",
				  text);
			return -EINVAL;
		}
		*at = '\0';
	}
	err = elf_kernel_open(path, address, ret);
	return err ? log_error_errno(err, "cannot use %s as the guest's kernel", path) : 0;
}

static int run_record(struct recorder_options *options, const char *event_why,
		      const struct operands *operands)
{
	struct child child = { 0 };
	_cleanup_(elf_kernel_close) struct elf_kernel *elf = NULL;
	int status;

	if (opt.guest_elf && open_guest_elf(opt.guest_elf, &elf))
		return STATUS_FAILURE;
	options->elf = elf;
	status = operands->nr ? child_prepare(&child, operands->args) : 0;
	if (status) {
		log_error_errno(status, "cannot start %s", operands->args[0]);
		return STATUS_FAILURE;
	}
	catch_signals();
	file_limit_raise();
	status = record_with_caches(options, event_why, &child, operands->args);
	child_deinit(&child, interrupted_again);
	return status;
}

int cmd_record(int argc, char **argv)
{
	_cleanup_free_ const char **cmdline = options_command_line(argc, argv);
	struct recorder_options options = { .cmdline = cmdline };
	struct capture_events events = { .last = 0 };
	struct operands operands;
	const char *event_why;
	int status;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	status = check_options();
	if (status)
		return status;
	options.pid = opt.pid;
	options.name = opt.vm;
	options.all = opt.all;
	options.wait = opt.wait;
	options.path = opt.output;
	options.cancelled = interrupted;
	options.on_notice = say_notice;
	status = STATUS_FAILURE;
	if (!fill_kick_signal(&options.kick_signal) &&
	    !fill_capture(&options.capture, &events, &event_why) && !check_output())
		status = run_record(&options, event_why, &operands);
	capture_events_deinit(&events);
	vec_deinit(&opt.words);
	return status;
}
