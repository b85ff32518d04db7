/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For machines without a PMU: in a program that has this, libvpmu's hardware backend opens software
 * events (the thread's time) instead of hardware ones. All calls are those of the hardware's; in
 * the kernel they are cheaper by what the PMU's registers take, and nothing is read from mapped
 * pages.
 */
#ifndef BENCH_SOFTWARE_PMU_H
#define BENCH_SOFTWARE_PMU_H

/* Such an event of this thread, as the backend opens it. Negative errno. */
int software_pmu_open(void);

#endif
