/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof stat: count events of guests, in guest mode and in host mode. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/tracepoint.h"
#include "cmd/child.h"
#include "cmd/commands.h"
#include "cmd/interrupt.h"
#include "cmd/options.h"
#include "cmd/stat-print.h"
#include "cmd/stat-schedule.h"
#include "count/host-reader.h"
#include "count/tally.h"
#include "engine/privileges.h"
#include "vm/vm.h"

#define POLL_MS 100		/* a signal that comes between look and wait is noticed by then */
#define MIN_MS 10		/* reading the counts takes time, too */
#define MAX_MS 86400000

static const char default_events[] =
	"task-clock,context-switches,cpu-migrations,page-faults,"
	"cycles,instructions,branches,branch-misses";

static const char detailed_events[] =
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses";

static struct {
	u64 pid;
	const char *vm;
	bool all;
	VEC(const char *) events;
	bool null, detailed;
	bool per_vcpu;
	u64 interval_ms, interval_count;
	bool summary;
	u64 delay_ms;
	u64 duration_ms, timeout_ms;
	const char *separator;
	bool json;
	const char *output;
	bool append;
	u64 log_fd;
	bool no_bpf;
} opt;

static int keep_event(const char *text, void *arg, const char **ret_why)
{
	(void)arg;
	*ret_why = "out of memory";
	return vec_push(&opt.events, text);
}

static const struct option_spec options[] = {
	OPT_GROUP("Which guests"),
	OPT_NUMBER('p', "pid", &opt.pid, 1, INT32_MAX, "PID", "the guests of this VMM process",
		   .complete = "pid"),
	OPT_STRING(0, "vm", &opt.vm, "NAME", "the guest of that name", .complete = "vm"),
	OPT_FLAG('a', "all", &opt.all, "every guest, those that start later too"),
	OPT_GROUP("What to count"),
	OPT_CALLBACK('e', "event", keep_event, NULL, "EVENT",
		     "perf's event syntax; may be a list, and given again; G: in the guest only, "
		     "H: in the host only",
		     .complete = "event"),
	OPT_FLAG('d', "detailed", &opt.detailed, "the caches of data, too, as with perf"),
	OPT_FLAG('n', "null", &opt.null, "no events: times and exits only"),
	OPT_FLAG(0, "per-vcpu", &opt.per_vcpu, "each vCPU by itself"),
	OPT_GROUP("How long"),
	OPT_NUMBER('I', "interval-print", &opt.interval_ms, MIN_MS, MAX_MS, "MS",
		   "print what came in every so many milliseconds"),
	OPT_NUMBER(0, "interval-count", &opt.interval_count, 1, UINT32_MAX, "N",
		   "with -I end after so many of them"),
	OPT_FLAG(0, "summary", &opt.summary, "with -I the sums, too, at the end"),
	OPT_NUMBER('D', "delay", &opt.delay_ms, 0, MAX_MS, "MS",
		   "wait so many milliseconds after the start of the command"),
	OPT_DURATION(0, "duration", &opt.duration_ms, "end after this time"),
	OPT_NUMBER(0, "timeout", &opt.timeout_ms, MIN_MS, MAX_MS, "MS",
		   "the same in milliseconds, as with perf"),
	OPT_GROUP("Output"),
	OPT_STRING('x', "field-separator", &opt.separator, "SEP",
		   "a line for each figure, with SEP between its fields; \\t is a tab"),
	OPT_FLAG('j', "json-output", &opt.json, "a JSON object for each figure"),
	OPT_FILE('o', "output", &opt.output, "print into this file, not to standard error"),
	OPT_FLAG(0, "append", &opt.append, "to what is in that file"),
	OPT_NUMBER(0, "log-fd", &opt.log_fd, 1, INT32_MAX, "FD",
		   "print to this open file descriptor"),
	OPT_FLAG(0, "no-bpf", &opt.no_bpf, "as on a host without BPF", .hidden = true),
	OPT_END
};

static const struct command_spec spec = {
	.name = "stat",
	.usage = "[-p PID | --vm NAME | -a] [OPTIONS] [-- COMMAND…]",
	.summary = "Count events of guests, in guest mode and in host mode",
	.options = options,
	.max_operands = OPERANDS_ANY,
	.stop_at_operand = true,
};

static int check_options(void)
{
	if (!!opt.pid + !!opt.vm + opt.all > 1)
		return options_usage_error(&spec, "-p, --vm and -a exclude each other");
	if (opt.null && (opt.events.nr || opt.detailed))
		return options_usage_error(&spec, "-n excludes -e and -d");
	if (opt.separator && opt.json)
		return options_usage_error(&spec, "-x and -j exclude each other");
	if (opt.separator && !*opt.separator)
		return options_usage_error(&spec, "-x takes what stands between fields");
	if (opt.output && opt.log_fd)
		return options_usage_error(&spec, "-o and --log-fd exclude each other");
	if (opt.append && !opt.output)
		return options_usage_error(&spec, "--append is for -o");
	if ((opt.summary || opt.interval_count) && !opt.interval_ms)
		return options_usage_error(&spec, "--summary and --interval-count are for -I");
	if (opt.duration_ms && opt.timeout_ms)
		return options_usage_error(&spec, "--duration and --timeout exclude each other");
	return STATUS_OK;
}

