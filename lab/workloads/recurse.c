// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deep recursion. The argument is the depth, 100 when there is none.
 *
 *	_start
 *	  main
 *	    descend
 *	      descend		… DEPTH frames of it
 *	        bottom		all the CPU time
 *
 * One piece of work is one descent.
 */
#include "rt.h"

static volatile unsigned long sink;

TREE static void bottom(void)
{
	sink = burn(200000);
}

TREE static void descend(unsigned long depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		bottom();
	sink = depth;
}

int main(int argc, char **argv)
{
	unsigned long depth;

	work_start(argc, argv);
	depth = work_argument(100);
	work_say("depth", depth);
	if (!depth)
		must("depth", -22);
	for (;;) {
		descend(depth);
		work_done(1);
	}
}
