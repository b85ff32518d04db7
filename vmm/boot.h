/* SPDX-License-Identifier: GPL-2.0-only */
/* Linux by its 64-bit boot protocol (Documentation/arch/x86/boot.rst), no firmware. */
#ifndef VMM_BOOT_H
#define VMM_BOOT_H

#include "ram.h"

struct boot_options {
	const char *kernel;	/* a bzImage */
	const char *initrd;	/* may be NULL */
	const char *cmdline;
	unsigned int nr_cpus;
};

/*
 * Puts kernel, initrd, boot parameters, page tables and the table of processors into @memory;
 * *@ret_entry is where the first vCPU begins. Negative errno; *@ret_why names what failed.
 */
int boot_load(const struct memory *memory, const struct boot_options *options, uint64_t *ret_entry,
	      const char **ret_why);

/* Sets the first vCPU's registers for that; the others wait for the guest to start them. */
int boot_set_registers(int vcpu_fd, uint64_t entry);

#endif