static int add_events(struct capture_events *events)
{
	const char *why = NULL;
	int err = 0;

	events->counting = true;
	if (!opt.events.nr && !opt.null)
		err = capture_events_add(events, default_events, &why);
	for (size_t i = 0; i < opt.events.nr && !err; i++)
		err = capture_events_add(events, opt.events.data[i], &why);
	if (!err && opt.detailed)
		err = capture_events_add(events, detailed_events, &why);
	if (err)
		log_error("event '%s': %s", events->wrong, why ? why : error_text(err));
	return err;
}

/* What counting takes, and where it goes to. */
struct session {
	struct tally *tally;
	struct stat_style style;
	struct stat_schedule schedule;
	struct child *child;
	int child_status;	/* as of wait(2), when it has ended */
	FILE *out;
	u64 started;
};

static double seconds_since(u64 start)
{
	return (clock_now_ns() - start) / 1e9;
}

static int read_counts(const struct session *session)
{
	int err = tally_read(session->tally);

	return err ? log_error_errno(err, "cannot read the counts") : 0;
}

static int print_report(struct session *session, bool interval)
{
	struct tally_report report;
	int err = tally_report(session->tally, interval, opt.per_vcpu, &report);

	if (err)
		return log_error_errno(err, "cannot sum up the counts");
	session->style.interval = interval;
	session->style.summary = opt.interval_ms && !interval;
	err = stat_print(session->out, &session->style, &report, seconds_since(session->started));
	tally_report_deinit(&report);
	return err ? log_error_errno(err, "cannot print the counts") : 0;
}

/* As the first line of a list of intervals, where a person reads it. */
static void print_interval_heading(const struct session *session)
{
	if (opt.interval_ms && !opt.separator && !opt.json)
		fprintf(session->out, "#%14s %-16s %20s %20s\n", "time", "guest", "in the guest",
			"in the host");
}

static int do_due(struct session *session, u32 due)
{
	int err = due & STAT_DUE_FOLLOW ? tally_follow(session->tally) : 0;

	if (!err && due & STAT_DUE_PRINT)
		err = read_counts(session) ?: print_report(session, true);
	return err;
}

/*
 * Until what was scheduled, the command or the last VM ends, or a signal comes. 1: it went on to
 * the end of the schedule; -ESRCH: there is nothing more to count.
 */
static int run(struct session *session)
{
	u32 due = 0;
	int err = 0;

	while (!err && !(due & STAT_DUE_END)) {
		u64 wait = stat_schedule_wait(&session->schedule, clock_now_ms());

		if (interrupted() || child_ended(session->child, &session->child_status))
			return 0;
		child_wait(session->child, MIN(wait, POLL_MS));
		due = stat_schedule_take(&session->schedule, clock_now_ms());
		err = do_due(session, due);
	}
	return err ?: 1;
}

/* What comes before the counting that was asked for; who comes meanwhile is followed. As run(). */
static int run_delay(struct session *session)
{
	int err, restart_err;

	if (!opt.delay_ms)
		return 1;
	stat_schedule_begin(&session->schedule, clock_now_ms(), opt.delay_ms, 0, 0);
	err = run(session);
	restart_err = tally_restart(session->tally);
	session->started = clock_now_ns();
	return restart_err ?: err;
}

static int run_all(struct session *session)
{
	int err = run_delay(session);

	if (err != 1)
		return err;
	stat_schedule_begin(&session->schedule, clock_now_ms(),
			    opt.duration_ms + opt.timeout_ms, opt.interval_ms,
			    opt.interval_count);
	return run(session);
}

static void print_note(const char *text, void *arg)
{
	struct session *session = arg;

	/* Where a program reads the figures, notes are for who started it. */
	if (opt.separator || opt.json)
		log_notice("%s", text);
	else
		stat_print_note(session->out, text);
}

/* After the last interval of as many as were wanted the sums are of the same moment. */
static int finish(struct session *session)
{
	bool printed_all = session->schedule.printed_all;
	int err = printed_all ? 0 : read_counts(session);

	if (!err && opt.interval_ms && !printed_all)
		err = print_report(session, true);
	if (!err && (!opt.interval_ms || opt.summary))
		err = print_report(session, false);
	if (!err)
		tally_notes(session->tally, print_note, session);
	return err;
}

static int start_command(const struct session *session, char **command)
{
	int err = command[0] ? child_start(session->child) : 0;

	if (err)
		log_error("cannot run %s: %s", command[0],
			  child_start_error_text(err, command[0], opt.pid || opt.vm || opt.all));
	return err;
}

