/* SPDX-License-Identifier: GPL-2.0-only */
#include "guest-open.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/errors.h"

#define TRIES 50
#define PAUSE_US 100000

/* The vCPU's kernel registers may be from before a context switch: several tries. */
int guest_open_identify(struct vm_host *host, const struct vm *vm, struct guest *guest)
{
	const char *why = "it has no vCPU that ran";
	int err = -ENOENT;

	for (unsigned int tries = 0; err && tries < TRIES; tries++) {
		for (size_t i = 0; err && i < vm->vcpus.nr; i++) {
			struct vcpu_regs regs;

			err = vm_host_peek_regs(host, &vm->vcpus.data[i], &regs);
			if (!err)
				err = guest_identify(guest, &regs, &why);
		}
		if (err)
			usleep(PAUSE_US);
	}
	if (err)
		fprintf(stderr, "%s: %s\n", why, error_text(err));
	return err;
}

int guest_open_main(int argc, char **argv, const char *argument, guest_open_fn *examine)
{
	struct vm_host *host = NULL;
	struct vm_list list = { 0 };
	const char *why = "";
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: %s PID %s\n", argv[0], argument);
		return 2;
	}
	err = vm_host_open(&host, &why);
	if (!err)
		err = vm_host_scan(host, atoi(argv[1]), &list);
	if (!err && !list.vms.nr)
		err = -ENOENT;
	if (!err)
		err = examine(host, list.vms.data[0], argv[2]);
	if (err)
		fprintf(stderr, "%s: %s %s\n", argv[0], error_text(err), why ? why : "");
	vm_list_deinit(&list);
	vm_host_close(host);
	return err ? 1 : 0;
}
