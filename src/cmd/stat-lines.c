/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of figures out of what was counted. */
#include "cmd/stat-lines.h"

#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/escape.h"
#include "capture/events.h"

/* perf_event_open(2): which cache, what is done to it, and what comes of it. */
#define CACHE_READS(cache, result)                                                      \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |               \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const char of_time[] = "% of the vCPUs' time";

/* All that making the lines of one row takes. */
struct maker {
	const struct stat_subject *subject;
	const struct tally_row *row;
	u64 elapsed;
	stat_lines lines;
};

static struct stat_figure make_figure(const struct count *count, bool is_time)
{
	struct stat_figure figure = {
		.is_time = is_time,
		.value = count_scaled(count),
		.runtime = count->counted,
		.share = count_share(count),
	};

	if (count->unsupported)
		figure.state = STAT_FIGURE_NOT_SUPPORTED;
	else if (!count_is_valid(count))
		figure.state = STAT_FIGURE_NOT_COUNTED;
	return figure;
}

/* With the mode as perf would have it asked for: cycles:G, cycles:uH, cpu/event=1/G. */
static void name_figure(const struct capture_event *event, enum count_mode mode,
			struct stat_figure *figure)
{
	char letter = mode == COUNT_GUEST ? 'G' : 'H';
	size_t len = strlen(event->name);
	bool joined = event->exclude_user || event->exclude_kernel || event->pinned ||
		      (len && event->name[len - 1] == '/');

	if (event->host_side || event->only_guest || event->only_host)
		snprintf(figure->name, STAT_NAME_LEN, "%s", event->name);
	else
		snprintf(figure->name, STAT_NAME_LEN, "%s%s%c", event->name, joined ? "" : ":",
			 letter);
}

/* The time that the mode had, in ns; 0: not known. */
static u64 mode_time(const struct tally_sums *sums, enum count_mode mode)
{
	if (!(sums->known & TALLY_KNOWS_GUEST))
		return 0;
	if (mode == COUNT_GUEST)
		return sums->guest;
	if (!(sums->known & TALLY_KNOWS_SCHED) || sums->run < sums->guest)
		return 0;
	return sums->run - sums->guest;
}

/* What a hardware event is divided by, and what that makes of it. */
static const struct ratio {
	u32 type;
	u64 of, by;
	double factor;
	const char *unit;
	int digits;
} ratios[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1,
	  "insn per cycle", 2 },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100,
	  "% of all branches", 2 },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100,
	  "% of all cache refs", 2 },
	{ PERF_TYPE_HW_CACHE, CACHE_READS(L1D, MISS), CACHE_READS(L1D, ACCESS), 100,
	  "% of all L1-dcache accesses", 2 },
	{ PERF_TYPE_HW_CACHE, CACHE_READS(LL, MISS), CACHE_READS(LL, ACCESS), 100,
	  "% of all LL-cache accesses", 2 },
};

/* The scaled count of what @event is divided by, if that is counted, too; 0: it is not. */
static double divisor(const struct maker *m, const struct capture_event *event,
		      const struct ratio *ratio, enum count_mode mode)
{
	for (u32 i = 0; i < m->subject->nr_events; i++) {
		const struct capture_event *other = &m->subject->events[i];
		struct count count;

		if (other->type != ratio->type || other->config != ratio->by ||
		    other->exclude_user != event->exclude_user ||
		    other->exclude_kernel != event->exclude_kernel)
			continue;
		count = tally_value(&m->row->sums, m->subject->events, i, mode);
		if (count_is_valid(&count))
			return count_scaled(&count);
	}
	return 0;
}

static const struct ratio *find_ratio(const struct maker *m, const struct capture_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(ratios); i++)
		if (ratios[i].type == event->type && ratios[i].of == event->config &&
		    (divisor(m, event, &ratios[i], COUNT_GUEST) ||
		     divisor(m, event, &ratios[i], COUNT_HOST)))
			return &ratios[i];
	return NULL;
}

static void set_metric(struct stat_figure *figure, double value, double by)
{
	if (figure->state != STAT_FIGURE_THERE || by <= 0)
		return;
	figure->has_metric = true;
	figure->metric = value / by;
}

/* Cycles of both the user and the kernel: only those fill the time of their mode. */
static bool is_all_cycles(const struct capture_event *event)
{
	return event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES &&
	       !event->exclude_user && !event->exclude_kernel;
}

/* What is made of an event's figures: the first of these that it has what it takes for. */
static void add_metrics(const struct maker *m, const struct capture_event *event,
			struct stat_line *line)
{
	const struct ratio *ratio = find_ratio(m, event);

	line->metric_unit = event_is_clock(event) ? of_time : ratio ? ratio->unit :
			    is_all_cycles(event) ? "GHz" : "/sec";
	line->metric_digits = ratio ? ratio->digits : is_all_cycles(event) ? 3 : 1;
	for (int mode = 0; mode < COUNT_NR_MODES; mode++) {
		struct stat_figure *figure = &line->figures[mode];

		if (event_is_clock(event))
			set_metric(figure, 100 * figure->value, m->row->sums.followed);
		else if (ratio)
			set_metric(figure, ratio->factor * figure->value,
				   divisor(m, event, ratio, mode));
		else if (is_all_cycles(event))
			set_metric(figure, figure->value, mode_time(&m->row->sums, mode));
		else
			set_metric(figure, figure->value * 1e9, m->elapsed);
	}
}

