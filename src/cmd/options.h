/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command's options as one typed table. It drives parsing, `--help`, and the listing that shell
 * completion reads, so that the three cannot disagree:
 *
 *	static struct { bool all; const char *vm; u64 freq; int mode; } opt = { .freq = 997 };
 *
 *	static const struct option_spec options[] = {
 *		OPT_GROUP("What to profile"),
 *		OPT_FLAG('a', "all", &opt.all, "every guest of this host"),
 *		OPT_STRING(0, "vm", &opt.vm, "NAME", "the guest of that name", .complete = "vm"),
 *		OPT_GROUP("How"),
 *		OPT_NUMBER('F', "freq", &opt.freq, 1, 100000, "HZ", "samples a second"),
 *		OPT_CHOICE(0, "capture", &opt.mode, mode_names, "MODE", "how to take a sample"),
 *		OPT_END
 *	};
 *	static const struct command_spec spec = {
 *		.name = "record",
 *		.usage = "[-a | --vm NAME] [OPTIONS] [-- COMMAND…]",
 *		.summary = "Sample guests",
 *		.options = options,
 *		.max_operands = OPERANDS_ANY,
 *		.stop_at_operand = true,
 *	};
 *
 *	int cmd_record(int argc, char **argv)
 *	{
 *		struct operands operands;
 *		int status;
 *
 *		if (!options_parse(&spec, argc, argv, &operands, &status))
 *			return status;
 *
 * Habits are perf's and git's: -o FILE, -oFILE, --output FILE, --output=FILE, bundled flags (-av),
 * unique prefixes of long options, --no-FLAG, and `--` before operands. Every command also has
 * -h/--help, -v/--verbose and -q/--quiet.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "base/types.h"

/* Exit statuses, as doc/man/kvmprof.1 promises them. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILURE = 1,	/* said why on standard error */
	STATUS_USAGE = 2,	/* the command line makes no sense; nothing was done */
};

enum option_type {
	OPTION_END,
	OPTION_GROUP,		/* a heading in the help */
	OPTION_FLAG,
	OPTION_STRING,
	OPTION_NUMBER,
	OPTION_DURATION,
	OPTION_SIZE,
	OPTION_CHOICE,
	OPTION_LIST,
	OPTION_CALLBACK,
};

/* Strings given by a repeated or comma-separated option. */
struct option_list {
	char **items;
	size_t nr;
	size_t alloc;
};

void option_list_deinit(struct option_list *list);

/* Whether @item is in @list; an empty list holds everything. */
bool option_list_matches(const struct option_list *list, const char *item);

/*
 * Parses one argument (NULL when it is optional and was left out). 0, or negative errno with
 * *@ret_why, a constant, completing "bad value 'TEXT': …".
 */
typedef int (*option_parse_fn)(const char *text, void *arg, const char **ret_why);

struct option_spec {
	enum option_type type;
	char short_name;		/* 0: none */
	const char *long_name;
	const char *arg;		/* "FILE"; NULL for flags */
	const char *help;		/* a phrase, no full stop */
	union {
		bool *flag;
		const char **string;	/* points into argv */
		u64 *number;		/* OPTION_DURATION: milliseconds; OPTION_SIZE: bytes */
		int *choice;		/* index into .choices */
		struct option_list *list;
		void *callback_arg;
	};
	u64 min, max;
	const char *const *choices;	/* NULL-terminated */
	option_parse_fn parse;
	bool optional_arg;		/* OPTION_CALLBACK: -gVALUE, --graph=VALUE, or neither; also
					 * -g VALUE where the command takes no operands */
	bool hidden;			/* not in the help */
	const char *complete;		/* what completes the argument: "file", "dir", "vm", "pid",
					 * "event", "signal"; NULL: nothing or .choices */
};

#define OPT_END { .type = OPTION_END }
#define OPT_GROUP(text) { .type = OPTION_GROUP, .help = (text) }

