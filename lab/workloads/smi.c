// SPDX-License-Identifier: GPL-2.0-only
/*
 * System management interrupts, as fast as they come: the firmware runs beside the kernel.
 *
 *	_start
 *	  main
 *	    interrupt_firmware	writes to the port of the chipset that makes one
 *	      write_port
 *
 * Takes root, and a PC whose firmware has a handler. One piece of work is one interrupt.
 */
#include "rt.h"

#define APM_CONTROL 0xb2	/* ICH9's */
#define COMMAND 0x55		/* SeaBIOS' handler does not know it */
#define RDWR 2

static int port;

/* By the kernel: to programs that may write to ports themselves not every emulator lets them. */
TREE static void write_port(unsigned char value)
{
	must("write", sys(pwrite64, port, &value, 1, APM_CONTROL));
}

TREE static void interrupt_firmware(void)
{
	write_port(COMMAND);
}

int main(int argc, char **argv)
{
	work_start(argc, argv);
	port = must("/dev/port", sys(open, "/dev/port", RDWR, 0));
	for (;;) {
		interrupt_firmware();
		work_done(1);
	}
}
