/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof: the command table, and what all commands have in common. */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/log.h"
#include "base/types.h"
#include "cmd/commands.h"
#include "cmd/options.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static int cmd_help(int argc, char **argv);

static const struct command commands[] = {
	{ "list", cmd_list, "Show the KVM guests of this host" },
	{ "record", cmd_record, "Sample guests and write a perf.data for each" },
	{ "stat", cmd_stat, "Count events of guests, in guest mode and in host mode" },
	{ "report", cmd_report, "Show where the time of a recording went" },
	{ "script", cmd_script, "Print the samples of a recording, one by one or folded" },
	{ "flamegraph", cmd_flamegraph, "Make an interactive HTML flame graph of a recording" },
	{ "selfcheck", cmd_selfcheck, "Say what works on this host, and why the rest does not" },
	{ "cache", cmd_cache, "Look after the symbols that recordings need, in ~/.debug" },
	{ "help", cmd_help, "Show the options of a command" },
};

static void print_commands(void)
{
	printf("\nCommands\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("    %-24s%s\n", commands[i].name, commands[i].help);
}

static struct {
	bool version;
	bool list_commands;
} opt;

static const struct option_spec main_options[] = {
	OPT_FLAG(0, "version", &opt.version, "print the version and end"),
	OPT_FLAG(0, "list-commands", &opt.list_commands, "for shell completion", .hidden = true),
	OPT_END
};

static const struct command_spec main_spec = {
	.usage = "[--version] [--help] [-v] [-q] COMMAND [ARGUMENTS]",
	.summary = "Profile KVM guests from the host: kernel and user call chains, no agent",
	.options = main_options,
	.max_operands = OPERANDS_ANY,
	.stop_at_operand = true,
	.print_more = print_commands,
};

static const struct command_spec help_spec = {
	.name = "help",
	.usage = "[COMMAND]",
	.summary = "Show the options of a command",
	.max_operands = 1,
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	return options_usage_error(&main_spec, "unknown command '%s'; `kvmprof help` lists them",
				   name);
}

/* Runs @command as if it had been called with the one argument --help. */
static int show_help(const struct command *command)
{
	char name[32], help[] = "--help";
	char *args[] = { name, help, NULL };

	snprintf(name, sizeof(name), "%s", command->name);
	return command->run(2, args);
}

static int show_own_help(void)
{
	char name[] = "kvmprof", help[] = "--help";
	char *args[] = { name, help, NULL };
	struct operands operands;
	int status = STATUS_OK;

	options_parse(&main_spec, 2, args, &operands, &status);
	return status;
}

static int cmd_help(int argc, char **argv)
{
	const struct command *command;
	struct operands operands;
	int status;

	if (!options_parse(&help_spec, argc, argv, &operands, &status))
		return status;
	if (!operands.nr)
		return show_own_help();
	command = find_command(operands.args[0]);
	if (!command)
		return unknown_command(operands.args[0]);
	return show_help(command);
}

static int list_commands(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("%s\t%s\n", commands[i].name, commands[i].help);
	return STATUS_OK;
}

static int run(int argc, char **argv)
{
	const struct command *command;
	struct operands operands;
	int status;

	if (!options_parse(&main_spec, argc, argv, &operands, &status))
		return status;
	if (opt.version) {
		printf("kvmprof %s\n", KVMPROF_VERSION);
		return STATUS_OK;
	}
	if (opt.list_commands)
		return list_commands();
	if (!operands.nr)
		return options_usage_error(&main_spec, "no command; `kvmprof help` lists them");
	command = find_command(operands.args[0]);
	if (!command)
		return unknown_command(operands.args[0]);
	return command->run(operands.nr, operands.args);
}

/*
 * Descriptors 0 to 2 must be open, else the next file opened becomes one of them. Each is opened
 * the wrong way round, so that using it is an error.
 */
static int open_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -EBADF;
	}
	return 0;
}

/* A full disk shows at the latest here. The status to exit with. */
static int close_stdout(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (!fclose(stdout) && !failed)
		return status;
	if (errno != EPIPE)
		log_error("standard output: %s", errno ? error_text(errno) : "write error");
	return status ? status : STATUS_FAILURE;
}

int main(int argc, char **argv)
{
	if (open_standard_fds())
		return STATUS_FAILURE;
	setlocale(LC_CTYPE, "");
	return close_stdout(run(argc, argv));
}
