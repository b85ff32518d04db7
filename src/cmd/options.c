/* SPDX-License-Identifier: GPL-2.0-only */
/* Option tables: parsing, help and the listing for shell completion. */
#include "cmd/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/vec.h"

#define HELP_COLUMN 28		/* where the help text of an option starts */
#define HELP_WIDTH 96
#define WORD_MAX_BYTES 512	/* of a command-line word in a message */

/* What every command has; parsed before the command's own table, listed after it. */
enum common_option {
	COMMON_HELP,
	COMMON_VERBOSE,
	COMMON_QUIET,
	COMMON_LIST_OPTIONS,
};

static const struct option_spec common_options[] = {
	[COMMON_HELP] = OPT_FLAG('h', "help", NULL, "this text"),
	[COMMON_VERBOSE] = OPT_FLAG('v', "verbose", NULL, "say more on standard error"),
	[COMMON_QUIET] = OPT_FLAG('q', "quiet", NULL, "only warnings and errors on standard error"),
	[COMMON_LIST_OPTIONS] = OPT_FLAG(0, "list-options", NULL, "for shell completion",
					 .hidden = true),
	OPT_END
};

struct parse {
	const struct command_spec *spec;
	int argc;
	char **argv;
	int next;		/* index of the word after the current one */
	bool done;		/* --help or --list-options was served */
};

void option_list_deinit(struct option_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->nr; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct option_list){ 0 };
}

bool option_list_matches(const struct option_list *list, const char *item)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->items[i], item))
			return true;
	return !list->nr;
}

static void print_usage(const struct command_spec *spec, FILE *file)
{
	fprintf(file, "usage: kvmprof%s%s %s\n", spec->name ? " " : "", spec->name ?: "",
		spec->usage ?: "[OPTIONS]");
}

static void vreport(const struct command_spec *spec, const char *fmt, va_list ap)
{
	char text[2 * WORD_MAX_BYTES], safe[2 * WORD_MAX_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	escape_terminal(text, safe, sizeof(safe));
	fprintf(stderr, "kvmprof%s%s: %s\n", spec->name ? " " : "", spec->name ?: "", safe);
	print_usage(spec, stderr);
}

int options_usage_error(const struct command_spec *spec, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vreport(spec, fmt, ap);
	va_end(ap);
	return STATUS_USAGE;
}

/* As options_usage_error(), for the parser. */
static int __printf(2, 3) bad_usage(const struct parse *parse, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vreport(parse->spec, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* "--long" or "-s", as the message names it. */
static const char *option_name(const struct option_spec *option, char *buf, size_t size)
{
	if (option->long_name)
		snprintf(buf, size, "--%s", option->long_name);
	else
		snprintf(buf, size, "-%c", option->short_name);
	return buf;
}

static int bad_value(const struct parse *parse, const struct option_spec *option,
		     const char *text, const char *why)
{
	char name[64];

	return bad_usage(parse, "%s: bad value '%s': %s",
			 option_name(option, name, sizeof(name)), text, why);
}

static int parse_number(const struct parse *parse, const struct option_spec *option,
			const char *text)
{
	int base = !strncmp(text, "0x", 2) || !strncmp(text, "0X", 2) ? 16 : 10;
	char why[96], *end;
	u64 value;

	errno = 0;
	value = strtoull(text, &end, base);
	if (end == text || *end || *text < '0' || *text > '9')
		return bad_value(parse, option, text, "not a number");
	if (errno || value < option->min || value > option->max) {
		snprintf(why, sizeof(why), "must be from %llu to %llu",
			 (unsigned long long)option->min, (unsigned long long)option->max);
		return bad_value(parse, option, text, why);
	}
	*option->number = value;
	return 0;
}

static int parse_duration(const struct parse *parse, const struct option_spec *option,
			  const char *text)
{
	static const struct {
		const char *suffix;
		double ms;
	} units[] = { { "", 1e3 }, { "s", 1e3 }, { "ms", 1 }, { "m", 60e3 }, { "h", 3600e3 } };
	double value;
	char *end;

	value = strtod(text, &end);
	if (end == text || ((*text < '0' || *text > '9') && *text != '.'))
		return bad_value(parse, option, text, "not a time such as 10, 0.5, 200ms or 2m");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].suffix))
			continue;
		value *= units[i].ms;
		if (!(value >= 1 && value <= 1e12))
			return bad_value(parse, option, text, "out of range");
		*option->number = (u64)value;
		return 0;
	}
	return bad_value(parse, option, text, "the units are ms, s, m and h");
}

