/* SPDX-License-Identifier: GPL-2.0-only */
/* Option tables: what each kind of option takes, what it refuses, and where operands go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cmd/options.h"

static const char *const mode_names[] = { "auto", "inline", "deferred", NULL };

static struct {
	bool all, children, caller;
	const char *output;
	u64 freq, duration, size;
	int mode, graph;
	struct option_list comms;
} opt;

static int parse_graph(const char *text, void *arg, const char **ret_why)
{
	if (!text) {
		*(int *)arg = 1;
		return 0;
	}
	if (strcmp(text, "two")) {
		*ret_why = "only two";
		return -EBADMSG;
	}
	*(int *)arg = 2;
	return 0;
}

static const struct option_spec options[] = {
	OPT_GROUP("What"),
	OPT_FLAG('a', "all", &opt.all, "every guest"),
	OPT_FLAG(0, "children", &opt.children, "with callees"),
	OPT_FLAG('C', NULL, &opt.caller, "a short one only"),
	OPT_FILE('o', "output", &opt.output, "where to"),
	OPT_NUMBER('F', "freq", &opt.freq, 1, 100000, "HZ", "samples a second"),
	OPT_DURATION(0, "duration", &opt.duration, "how long"),
	OPT_SIZE(0, "size", &opt.size, "how much"),
	OPT_CHOICE(0, "capture", &opt.mode, mode_names, "MODE", "how"),
	OPT_LIST(0, "comm", &opt.comms, "COMM", "only these"),
	OPT_CALLBACK('g', "graph", parse_graph, &opt.graph, "KIND", "a graph",
		     .optional_arg = true),
	OPT_END
};

static struct command_spec spec;

/* stderr and stdout of the parser, for looking at what it said. */
static char said[16384];

static int redirect(int fd, int to)
{
	int saved = dup(fd);

	fflush(NULL);
	assert_true(saved >= 0 && dup2(to, fd) == fd);
	return saved;
}

static void restore(int fd, int saved)
{
	fflush(NULL);
	assert_int_equal(dup2(saved, fd), fd);
	close(saved);
}

/* Parses the words of @line. True or the exit status, negated and minus one (-1: OK, -3: usage). */
static int run(const char *line, struct operands *ret_operands)
{
	static char copy[256], *argv[32];
	int argc = 0, status = 0, out, err, file;
	char path[] = "/tmp/kvmprof-test.XXXXXX";
	ssize_t len;
	bool go_on;

	snprintf(copy, sizeof(copy), "%s", line);
	argv[argc++] = (char *)"record";
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	file = mkstemp(path);
	assert_true(file >= 0);
	unlink(path);
	out = redirect(STDOUT_FILENO, file);
	err = redirect(STDERR_FILENO, file);
	go_on = options_parse(&spec, argc, argv, ret_operands, &status);
	restore(STDERR_FILENO, err);
	restore(STDOUT_FILENO, out);
	len = pread(file, said, sizeof(said) - 1, 0);
	assert_true(len >= 0);
	said[len] = '\0';
	close(file);
	return go_on ? true : -1 - status;
}

static int setup(void **state)
{
	(void)state;
	option_list_deinit(&opt.comms);
	memset(&opt, 0, sizeof(opt));
	opt.children = true;
	spec = (struct command_spec){
		.name = "record",
		.usage = "[OPTIONS]",
		.summary = "Sample guests",
		.options = options,
		.max_operands = OPERANDS_ANY,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	option_list_deinit(&opt.comms);
	log_set_level(LOG_LEVEL_NOTICE);
	return 0;
}

static void test_forms(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("-aC -o one -F99 --duration=1.5", &operands), true);
	assert_true(opt.all);
	assert_true(opt.caller);
	assert_string_equal(opt.output, "one");
	assert_int_equal(opt.freq, 99);
	assert_int_equal(opt.duration, 1500);
	assert_int_equal(operands.nr, 0);
	assert_null(operands.args[0]);
	assert_int_equal(run("--output two -aF 0x10 --capture deferred", &operands), true);
	assert_string_equal(opt.output, "two");
	assert_int_equal(opt.freq, 16);
	assert_int_equal(opt.mode, 2);
	assert_int_equal(run("--output= -o-", &operands), true);
	assert_string_equal(opt.output, "-");
}

