/* SPDX-License-Identifier: GPL-2.0-only */
/* The subcommands; each is one file of that name. Their table is in main.c. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

/*
 * Runs a subcommand: argv[0] is its name. Returns the process's exit status (enum exit_status).
 * Data goes to standard output through stdio, and main() checks that it got there.
 */
int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_selfcheck(int argc, char **argv);
int cmd_cache(int argc, char **argv);

#endif