static int add_event(struct maker *m, u32 index)
{
	const struct capture_event *event = &m->subject->events[index];
	struct stat_line line = { .metric_unit = "" };

	snprintf(line.name, sizeof(line.name), "%s", event->name);
	for (int mode = 0; mode < COUNT_NR_MODES; mode++) {
		struct count count = tally_value(&m->row->sums, m->subject->events, index, mode);

		line.figures[mode] = make_figure(&count, event_is_clock(event));
		name_figure(event, mode, &line.figures[mode]);
		if (count_way(event, mode) == COUNT_NEVER)
			line.figures[mode].state = STAT_FIGURE_NONE;
	}
	add_metrics(m, event, &line);
	return vec_push(&m->lines, line);
}

/* A figure that is read for all the time that its vCPUs were followed. */
static struct stat_figure whole_figure(const struct maker *m, const char *name, double value,
				       u32 needs)
{
	struct stat_figure figure = {
		.state = (m->row->sums.known & needs) == needs ? STAT_FIGURE_THERE :
								 STAT_FIGURE_NOT_SUPPORTED,
		.value = value,
		.runtime = m->row->sums.followed,
		.share = 100,
	};

	snprintf(figure.name, sizeof(figure.name), "%s", name);
	return figure;
}

static struct stat_figure time_figure(const struct maker *m, const char *name, u64 ns, u32 needs)
{
	struct stat_figure figure = whole_figure(m, name, ns, needs);

	figure.is_time = true;
	set_metric(&figure, 100 * figure.value, m->row->sums.followed);
	return figure;
}

/* Time of neither mode: it stands under the host's. */
static int add_time(struct maker *m, const char *name, const char *shown, u64 ns, u32 needs)
{
	struct stat_line line = {
		.metric_unit = of_time,
		.metric_digits = 1,
		.figures[COUNT_GUEST].state = STAT_FIGURE_NONE,
		.figures[COUNT_HOST] = time_figure(m, name, ns, needs),
	};

	snprintf(line.name, sizeof(line.name), "%s", shown);
	return vec_push(&m->lines, line);
}

/* Both modes' time on a CPU in one line, then what keeps the vCPU from one. */
static int add_times(struct maker *m)
{
	const struct tally_sums *sums = &m->row->sums;
	struct stat_line line = {
		.name = "time on a CPU",
		.metric_unit = of_time,
		.metric_digits = 1,
		.figures[COUNT_GUEST] = time_figure(m, "guest-time", mode_time(sums, COUNT_GUEST),
						    TALLY_KNOWS_GUEST),
		.figures[COUNT_HOST] = time_figure(m, "host-time", mode_time(sums, COUNT_HOST),
						   TALLY_KNOWS_GUEST | TALLY_KNOWS_SCHED),
	};
	int err = vec_push(&m->lines, line);

	err = err ?: add_time(m, "steal-time", "stolen (waits for a CPU)", sums->steal,
			      TALLY_KNOWS_SCHED);
	err = err ?: add_time(m, "halt-time", "halted", sums->halt, TALLY_KNOWS_HALT);
	return err ?: add_time(m, "halt-poll-time", "halt polling", sums->poll, TALLY_KNOWS_HALT);
}

static int add_exits(struct maker *m)
{
	struct stat_line line = {
		.name = "exits",
		.metric_unit = "/sec",
		.metric_digits = 1,
		.figures[COUNT_GUEST].state = STAT_FIGURE_NONE,
		.figures[COUNT_HOST] = whole_figure(m, "exits", m->row->sums.exits,
						    TALLY_KNOWS_EXITS),
	};
	struct stat_figure *figure = &line.figures[COUNT_HOST];

	set_metric(figure, figure->value * 1e9, m->elapsed);
	return vec_push(&m->lines, line);
}

static int add_reason(struct maker *m, const struct exit_reason *reason)
{
	char name[EXIT_NAME_LEN], safe[4 * EXIT_NAME_LEN], full[STAT_NAME_LEN];
	struct stat_line line = {
		.metric_unit = "% of all exits",
		.metric_digits = 1,
		.figures[COUNT_GUEST].state = STAT_FIGURE_NONE,
	};
	struct stat_figure *figure = &line.figures[COUNT_HOST];

	exit_names_find(m->subject->names, reason->reason, reason->detail, name);
	escape_terminal(name, safe, sizeof(safe));
	snprintf(full, sizeof(full), "exits:%.60s", safe);
	snprintf(line.name, sizeof(line.name), "  %.60s", safe);
	*figure = whole_figure(m, full, reason->nr, 0);
	set_metric(figure, 100 * figure->value, m->row->sums.exits);
	return vec_push(&m->lines, line);
}

int stat_lines_make(const struct stat_subject *subject, const struct tally_row *row, u64 elapsed,
		    stat_lines *ret)
{
	struct maker m = { .subject = subject, .row = row, .elapsed = elapsed };
	int err = 0;

	for (u32 i = 0; i < subject->nr_events && !err; i++)
		err = add_event(&m, i);
	err = err ?: add_times(&m);
	err = err ?: add_exits(&m);
	for (size_t i = 0; i < row->sums.reasons.nr && !err; i++)
		err = add_reason(&m, &row->sums.reasons.data[i]);
	if (err) {
		vec_deinit(&m.lines);
		return err;
	}
	*ret = m.lines;
	return 0;
}
