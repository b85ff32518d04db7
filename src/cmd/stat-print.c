/* SPDX-License-Identifier: GPL-2.0-only */
/* How `kvmprof stat` shows counts. */
#include "cmd/stat-print.h"

#include <string.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/strbuf.h"
#include "capture/events.h"
#include "output/json.h"

#define FIGURE_LEN 40
#define NAME_WIDTH 26	/* in the table, at least */
#define NAME_LEN (CAPTURE_EVENT_NAME + EXIT_NAME_LEN)

enum figure_state {
	FIGURE_THERE,
	FIGURE_NOT_SUPPORTED,
	FIGURE_NOT_COUNTED,
	FIGURE_NONE,		/* it does not happen there, or nobody asked */
};

/* One number with what belongs to it. */
struct figure {
	enum figure_state state;
	bool is_time;		/* in ns */
	double value;
	u64 runtime;		/* ns that it was counted */
	double share;		/* per cent of the time that it was to be */
	bool has_metric;
	double metric;
};

/* A line of the table: two modes of an event, or one figure of another kind in the second place. */
struct line {
	char name[NAME_LEN];
	char both[2][NAME_LEN];	/* names of the figures when each stands alone */
	struct figure figures[COUNT_NR_MODES];
	const char *metric_unit;
	int metric_digits;
};

/* All that printing one row takes. */
struct printer {
	FILE *out;
	const struct stat_style *style;
	const struct tally_row *row;
	u64 elapsed;
	double seconds;
	char label[4 * VM_NAME_LEN + 16];
};

static const char *state_text(enum figure_state state)
{
	switch (state) {
	case FIGURE_NOT_SUPPORTED:
		return "<not supported>";
	case FIGURE_NOT_COUNTED:
		return "<not counted>";
	default:
		return "";
	}
}

/* "1234567" as "1,234,567". */
static void group_digits(const char *digits, char *out, size_t size)
{
	size_t len = strcspn(digits, "."), used = 0;

	for (size_t i = 0; digits[i] && used + 2 < size; i++) {
		if (i && i < len && (len - i) % 3 == 0)
			out[used++] = ',';
		out[used++] = digits[i];
	}
	out[used] = '\0';
}

/* As a person reads it. */
static void figure_text(const struct figure *figure, char out[FIGURE_LEN])
{
	char digits[FIGURE_LEN], grouped[FIGURE_LEN];

	if (figure->state != FIGURE_THERE) {
		snprintf(out, FIGURE_LEN, "%s", state_text(figure->state));
		return;
	}
	snprintf(digits, sizeof(digits), "%.*f", figure->is_time ? 2 : 0,
		 figure->is_time ? figure->value / 1e6 : figure->value);
	group_digits(digits, grouped, sizeof(grouped));
	snprintf(out, FIGURE_LEN, "%.30s%s", grouped, figure->is_time ? " msec" : "");
}

/* As a program does. */
static void plain_text(const struct figure *figure, char out[FIGURE_LEN])
{
	if (figure->state != FIGURE_THERE)
		snprintf(out, FIGURE_LEN, "%s", state_text(figure->state));
	else
		snprintf(out, FIGURE_LEN, "%.*f", figure->is_time ? 6 : 0,
			 figure->is_time ? figure->value / 1e6 : figure->value);
}

/* Time, and in the table's interval lines which guest or vCPU. */
static void print_prefix(const struct printer *p)
{
	if (!p->style->interval)
		return;
	fprintf(p->out, "%15.9f %-16s ", p->seconds, p->label);
}

static void print_metrics(const struct printer *p, const struct line *line)
{
	char texts[COUNT_NR_MODES][FIGURE_LEN];
	int pad = NAME_WIDTH - (int)strlen(line->name);

	for (int mode = 0; mode < COUNT_NR_MODES; mode++) {
		const struct figure *figure = &line->figures[mode];

		texts[mode][0] = '\0';
		if (figure->has_metric)
			snprintf(texts[mode], FIGURE_LEN, "%.*f", line->metric_digits,
				 figure->metric);
	}
	if (texts[0][0] || texts[1][0])
		fprintf(p->out, "%*s # %10s %10s  %s", MAX(0, pad), "", texts[0], texts[1],
			line->metric_unit);
}

/* Where one is scaled both say of how much. */
static void print_shares(const struct printer *p, const struct line *line)
{
	bool any = false;

	for (int mode = 0; mode < COUNT_NR_MODES; mode++)
		any = any || (line->figures[mode].state == FIGURE_THERE &&
			      line->figures[mode].share < 99.95);
	for (int mode = 0; any && mode < COUNT_NR_MODES; mode++)
		if (line->figures[mode].state == FIGURE_THERE)
			fprintf(p->out, "  (%.1f%%)", line->figures[mode].share);
}

