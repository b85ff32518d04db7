/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof: the command table. */
#include <stdio.h>

int main(void)
{
	printf("kvmprof %s\n", KVMPROF_VERSION);
	return 0;
}
