/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs share that look at a guest from its lab host: "PROGRAM PID ARGUMENT". */
#ifndef LAB_GUEST_OPEN_H
#define LAB_GUEST_OPEN_H

#include "guest/guest.h"
#include "vm/vm.h"

/* Identifies @guest by its vCPUs' registers, within a few seconds; says on stderr why it cannot. */
int guest_open_identify(struct vm_host *host, const struct vm *vm, struct guest *guest);

/* Looks at the guest; @argument is the program's. */
typedef int guest_open_fn(struct vm_host *host, const struct vm *vm, const char *argument);

/* main() of such a program: finds the VM of VMM PID. @argument is the second one, for the usage. */
int guest_open_main(int argc, char **argv, const char *argument, guest_open_fn *examine);

#endif