static void print_table_line(const struct printer *p, const struct line *line)
{
	char texts[COUNT_NR_MODES][FIGURE_LEN];

	for (int mode = 0; mode < COUNT_NR_MODES; mode++)
		figure_text(&line->figures[mode], texts[mode]);
	print_prefix(p);
	fprintf(p->out, "%20s %20s  %s", texts[0], texts[1], line->name);
	print_metrics(p, line);
	print_shares(p, line);
	putc('\n', p->out);
}

/* TIME,GUEST,VCPU,VALUE,UNIT,EVENT,RUNTIME,SHARE,METRIC,METRIC UNIT */
static void print_csv_figure(const struct printer *p, const struct line *line,
			     const struct figure *figure, const char *name)
{
	const char *sep = p->style->separator;
	char value[FIGURE_LEN];

	plain_text(figure, value);
	if (p->style->interval)
		fprintf(p->out, "%.9f%s", p->seconds, sep);
	fprintf(p->out, "%s%s", p->label, sep);
	if (p->style->per_vcpu)
		fprintf(p->out, "%lld%s", (long long)p->row->vcpu, sep);
	fprintf(p->out, "%s%s%s%s%s%s%llu%s%.2f%s", value, sep, figure->is_time ? "msec" : "", sep,
		name, sep, (unsigned long long)figure->runtime, sep, figure->share, sep);
	if (figure->has_metric)
		fprintf(p->out, "%.*f%s%s\n", line->metric_digits, figure->metric, sep,
			line->metric_unit);
	else
		fprintf(p->out, "%s\n", sep);
}

static int print_json_figure(const struct printer *p, const struct line *line,
			     const struct figure *figure, const char *name)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	char value[FIGURE_LEN];
	int err;

	plain_text(figure, value);
	strbuf_addc(&sb, '{');
	if (p->style->interval)
		strbuf_addf(&sb, "\"interval\" : %.9f, ", p->seconds);
	strbuf_adds(&sb, "\"guest\" : ");
	json_add_string(&sb, p->row->name);
	if (p->style->per_vcpu)
		strbuf_addf(&sb, ", \"vcpu\" : %lld", (long long)p->row->vcpu);
	strbuf_adds(&sb, ", \"counter-value\" : ");
	json_add_string(&sb, value);
	strbuf_addf(&sb, ", \"unit\" : \"%s\", \"event\" : ", figure->is_time ? "msec" : "");
	json_add_string(&sb, name);
	strbuf_addf(&sb, ", \"event-runtime\" : %llu, \"pcnt-running\" : %.2f",
		    (unsigned long long)figure->runtime, figure->share);
	if (figure->has_metric)
		strbuf_addf(&sb, ", \"metric-value\" : %.*f, \"metric-unit\" : \"%s\"",
			    line->metric_digits, figure->metric, line->metric_unit);
	strbuf_adds(&sb, "}\n");
	err = strbuf_error(&sb);
	if (!err)
		fputs(strbuf_cstr(&sb), p->out);
	return err;
}

static int print_line(const struct printer *p, const struct line *line)
{
	int err = 0;

	if (!p->style->json && !p->style->separator) {
		print_table_line(p, line);
		return 0;
	}
	for (int mode = 0; mode < COUNT_NR_MODES && !err; mode++) {
		const struct figure *figure = &line->figures[mode];

		if (figure->state == FIGURE_NONE)
			continue;
		if (p->style->json)
			err = print_json_figure(p, line, figure, line->both[mode]);
		else
			print_csv_figure(p, line, figure, line->both[mode]);
	}
	return err;
}

static struct figure make_figure(const struct count *count, bool is_time)
{
	struct figure figure = {
		.is_time = is_time,
		.value = count_scaled(count),
		.runtime = count->counted,
		.share = count_share(count),
	};

	if (count->unsupported)
		figure.state = FIGURE_NOT_SUPPORTED;
	else if (!count_is_valid(count))
		figure.state = FIGURE_NOT_COUNTED;
	return figure;
}