static int parse_size(const struct parse *parse, const struct option_spec *option,
		      const char *text)
{
	static const char units[] = "KMGT";
	const char *unit;
	double value;
	char *end;

	value = strtod(text, &end);
	if (end == text || *text < '0' || *text > '9')
		return bad_value(parse, option, text, "not a size such as 500M or 2G");
	unit = *end ? strchr(units, *end) : NULL;
	if (*end && (!unit || end[1]))
		return bad_value(parse, option, text, "the units are K, M, G and T");
	for (const char *u = units; unit && u <= unit; u++)
		value *= 1024;
	if (!(value <= 1e18))
		return bad_value(parse, option, text, "out of range");
	*option->number = (u64)value;
	return 0;
}

static int parse_choice(const struct parse *parse, const struct option_spec *option,
			const char *text)
{
	char why[WORD_MAX_BYTES];
	int used;

	for (int i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], text)) {
			*option->choice = i;
			return 0;
		}
	}
	used = snprintf(why, sizeof(why), "one of");
	for (int i = 0; option->choices[i] && used < (int)sizeof(why); i++)
		used += snprintf(why + used, sizeof(why) - used, "%s %s", i ? "," : "",
				 option->choices[i]);
	return bad_value(parse, option, text, why);
}

static int parse_list(const struct option_spec *option, const char *text)
{
	const char *comma;

	for (;; text = comma + 1) {
		char *item;
		int err;

		comma = strchrnul(text, ',');
		item = strndup(text, comma - text);
		err = item ? vec_reserve_raw((void **)&option->list->items, &option->list->alloc,
					     option->list->nr + 1, sizeof(char *)) : -ENOMEM;
		if (err) {
			free(item);
			return err;
		}
		option->list->items[option->list->nr++] = item;
		if (!*comma)
			return 0;
	}
}

static int parse_callback(const struct parse *parse, const struct option_spec *option,
			  const char *text)
{
	const char *why = NULL;
	int err = option->parse(text, option->callback_arg, &why);

	return err ? bad_value(parse, option, text ?: "", why ?: error_text(err)) : 0;
}

/* @text is NULL only for flags and left-out optional arguments. */
static int option_set(const struct parse *parse, const struct option_spec *option,
		      const char *text)
{
	switch (option->type) {
	case OPTION_FLAG:
		*option->flag = true;
		return 0;
	case OPTION_STRING:
		*option->string = text;
		return 0;
	case OPTION_NUMBER:
		return parse_number(parse, option, text);
	case OPTION_DURATION:
		return parse_duration(parse, option, text);
	case OPTION_SIZE:
		return parse_size(parse, option, text);
	case OPTION_CHOICE:
		return parse_choice(parse, option, text);
	case OPTION_LIST:
		return parse_list(option, text);
	case OPTION_CALLBACK:
		return parse_callback(parse, option, text);
	default:
		return -EINVAL;
	}
}

/* "    -o, --output FILE" without the help text. Returns the columns used. */
static int print_option_head(const struct option_spec *option)
{
	int used = printf("    ");

	if (option->short_name)
		used += printf("-%c", option->short_name);
	if (option->short_name && option->long_name)
		used += printf(", ");
	if (option->long_name)
		used += printf("--%s", option->long_name);
	if (option->arg && option->optional_arg)
		used += printf("%s%s]", option->long_name ? "[=" : "[", option->arg);
	else if (option->arg)
		used += printf(" %s", option->arg);
	return used;
}

/* Words of @text from column HELP_COLUMN on; @used columns of the line are taken. */
static void print_wrapped(const char *text, int used)
{
	if (used > HELP_COLUMN - 2) {
		putchar('\n');
		used = 0;
	}
	printf("%*s", HELP_COLUMN - used, "");
	used = HELP_COLUMN;
	while (*text) {
		int len = strcspn(text, " ");

		if (used + len > HELP_WIDTH && used > HELP_COLUMN) {
			printf("\n%*s", HELP_COLUMN, "");
			used = HELP_COLUMN;
		}
		used += printf("%.*s", len, text);
		text += len;
		if (*text == ' ') {
			text++;
			if (used < HELP_WIDTH)
				used += printf(" ");
		}
	}
	putchar('\n');
}