static void test_flags_negate(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("--no-children", &operands), true);
	assert_false(opt.children);
	assert_int_equal(run("--no-children --children", &operands), true);
	assert_true(opt.children);
	assert_int_equal(run("--no-output", &operands), -1 - STATUS_USAGE);
	assert_int_equal(run("--no-help", &operands), -1 - STATUS_USAGE);
	assert_int_equal(run("--no-", &operands), -1 - STATUS_USAGE);
	assert_int_equal(run("--no-children=1", &operands), -1 - STATUS_USAGE);
}

static void test_prefixes(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("--out three --al --dur 2", &operands), true);
	assert_string_equal(opt.output, "three");
	assert_true(opt.all);
	assert_int_equal(run("--c", &operands), -1 - STATUS_USAGE);
	assert_non_null(strstr(said, "ambiguous"));
	assert_int_equal(run("--com x", &operands), true);
	assert_int_equal(run("--list-opt", &operands), -1 - STATUS_USAGE);
}

static void test_operands(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("one -a two -- -o three", &operands), true);
	assert_int_equal(operands.nr, 4);
	assert_string_equal(operands.args[1], "two");
	assert_string_equal(operands.args[2], "-o");
	assert_null(operands.args[4]);
	assert_null(opt.output);
	spec.stop_at_operand = true;
	assert_int_equal(run("-a sleep -o 5", &operands), true);
	assert_int_equal(operands.nr, 3);
	assert_string_equal(operands.args[0], "sleep");
	assert_string_equal(operands.args[2], "5");
	assert_null(opt.output);
	spec.max_operands = 1;
	assert_int_equal(run("one", &operands), true);
	assert_int_equal(run("one two", &operands), -1 - STATUS_USAGE);
	assert_non_null(strstr(said, "unexpected argument 'two'"));
	assert_int_equal(run("-", &operands), true);
	assert_string_equal(operands.args[0], "-");
}

/* What a recording keeps is whole, whatever becomes of argv. */
static void test_command_line(void **state)
{
	static const char *const words[] = {
		"record", "--vm", "web-1", "-a", "--", "sleep", "--", "5"
	};
	char *argv[ARRAY_SIZE(words) + 1] = { NULL };
	const char **line;
	struct operands operands;
	int status;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		argv[i] = (char *)words[i];
	line = options_command_line(ARRAY_SIZE(words), argv);
	assert_non_null(line);
	argv[1] = (char *)"--output";
	assert_true(options_parse(&spec, ARRAY_SIZE(words), argv, &operands, &status));
	assert_int_equal(operands.nr, 3);
	assert_string_equal(line[0], program_invocation_name);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_string_equal(line[1 + i], words[i]);
	assert_null(line[1 + ARRAY_SIZE(words)]);
	free(line);
}

static void test_optional_argument(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("-g two", &operands), true);
	assert_int_equal(opt.graph, 1);
	assert_int_equal(operands.nr, 1);
	assert_int_equal(run("-gtwo", &operands), true);
	assert_int_equal(opt.graph, 2);
	assert_int_equal(run("--graph=three", &operands), -1 - STATUS_USAGE);
	assert_non_null(strstr(said, "--graph: bad value 'three': only two"));

	/* As perf takes it, where a word on its own means nothing else. */
	spec.max_operands = 0;
	assert_int_equal(run("-g two -a", &operands), true);
	assert_int_equal(opt.graph, 2);
	assert_int_equal(run("-g -a", &operands), true);
	assert_int_equal(opt.graph, 1);
}

static void test_lists(void **state)
{
	struct operands operands;

	(void)state;
	assert_true(option_list_matches(&opt.comms, "any"));
	assert_int_equal(run("--comm a,bc --comm d", &operands), true);
	assert_int_equal(opt.comms.nr, 3);
	assert_string_equal(opt.comms.items[1], "bc");
	assert_true(option_list_matches(&opt.comms, "d"));
	assert_false(option_list_matches(&opt.comms, "b"));
}