/* With the mode as perf would have it asked for: cycles:G, cycles:uH, cpu/event=1/G. */
static void name_figure(const struct capture_event *event, enum count_mode mode, char *out)
{
	char letter = mode == COUNT_GUEST ? 'G' : 'H';
	size_t len = strlen(event->name);
	bool joined = event->exclude_user || event->exclude_kernel || event->pinned ||
		      (len && event->name[len - 1] == '/');

	if (event->host_side || event->only_guest || event->only_host)
		snprintf(out, NAME_LEN, "%s", event->name);
	else
		snprintf(out, NAME_LEN, "%s%s%c", event->name, joined ? "" : ":", letter);
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

/* The scaled count of the hardware event @config beside @event, in its modes; 0: there is none. */
static double beside(const struct printer *p, const struct capture_event *event, u64 config,
		     enum count_mode mode)
{
	for (u32 i = 0; i < p->style->nr_events; i++) {
		const struct capture_event *other = &p->style->events[i];
		struct count count;

		if (other->type != PERF_TYPE_HARDWARE || other->config != config ||
		    other->exclude_user != event->exclude_user ||
		    other->exclude_kernel != event->exclude_kernel)
			continue;
		count = tally_value(&p->row->sums, p->style->events, i, mode);
		if (count_is_valid(&count))
			return count_scaled(&count);
	}
	return 0;
}

/* What a hardware event is divided by, and what that makes of it. */
static const struct ratio {
	u64 of, by;
	double factor;
	const char *unit;
	int digits;
} ratios[] = {
	{ PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1, "insn per cycle", 2 },
	{ PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100, "% of all branches",
	  2 },
	{ PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100, "% of all cache refs",
	  2 },
};

static const struct ratio *find_ratio(const struct printer *p, const struct capture_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(ratios) && event->type == PERF_TYPE_HARDWARE; i++)
		if (ratios[i].of == event->config &&
		    (beside(p, event, ratios[i].by, COUNT_GUEST) ||
		     beside(p, event, ratios[i].by, COUNT_HOST)))
			return &ratios[i];
	return NULL;
}

static void set_metric(struct figure *figure, double value, double by)
{
	if (figure->state != FIGURE_THERE || by <= 0)
		return;
	figure->has_metric = true;
	figure->metric = value / by;
}

static void add_metric(const struct printer *p, const struct capture_event *event,
		       enum count_mode mode, struct line *line)
{
	struct figure *figure = &line->figures[mode];
	const struct ratio *ratio = find_ratio(p, event);

	if (figure->is_time) {
		line->metric_unit = "% of the vCPUs' time";
		line->metric_digits = 1;
		set_metric(figure, 100 * figure->value, p->row->sums.followed);
	} else if (ratio) {
		line->metric_unit = ratio->unit;
		line->metric_digits = ratio->digits;
		set_metric(figure, ratio->factor * figure->value,
			   beside(p, event, ratio->by, mode));
	} else if (event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES &&
		   !event->exclude_user && !event->exclude_kernel) {
		line->metric_unit = "GHz";
		line->metric_digits = 3;
		set_metric(figure, figure->value, mode_time(&p->row->sums, mode));
	} else {
		line->metric_unit = "/sec";
		line->metric_digits = 1;
		set_metric(figure, figure->value * 1e9, p->elapsed);
	}
}

static int print_event(const struct printer *p, u32 index)
{
	const struct capture_event *event = &p->style->events[index];
	struct line line = { .metric_unit = "" };

	snprintf(line.name, sizeof(line.name), "%s", event->name);
	for (int mode = 0; mode < COUNT_NR_MODES; mode++) {
		struct count count = tally_value(&p->row->sums, p->style->events, index, mode);
		enum count_way way = count_way(event, mode);

		name_figure(event, mode, line.both[mode]);
		line.figures[mode].state = FIGURE_NONE;
		if (way == COUNT_NEVER)
			continue;
		line.figures[mode] = make_figure(&count, event_is_clock(event));
		add_metric(p, event, mode, &line);
	}
	return print_line(p, &line);
}

/* A figure that is neither mode's: it stands under the host's. */
static int print_one(const struct printer *p, const char *name, const char *shown, double value,
		     bool is_time, bool is_known, double per, const char *unit)
{
	struct line line = { .metric_unit = unit, .metric_digits = 1 };
	struct figure *figure = &line.figures[COUNT_HOST];

	line.figures[COUNT_GUEST].state = FIGURE_NONE;
	*figure = (struct figure){
		.state = is_known ? FIGURE_THERE : FIGURE_NOT_SUPPORTED,
		.is_time = is_time,
		.value = value,
		.runtime = p->row->sums.followed,
		.share = 100,
	};
	snprintf(line.both[COUNT_HOST], NAME_LEN, "%s", name);
	snprintf(line.name, sizeof(line.name), "%s", shown);
	set_metric(figure, value, per);
	return print_line(p, &line);
}

static int print_time(const struct printer *p, const char *name, const char *shown, u64 ns,
		      u32 needs)
{
	return print_one(p, name, shown, ns, true, (p->row->sums.known & needs) == needs,
			 p->row->sums.followed / 100.0, "% of the vCPUs' time");
}