/* The union's typed members make the compiler check what a table binds to. */
#define OPT_FLAG(s, l, ptr, text, ...)                                                  \
	{ .type = OPTION_FLAG, .short_name = (s), .long_name = (l), .flag = (ptr),      \
	  .help = (text), ##__VA_ARGS__ }
#define OPT_STRING(s, l, ptr, argname, text, ...)                                       \
	{ .type = OPTION_STRING, .short_name = (s), .long_name = (l), .string = (ptr),  \
	  .arg = (argname), .help = (text), ##__VA_ARGS__ }
#define OPT_FILE(s, l, ptr, text, ...)                                                  \
	OPT_STRING(s, l, ptr, "FILE", text, .complete = "file", ##__VA_ARGS__)
/* Decimal, or hexadecimal after 0x; from @lo to @hi. */
#define OPT_NUMBER(s, l, ptr, lo, hi, argname, text, ...)                               \
	{ .type = OPTION_NUMBER, .short_name = (s), .long_name = (l), .number = (ptr),  \
	  .min = (lo), .max = (hi), .arg = (argname), .help = (text), ##__VA_ARGS__ }
/* Seconds with a fraction, or with a suffix ms, s, m, h. */
#define OPT_DURATION(s, l, ptr, text, ...)                                              \
	{ .type = OPTION_DURATION, .short_name = (s), .long_name = (l),                 \
	  .number = (ptr), .arg = "TIME", .help = (text), ##__VA_ARGS__ }
/* Bytes, or with a suffix K, M, G, T (powers of 1024), a fraction too. */
#define OPT_SIZE(s, l, ptr, text, ...)                                                  \
	{ .type = OPTION_SIZE, .short_name = (s), .long_name = (l), .number = (ptr),    \
	  .arg = "SIZE", .help = (text), ##__VA_ARGS__ }
#define OPT_CHOICE(s, l, ptr, names, argname, text, ...)                                \
	{ .type = OPTION_CHOICE, .short_name = (s), .long_name = (l), .choice = (ptr),  \
	  .choices = (names), .arg = (argname), .help = (text), ##__VA_ARGS__ }
#define OPT_LIST(s, l, ptr, argname, text, ...)                                         \
	{ .type = OPTION_LIST, .short_name = (s), .long_name = (l), .list = (ptr),      \
	  .arg = (argname), .help = (text), ##__VA_ARGS__ }
#define OPT_CALLBACK(s, l, fn, ptr, argname, text, ...)                                 \
	{ .type = OPTION_CALLBACK, .short_name = (s), .long_name = (l), .parse = (fn),  \
	  .callback_arg = (ptr), .arg = (argname), .help = (text), ##__VA_ARGS__ }

#define OPERANDS_ANY UINT32_MAX

struct command_spec {
	const char *name;		/* NULL: kvmprof itself */
	const char *usage;		/* after "kvmprof NAME " */
	const char *summary;		/* one line */
	const struct option_spec *options;	/* NULL: only the common ones */
	unsigned int max_operands;
	bool stop_at_operand;		/* options end at the first operand: record sleep -x 5 */
	void (*print_more)(void);	/* at the end of the help; NULL: nothing */
};

/* What is left of the command line. Points into argv. */
struct operands {
	char **args;			/* NULL-terminated */
	unsigned int nr;
};

/*
 * Parses @argv (argv[0] is the command's name and skipped) into what the table binds to; argv is
 * permuted. True: go on. False: return *@ret_status from main(); an error has been printed on
 * standard error, or what was asked for (--help) on standard output.
 */
bool options_parse(const struct command_spec *spec, int argc, char **argv,
		   struct operands *ret_operands, int *ret_status);

/*
 * A copy of the command line for a recording, NULL-terminated, with the program's name before the
 * command's; to be made before options_parse() takes @argv apart, and freed with free(): the words
 * are those of @argv. NULL when there is no memory for it.
 */
const char **options_command_line(int argc, char **argv);

/* For contradictions that the table cannot express: prints "kvmprof NAME: …" and the usage line.
 * Returns STATUS_USAGE. */
int options_usage_error(const struct command_spec *spec, const char *fmt, ...) __printf(2, 3);

#endif