static void print_option_help(const struct option_spec *option)
{
	char text[WORD_MAX_BYTES];
	int used;

	if (option->hidden)
		return;
	if (option->type == OPTION_GROUP) {
		printf("\n%s\n", option->help);
		return;
	}
	used = snprintf(text, sizeof(text), "%s", option->help);
	for (int i = 0; option->choices && option->choices[i] && used < (int)sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : ": ",
				 option->choices[i]);
	print_wrapped(text, print_option_head(option));
}

static void print_help(const struct command_spec *spec)
{
	print_usage(spec, stdout);
	printf("\n%s.\n", spec->summary);
	if (spec->options && spec->options->type != OPTION_GROUP)
		printf("\nOptions\n");
	for (const struct option_spec *o = spec->options; o && o->type; o++)
		print_option_help(o);
	printf("\nCommon options\n");
	for (const struct option_spec *o = common_options; o->type; o++)
		print_option_help(o);
	if (spec->print_more)
		spec->print_more();
}

/*
 * One line an option, four tab-separated columns: the option's names, its argument, what completes
 * that (a keyword, or the choices after '='), the help.
 */
static void print_option_line(const struct option_spec *option)
{
	if (option->hidden || option->type == OPTION_GROUP)
		return;
	if (option->short_name)
		printf("-%c%s", option->short_name, option->long_name ? " " : "");
	if (option->long_name)
		printf("--%s", option->long_name);
	printf("\t%s%s\t", option->arg ?: "", option->optional_arg ? "?" : "");
	if (option->choices) {
		for (int i = 0; option->choices[i]; i++)
			printf("%c%s", i ? ' ' : '=', option->choices[i]);
	} else {
		printf("%s", option->complete ?: "");
	}
	printf("\t%s\n", option->help);
}

static void print_option_list(const struct command_spec *spec)
{
	for (const struct option_spec *o = spec->options; o && o->type; o++)
		print_option_line(o);
	for (const struct option_spec *o = common_options; o->type; o++)
		print_option_line(o);
}

static bool is_common(const struct option_spec *option)
{
	return option >= common_options && option < common_options + ARRAY_SIZE(common_options);
}

static void serve_common(struct parse *parse, const struct option_spec *option)
{
	switch (option - common_options) {
	case COMMON_HELP:
		print_help(parse->spec);
		parse->done = true;
		break;
	case COMMON_LIST_OPTIONS:
		print_option_list(parse->spec);
		parse->done = true;
		break;
	case COMMON_VERBOSE:
		log_set_level(LOG_LEVEL_DEBUG);
		break;
	case COMMON_QUIET:
		log_set_level(LOG_LEVEL_WARNING);
		break;
	}
}

static const struct option_spec *find_short(const struct command_spec *spec, char name)
{
	for (const struct option_spec *o = spec->options; o && o->type; o++)
		if (o->short_name == name)
			return o;
	for (const struct option_spec *o = common_options; o->type; o++)
		if (o->short_name == name)
			return o;
	return NULL;
}

/* Collects in @found what @name of @len bytes means in @table. */
struct long_match {
	const struct option_spec *option;
	bool exact;
	bool ambiguous;
};

static void match_long(const struct option_spec *table, const char *name, size_t len,
		       bool flags_only, struct long_match *found)
{
	for (const struct option_spec *o = table; o && o->type && !found->exact; o++) {
		if (!o->long_name || (flags_only && o->type != OPTION_FLAG) ||
		    strncmp(o->long_name, name, len))
			continue;
		if (o->long_name[len] == '\0')
			*found = (struct long_match){ .option = o, .exact = true };
		else if (found->option && !o->hidden)
			found->ambiguous = true;
		else if (!o->hidden)
			found->option = o;
	}
}

static struct long_match find_long(const struct command_spec *spec, const char *name, size_t len,
				   bool flags_only)
{
	struct long_match found = { 0 };

	match_long(spec->options, name, len, flags_only, &found);
	match_long(common_options, name, len, flags_only, &found);
	return found;
}

/* --no-FLAG. 0 when served, -ENOENT when there is no such flag. */
static int parse_negated(struct parse *parse, const char *name, size_t len)
{
	struct long_match match;

	if (len <= 3 || strncmp(name, "no-", 3))
		return -ENOENT;
	match = find_long(parse->spec, name + 3, len - 3, true);
	if (!match.option || match.ambiguous || is_common(match.option))
		return -ENOENT;
	if (name[len] == '=')
		return bad_usage(parse, "option --%s takes no value", name);
	*match.option->flag = false;
	return 0;
}

