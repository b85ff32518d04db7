/* SPDX-License-Identifier: GPL-2.0-only */
/* A 16550A serial port at 0x3f8, IRQ 4, whose output goes to stdout. Nothing is ever received. */
#ifndef VMM_SERIAL_H
#define VMM_SERIAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SERIAL_PORT 0x3f8
#define SERIAL_PORTS 8

struct serial {
	pthread_mutex_t lock;
	int vm_fd;		/* whose interrupt line it drives */
	uint8_t ier, lcr, mcr, scr, dll, dlm;
	bool fifo;
	bool empty;		/* "transmitter empty" is to be told */
	bool line;		/* of the interrupt, as last set */
};

void serial_init(struct serial *serial, int vm_fd);

/* Registers by their offset from SERIAL_PORT. Any thread may call them. */
void serial_write(struct serial *serial, unsigned int reg, uint8_t value);
uint8_t serial_read(struct serial *serial, unsigned int reg);

#endif
