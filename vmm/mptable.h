/* SPDX-License-Identifier: GPL-2.0-only */
/* Processors and interrupts, by Intel's MultiProcessor Specification 1.4, as there is no ACPI. */
#ifndef VMM_MPTABLE_H
#define VMM_MPTABLE_H

#include "ram.h"

#define MPTABLE_MAX_CPUS 64

/* Writes it where a kernel looks for it. Processor N has APIC id N. */
int mptable_write(const struct memory *memory, unsigned int nr_cpus);

#endif