/* Whether the next word can be nothing but the value of @option, which needs none. */
static bool next_is_value(const struct parse *parse, const struct option_spec *option)
{
	return option->optional_arg && !parse->spec->max_operands && parse->next < parse->argc &&
	       parse->argv[parse->next][0] != '-';
}

/* @inline_value: what was given in the same word, or NULL. Takes the next word when needed. */
static int parse_option(struct parse *parse, const struct option_spec *option,
			const char *inline_value)
{
	char name[64];

	if (option->type == OPTION_FLAG && inline_value)
		return bad_usage(parse, "option %s takes no value",
				 option_name(option, name, sizeof(name)));
	if (is_common(option)) {
		serve_common(parse, option);
		return 0;
	}
	if (option->type != OPTION_FLAG && !option->optional_arg && !inline_value) {
		if (parse->next >= parse->argc)
			return bad_usage(parse, "option %s needs a value",
					 option_name(option, name, sizeof(name)));
		inline_value = parse->argv[parse->next++];
	} else if (!inline_value && next_is_value(parse, option)) {
		inline_value = parse->argv[parse->next++];
	}
	return option_set(parse, option, inline_value);
}

static int parse_long(struct parse *parse, const char *word)
{
	size_t len = strcspn(word, "=");
	struct long_match match = find_long(parse->spec, word, len, false);
	int err;

	if (!match.exact) {
		err = parse_negated(parse, word, len);
		if (err != -ENOENT)
			return err;
	}
	if (match.ambiguous)
		return bad_usage(parse, "option --%.*s is ambiguous", (int)MIN(len, 64), word);
	if (!match.option)
		return bad_usage(parse, "unknown option --%.*s", (int)MIN(len, WORD_MAX_BYTES),
				 word);
	return parse_option(parse, match.option, word[len] == '=' ? word + len + 1 : NULL);
}

static int parse_short(struct parse *parse, const char *letters)
{
	for (; *letters && !parse->done; letters++) {
		const struct option_spec *option = find_short(parse->spec, *letters);

		if (!option)
			return bad_usage(parse, "unknown option -%c", *letters);
		if (option->type != OPTION_FLAG)
			return parse_option(parse, option, letters[1] ? letters + 1 : NULL);
		if (parse_option(parse, option, NULL))
			return -EINVAL;
	}
	return 0;
}

/* Parses all options and moves the operands to the front of argv[1…]. Their number or error. */
static int parse_words(struct parse *parse)
{
	int nr = 0, err;

	while (parse->next < parse->argc && !parse->done) {
		char *word = parse->argv[parse->next++];

		if (!strcmp(word, "--") || (word[0] != '-' && parse->spec->stop_at_operand)) {
			if (word[0] != '-')
				parse->next--;
			while (parse->next < parse->argc)
				parse->argv[1 + nr++] = parse->argv[parse->next++];
			break;
		}
		if (word[0] != '-' || !word[1]) {
			parse->argv[1 + nr++] = word;
			continue;
		}
		err = word[1] == '-' ? parse_long(parse, word + 2) : parse_short(parse, word + 1);
		if (err)
			return err;
	}
	return nr;
}

bool options_parse(const struct command_spec *spec, int argc, char **argv,
		   struct operands *ret_operands, int *ret_status)
{
	struct parse parse = { .spec = spec, .argc = argc, .argv = argv, .next = 1 };
	int nr = parse_words(&parse);

	if (nr < 0) {
		*ret_status = nr == -EINVAL ? STATUS_USAGE : STATUS_FAILURE;
		if (nr != -EINVAL)
			log_error_errno(nr, "command line");
		return false;
	}
	if (parse.done) {
		*ret_status = STATUS_OK;
		return false;
	}
	if ((unsigned int)nr > spec->max_operands) {
		*ret_status = options_usage_error(spec, "unexpected argument '%s'",
						  argv[1 + spec->max_operands]);
		return false;
	}
	if (nr + 1 < argc)
		argv[1 + nr] = NULL;
	*ret_operands = (struct operands){ .args = argv + 1, .nr = nr };
	return true;
}

const char **options_command_line(int argc, char **argv)
{
	const char **words = calloc((size_t)argc + 2, sizeof(*words));

	if (!words)
		return NULL;
	words[0] = program_invocation_name;
	for (int i = 0; i < argc; i++)
		words[1 + i] = argv[i];
	return words;
}
