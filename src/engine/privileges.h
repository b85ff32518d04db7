/* SPDX-License-Identifier: GPL-2.0-only */
/* Giving up what a recorder does not need, before it parses what a guest wrote. */
#ifndef ENGINE_PRIVILEGES_H
#define ENGINE_PRIVILEGES_H

/*
 * For the rest of the process: no new privileges through exec, and of root's capabilities only
 * those that following a VM takes (ptrace, perf events, BPF, reading /proc, writing the user's
 * files). Call it after BPF programs are loaded. 0, or the system's error and nothing is dropped.
 */
int privileges_drop(void);

#endif
