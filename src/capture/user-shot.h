/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shots taken in user space: the code of bpf/shot-*.h over memory that a callback reads. What the
 * BPF modes do at the event, for the ptrace mode and for tests.
 */
#ifndef CAPTURE_USER_SHOT_H
#define CAPTURE_USER_SHOT_H

#include "bpf/shot.h"

/*
 * Empties @shot's record; the caller then fills .wire's first part and .wire.regs, and
 * .user_stack if it wants a copy.
 */
void user_shot_begin(struct shot *shot, struct shot_env *env);

/* Completes the record: .wire.size bytes from .wire on. Without @walk it holds registers only. */
void user_shot_take(struct shot *shot, bool walk);

#endif
