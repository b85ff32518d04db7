/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests that need known counts, in their order: for the guest and for a unit test. */
#include "model.h"

void test_simulated(void)
{
	test_counting();
	test_overflow();
	test_interrupt();
	test_freeze();
	test_rdpmc();
	test_filter();
	test_state();
	test_second();
}