static int count(struct session *session, char **command)
{
	int err, finish_err;

	if (start_command(session, command))
		return STATUS_FAILURE;
	session->started = clock_now_ns();
	print_interval_heading(session);
	err = run_all(session);
	if (err == -ESRCH)
		log_notice("every counted guest has ended");
	else if (err < 0)
		log_error_errno(err, "counting ended early");
	finish_err = finish(session);
	return (err < 0 && err != -ESRCH) || finish_err ? STATUS_FAILURE :
	       child_exit_status(session->child_status);
}

/* Without names the numbers are shown. */
static void load_names(struct exit_names *names)
{
	_cleanup_free_ char *format = NULL;
	int err = tracepoint_format(tracefs_dir(), "kvm:kvm_exit", &format);

	err = err ?: exit_names_parse(format, names);
	if (err)
		log_debug("no names of exits: %s", error_text(err));
}

static int open_tally(struct vm_host *host, const struct capture_events *events,
		      struct tally **ret, const char **ret_why)
{
	const struct host_reader_options options = {
		.pid = opt.pid, .without_bpf = opt.no_bpf,
		.events = events->list.data, .nr_events = events->list.nr,
	};
	const struct following_choice choice = { .pid = opt.pid, .name = opt.vm, .all = opt.all };
	struct reader *reader;
	int err = host_reader_create(host, &options, &reader, ret_why);

	return err ?: tally_create(reader, &choice, events->list.data, events->list.nr, ret,
				   ret_why);
}

static int count_guests(struct session *session, const struct capture_events *events,
			char **command)
{
	_cleanup_(vm_host_close) struct vm_host *host = NULL;
	_cleanup_(tally_destroy) struct tally *tally = NULL;
	const char *why = NULL;
	int err = vm_host_open(&host, &why);

	if (err) {
		log_error("cannot look at this host's guests: %s", why ? why : error_text(err));
		return STATUS_FAILURE;
	}
	err = open_tally(host, events, &tally, &why);
	if (err == -ENOENT || err == -EEXIST)
		log_error("%s", why);
	else if (err)
		log_error_errno(err, "%s", why);
	if (err)
		return STATUS_FAILURE;
	err = privileges_drop();
	if (err)
		log_debug("privileges are kept: %s", error_text(err));
	session->tally = tally;
	return count(session, command);
}

/* @command, which waits, is not to have our files. */
static int run_stat(const struct capture_events *events, FILE *out, char **command)
{
	struct exit_names names = { VEC_INIT };
	struct child child = { 0 };
	struct session session = {
		.child = &child,
		.out = out,
		.style = {
			.subject = { events->list.data, events->list.nr, &names },
			.separator = opt.separator, .json = opt.json, .per_vcpu = opt.per_vcpu,
		},
	};
	int status = command[0] ? child_prepare(&child, command) : 0;

	if (status) {
		log_error_errno(status, "cannot start %s", command[0]);
		return STATUS_FAILURE;
	}
	interrupt_catch();
	file_limit_raise();
	load_names(&names);
	status = count_guests(&session, events, command);
	child_deinit(&child, interrupted_again);
	exit_names_deinit(&names);
	return status;
}

/* As perf does it, for who appends; JSON has no comments. */
static void print_start(FILE *out)
{
	char text[64];
	time_t now = time(NULL);
	struct tm tm;

	if (!opt.json && localtime_r(&now, &tm) &&
	    strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm))
		fprintf(out, "# started on %s\n\n", text);
}

/* One that the command has, too, if it was there before; of ours it gets nothing. */
static int open_fd(int fd, FILE **ret)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	*ret = copy >= 0 ? fdopen(copy, "w") : NULL;
	if (*ret)
		return 0;
	if (copy >= 0)
		close(copy);
	return log_error_errno(-errno, "cannot write to file descriptor %d", fd);
}

static int open_output(FILE **ret)
{
	*ret = stderr;
	if (opt.log_fd)
		return open_fd(opt.log_fd, ret);
	if (!opt.output)
		return 0;
	*ret = fopen(opt.output, opt.append ? "ae" : "we");
	if (!*ret)
		return log_error_errno(-errno, "cannot write %s", opt.output);
	print_start(*ret);
	return 0;
}

/* A full disk shows at the latest here. */
static int close_output(FILE *out, int status)
{
	bool failed = ferror(out);

	if (out == stderr)
		return status;
	errno = 0;
	if (!fclose(out) && !failed)
		return status;
	log_error("%s: %s", opt.output ? opt.output : "the file descriptor of --log-fd",
		  errno ? error_text(errno) : "write error");
	return status ? status : STATUS_FAILURE;
}

int cmd_stat(int argc, char **argv)
{
	struct capture_events events = { .last = 0 };
	struct operands operands;
	FILE *out;
	int status;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	status = check_options();
	if (status)
		return status;
	/* As with perf. */
	if (opt.separator && !strcmp(opt.separator, "\\t"))
		opt.separator = "\t";
	status = STATUS_FAILURE;
	if (!add_events(&events) && !open_output(&out))
		status = close_output(out, run_stat(&events, out, operands.args));
	capture_events_deinit(&events);
	vec_deinit(&opt.events);
	return status;
}
