/* SPDX-License-Identifier: GPL-2.0-only */
/* Ctrl-C and its like, for commands that run until they are told to end. */
#ifndef CMD_INTERRUPT_H
#define CMD_INTERRUPT_H

#include "base/types.h"

/*
 * From here on SIGINT, SIGTERM and SIGHUP are counted and wake a poll; SIGPIPE is ignored. What is
 * to have the defaults (a child) has been forked before.
 */
void interrupt_catch(void);

/* Once ends the work. */
bool interrupted(void);

/* More than once says that nothing shall be waited for. */
bool interrupted_again(void);

/* The last of these signals; 0: none. */
int interrupted_by(void);

#endif