static void test_bad_values(void **state)
{
	static const char *const lines[] = {
		"-F 0", "-F 100001", "-F 99x", "-F -5", "-F", "-F 18446744073709551616", "-F 0x",
		"--duration 5y", "--duration -1", "--duration 0", "--duration nan", "--duration s",
		"--duration 1e300", "--capture", "--capture best", "--all=1", "--output", "-x",
		"--nothing", "-ax",
	};
	struct operands operands;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(run(lines[i], &operands), -1 - STATUS_USAGE);
		assert_non_null(strstr(said, "kvmprof record: "));
		assert_non_null(strstr(said, "\nusage: kvmprof record [OPTIONS]\n"));
	}
	run("--capture best", &operands);
	assert_non_null(strstr(said, "one of auto, inline, deferred"));
	run("--nope\x1b[31m", &operands);
	assert_null(strchr(said, '\x1b'));
}

static void test_sizes(void **state)
{
	static const struct {
		const char *line;
		u64 bytes;
	} good[] = {
		{ "--size 0", 0 }, { "--size 77", 77 }, { "--size 3K", 3072 },
		{ "--size 1.5M", 3 << 19 }, { "--size 2G", 2ULL << 30 },
		{ "--size=1T", 1ULL << 40 },
	};
	static const char *const bad[] = {
		"--size", "--size M", "--size -1", "--size 1KB", "--size 1X", "--size nan",
		"--size 1e30", "--size 9999999999T",
	};
	struct operands operands;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(run(good[i].line, &operands), true);
		assert_int_equal(opt.size, good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(run(bad[i], &operands), -1 - STATUS_USAGE);
}

static void test_durations(void **state)
{
	static const struct {
		const char *line;
		u64 ms;
	} cases[] = {
		{ "--duration 10", 10000 }, { "--duration .25", 250 }, { "--duration 200ms", 200 },
		{ "--duration 2m", 120000 }, { "--duration 1h", 3600000 },
		{ "--duration 3s", 3000 },
	};
	struct operands operands;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(run(cases[i].line, &operands), true);
		assert_int_equal(opt.duration, cases[i].ms);
	}
}

static void test_help(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("-h --nothing", &operands), -1 - STATUS_OK);
	assert_ptr_equal(strstr(said, "usage: kvmprof record [OPTIONS]\n\nSample guests.\n"),
			 said);
	assert_non_null(strstr(said, "    -o, --output FILE       where to\n"));
	assert_non_null(strstr(said, "    -g, --graph[=KIND]      a graph\n"));
	assert_non_null(strstr(said, "how: auto, inline, deferred\n"));
	assert_non_null(strstr(said, "    -h, --help"));
	assert_null(strstr(said, "list-options"));
	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 100);
}

static void test_listing(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("--list-options", &operands), -1 - STATUS_OK);
	assert_non_null(strstr(said, "-a --all\t\t\tevery guest\n"));
	assert_non_null(strstr(said, "-o --output\tFILE\tfile\twhere to\n"));
	assert_non_null(strstr(said, "--capture\tMODE\t=auto inline deferred\thow\n"));
	assert_non_null(strstr(said, "-g --graph\tKIND?\t\ta graph\n"));
	assert_non_null(strstr(said, "-C\t\t\ta short one only\n"));
	assert_non_null(strstr(said, "-v --verbose\t"));
}

static void test_common(void **state)
{
	struct operands operands;

	(void)state;
	assert_int_equal(run("-v", &operands), true);
	assert_int_equal(log_get_level(), LOG_LEVEL_DEBUG);
	assert_int_equal(run("-q", &operands), true);
	assert_int_equal(log_get_level(), LOG_LEVEL_WARNING);
	spec.options = NULL;
	spec.max_operands = 0;
	assert_int_equal(run("--verb", &operands), true);
	assert_int_equal(run("-a", &operands), -1 - STATUS_USAGE);
	assert_int_equal(run("x", &operands), -1 - STATUS_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags_negate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_prefixes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_operands, setup, teardown),
		cmocka_unit_test_setup_teardown(test_command_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_optional_argument, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_durations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_help, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_common, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