/* Both modes' time on a CPU in one line, then what keeps the vCPU from one. */
static int print_times(const struct printer *p)
{
	const struct tally_sums *sums = &p->row->sums;
	struct line line = { .name = "time on a CPU", .metric_unit = "% of the vCPUs' time",
			     .metric_digits = 1 };
	bool guest = sums->known & TALLY_KNOWS_GUEST;
	int err;

	snprintf(line.both[COUNT_GUEST], NAME_LEN, "guest-time");
	snprintf(line.both[COUNT_HOST], NAME_LEN, "host-time");
	for (int mode = 0; mode < COUNT_NR_MODES; mode++) {
		bool known = guest && (mode == COUNT_GUEST || sums->known & TALLY_KNOWS_SCHED);
		struct figure *figure = &line.figures[mode];

		*figure = (struct figure){
			.state = known ? FIGURE_THERE : FIGURE_NOT_SUPPORTED,
			.is_time = true,
			.value = mode_time(sums, mode),
			.runtime = sums->followed,
			.share = 100,
		};
		set_metric(figure, figure->value, sums->followed / 100.0);
	}
	err = print_line(p, &line);
	err = err ?: print_time(p, "steal-time", "stolen (waits for a CPU)", sums->steal,
				TALLY_KNOWS_SCHED);
	err = err ?: print_time(p, "halt-time", "halted", sums->halt, TALLY_KNOWS_HALT);
	return err ?: print_time(p, "halt-poll-time", "halt polling", sums->poll, TALLY_KNOWS_HALT);
}

static int print_reason(const struct printer *p, const struct exit_reason *reason)
{
	char name[EXIT_NAME_LEN], safe[4 * EXIT_NAME_LEN], full[NAME_LEN], shown[NAME_LEN];

	exit_names_find(p->style->names, reason->reason, reason->detail, name);
	escape_terminal(name, safe, sizeof(safe));
	snprintf(full, sizeof(full), "exits:%.60s", safe);
	snprintf(shown, sizeof(shown), "  %.60s", safe);
	return print_one(p, full, shown, reason->nr, false, true, p->row->sums.exits / 100.0,
			 "% of all exits");
}

static int print_exits(const struct printer *p)
{
	const struct tally_sums *sums = &p->row->sums;
	int err = print_one(p, "exits", "exits", sums->exits, false,
			    sums->known & TALLY_KNOWS_EXITS, p->elapsed / 1e9, "/sec");

	for (size_t i = 0; i < sums->reasons.nr && !err; i++)
		err = print_reason(p, &sums->reasons.data[i]);
	return err;
}

/* The guest's name is its user's text; in a field it must not end the field. */
static void set_label(struct printer *p)
{
	size_t room = sizeof(p->label) - 16;
	size_t len = escape_terminal(p->row->name, p->label, room);

	for (size_t i = 0; p->style->separator && i < len; i++)
		if (strchr(p->style->separator, p->label[i]))
			p->label[i] = '_';
	if (!p->style->separator && p->style->per_vcpu)
		snprintf(p->label + len, sizeof(p->label) - len, "/%lld", (long long)p->row->vcpu);
}

static void print_heading(const struct printer *p)
{
	const struct tally_row *row = p->row;
	char vmm[4 * VM_NAME_LEN];

	escape_terminal(row->vmm, vmm, sizeof(vmm));
	fprintf(p->out, "\n Counts of guest %s (%s, process %d", p->label, vmm, row->pid);
	if (p->style->per_vcpu)
		fprintf(p->out, ", vCPU %lld):\n\n", (long long)row->vcpu);
	else
		fprintf(p->out, ", %u vCPU%s):\n\n", row->nr_vcpus, row->nr_vcpus == 1 ? "" : "s");
	fprintf(p->out, "%20s %20s\n", "in the guest", "in the host");
}

static int print_row(struct printer *p)
{
	int err = 0;

	set_label(p);
	if (!p->style->interval && !p->style->separator && !p->style->json)
		print_heading(p);
	for (u32 i = 0; i < p->style->nr_events && !err; i++)
		err = print_event(p, i);
	err = err ?: print_times(p);
	return err ?: print_exits(p);
}

int stat_print(FILE *out, const struct stat_style *style, const struct tally_report *report,
	       double seconds)
{
	struct printer printer = {
		.out = out, .style = style, .elapsed = report->elapsed, .seconds = seconds,
	};
	int err = 0;

	for (size_t i = 0; i < report->rows.nr && !err; i++) {
		printer.row = &report->rows.data[i];
		err = print_row(&printer);
	}
	if (!err && !style->interval && !style->separator && !style->json)
		fprintf(out, "\n%20.9f seconds time elapsed\n\n", seconds);
	errno = 0;
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	return err;
}

void stat_print_note(FILE *out, const char *text)
{
	char safe[1024];

	escape_terminal(text, safe, sizeof(safe));
	fprintf(out, " * %s\n", safe);
}
