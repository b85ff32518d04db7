/* SPDX-License-Identifier: GPL-2.0-only */
/* How `kvmprof stat` shows counts. */
#include "cmd/stat-print.h"

#include <string.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/strbuf.h"
#include "cmd/stat-lines.h"
#include "output/json.h"

#define FIGURE_LEN 40
#define NAME_WIDTH 26	/* in the table, at least */

/* All that printing one row takes. */
struct printer {
	FILE *out;
	const struct stat_style *style;
	const struct tally_row *row;
	u64 elapsed;
	double seconds;
	char label[4 * VM_NAME_LEN + 16];
};

static bool is_table(const struct stat_style *style)
{
	return !style->separator && !style->json;
}

static const char *state_text(enum stat_figure_state state)
{
	switch (state) {
	case STAT_FIGURE_NOT_SUPPORTED:
		return "<not supported>";
	case STAT_FIGURE_NOT_COUNTED:
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
static void figure_text(const struct stat_figure *figure, char out[FIGURE_LEN])
{
	char digits[FIGURE_LEN], grouped[FIGURE_LEN];

	if (figure->state != STAT_FIGURE_THERE) {
		snprintf(out, FIGURE_LEN, "%s", state_text(figure->state));
		return;
	}
	snprintf(digits, sizeof(digits), "%.*f", figure->is_time ? 2 : 0,
		 figure->is_time ? figure->value / 1e6 : figure->value);
	group_digits(digits, grouped, sizeof(grouped));
	snprintf(out, FIGURE_LEN, "%.30s%s", grouped, figure->is_time ? " msec" : "");
}

/* As a program does. */
static void plain_text(const struct stat_figure *figure, char out[FIGURE_LEN])
{
	if (figure->state != STAT_FIGURE_THERE)
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

static void print_metrics(const struct printer *p, const struct stat_line *line)
{
	char texts[COUNT_NR_MODES][FIGURE_LEN];
	int pad = NAME_WIDTH - (int)strlen(line->name);

	for (int mode = 0; mode < COUNT_NR_MODES; mode++) {
		const struct stat_figure *figure = &line->figures[mode];

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
static void print_shares(const struct printer *p, const struct stat_line *line)
{
	bool any = false;

	for (int mode = 0; mode < COUNT_NR_MODES; mode++)
		any = any || (line->figures[mode].state == STAT_FIGURE_THERE &&
			      line->figures[mode].share < 99.95);
	for (int mode = 0; any && mode < COUNT_NR_MODES; mode++)
		if (line->figures[mode].state == STAT_FIGURE_THERE)
			fprintf(p->out, "  (%.1f%%)", line->figures[mode].share);
}

static void print_table_line(const struct printer *p, const struct stat_line *line)
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

/* A character of the separator does not end a field of text: perf's events have "," and ":". */
static char in_field(const char *separator, char c)
{
	return strchr(separator, c) ? '_' : c;
}

static void print_last_field(const struct printer *p, const char *text)
{
	for (; *text; text++)
		putc(in_field(p->style->separator, *text), p->out);
}

static void print_field(const struct printer *p, const char *text)
{
	print_last_field(p, text);
	fputs(p->style->separator, p->out);
}

/* TIME or "summary",GUEST,VCPU,VALUE,UNIT,EVENT,RUNTIME,SHARE,METRIC,METRIC UNIT */
static void print_csv_figure(const struct printer *p, const struct stat_line *line,
			     const struct stat_figure *figure)
{
	const char *sep = p->style->separator;
	char value[FIGURE_LEN];

	if (p->style->interval)
		fprintf(p->out, "%.9f%s", p->seconds, sep);
	else if (p->style->summary)
		print_field(p, "summary");
	print_field(p, p->label);
	if (p->style->per_vcpu)
		fprintf(p->out, "%lld%s", (long long)p->row->vcpu, sep);
	plain_text(figure, value);
	if (figure->state == STAT_FIGURE_THERE)
		fprintf(p->out, "%s%s", value, sep);
	else
		print_field(p, value);
	print_field(p, figure->is_time ? "msec" : "");
	print_field(p, figure->name);
	fprintf(p->out, "%llu%s%.2f%s", (unsigned long long)figure->runtime, sep, figure->share,
		sep);
	if (figure->has_metric)
		fprintf(p->out, "%.*f", line->metric_digits, figure->metric);
	fputs(sep, p->out);
	print_last_field(p, figure->has_metric ? line->metric_unit : "");
	putc('\n', p->out);
}

static int print_json_figure(const struct printer *p, const struct stat_line *line,
			     const struct stat_figure *figure)
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
	json_add_string(&sb, figure->name);
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

static int print_line(const struct printer *p, const struct stat_line *line)
{
	int err = 0;

	if (is_table(p->style)) {
		print_table_line(p, line);
		return 0;
	}
	for (int mode = 0; mode < COUNT_NR_MODES && !err; mode++) {
		const struct stat_figure *figure = &line->figures[mode];

		if (figure->state == STAT_FIGURE_NONE)
			continue;
		if (p->style->json)
			err = print_json_figure(p, line, figure);
		else
			print_csv_figure(p, line, figure);
	}
	return err;
}

/* The guest's name is its user's text. */
static void set_label(struct printer *p)
{
	size_t room = sizeof(p->label) - 16;
	size_t len = escape_terminal(p->row->name, p->label, room);

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
	stat_lines lines = VEC_INIT;
	int err;

	set_label(p);
	if (!p->style->interval && is_table(p->style))
		print_heading(p);
	err = stat_lines_make(&p->style->subject, p->row, p->elapsed, &lines);
	for (size_t i = 0; i < lines.nr && !err; i++)
		err = print_line(p, &lines.data[i]);
	vec_deinit(&lines);
	return err;
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
	if (!err && !style->interval && is_table(style))
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
