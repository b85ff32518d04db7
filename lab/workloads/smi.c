// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls system management mode again and again, as an operating system asks firmware for ACPI: by a
 * write to port 0xb2. For guests of QEMU's q35 machine whose firmware has set that up (SeaBIOS).
 *
 *	_start
 *	  main
 *	    call_firmware ── outb: the firmware's handler interrupts it
 *
 * One piece of work is one call.
 */
#include "rt.h"

#define APM_CONTROL 0xb2
#define COMMAND 0x40	/* that means nothing to anyone */

TREE static void call_firmware(void)
{
	asm volatile("outb %b0, %w1" : : "a"(COMMAND), "d"(APM_CONTROL) : "memory");
}

int main(int argc, char **argv)
{
	work_start(argc, argv);
	must("ioperm", sys(ioperm, APM_CONTROL, 1, 1));
	for (;;) {
		call_firmware();
		work_done(1);
	}
}
