/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vpmu-perf: libvpmu's hardware backend on a real PMU, without a guest. What stands for the guest
 * is this thread between vpmu_enter() and vpmu_exit(): a loop of a known number of instructions.
 * For a machine on which `instructions` of user mode are exact and cycles are a fixed multiple of
 * them, as the arm64 lab host's are with --icount. Speaks TAP.
 *
 * The library's own instructions of the two calls count, too: a fixed number, which is told. It is
 * known from a run with an empty loop.
 */
#include <stdio.h>

#include "vpmu-perf.h"

int main(void)
{
	struct holder holder;

	setvbuf(stdout, NULL, _IOLBF, 0);
	catch_signals();
	holder_start(&holder);
	printf("# counters of the host that can count instructions: %u\n", holder.most);
	between("the host has counters, not more than the model", 2, 10, holder.most);
	test_exact();
	test_kernel_mode();
	test_several();
	test_boundary();
	test_signal();
	test_state();
	test_thread();
	test_fail(&holder);
	test_lost(&holder);
	test_evict(&holder);
	test_multiplex(&holder);
	holder_end(&holder);
	return points_end();
}
