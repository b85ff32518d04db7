/* SPDX-License-Identifier: GPL-2.0-only */
/* The shot, compiled for user space. */
#include "capture/user-shot.h"

#include "bpf/shot-take.h"

void user_shot_begin(struct shot *shot, struct shot_env *env)
{
	shot_begin(shot);
	shot->env = env;
	shot->max_depth = WIRE_MAX_USER_FRAMES;
	shot->user_stack = 0;
}

void user_shot_take(struct shot *shot, bool walk)
{
	if (walk)
		shot->flags |= SHOT_F_WALK;
	shot_take(shot);
}
