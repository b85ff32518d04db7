/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a 16550A that Linux' 8250 driver uses. */
#include "serial.h"

#include <linux/kvm.h>
#include <linux/serial_reg.h>
#include <stdio.h>
#include <sys/ioctl.h>

#define IRQ 4

static void set_line(struct serial *serial, bool on)
{
	struct kvm_irq_level level = { .irq = IRQ, .level = on };

	if (serial->line == on)
		return;
	serial->line = on;
	if (ioctl(serial->vm_fd, KVM_IRQ_LINE, &level))
		perror("kvmprof-vmm: KVM_IRQ_LINE");
}

static void update_line(struct serial *serial)
{
	set_line(serial, serial->empty && serial->ier & UART_IER_THRI);
}

void serial_init(struct serial *serial, int vm_fd)
{
	*serial = (struct serial){ .vm_fd = vm_fd, .dll = 1 };
	pthread_mutex_init(&serial->lock, NULL);
}

static void transmit(struct serial *serial, uint8_t value)
{
	putchar(value);
	if (value == '\n')
		fflush(stdout);
	serial->empty = true;
}

static void write_register(struct serial *serial, unsigned int reg, uint8_t value)
{
	bool divisor = serial->lcr & UART_LCR_DLAB;

	switch (reg) {
	case UART_TX:
		if (divisor)
			serial->dll = value;
		else
			transmit(serial, value);
		break;
	case UART_IER:
		if (divisor) {
			serial->dlm = value;
			break;
		}
		/* To enable it while the transmitter is empty is to be told so. */
		if (value & UART_IER_THRI && !(serial->ier & UART_IER_THRI))
			serial->empty = true;
		serial->ier = value & 0x0f;
		break;
	case UART_FCR:
		serial->fifo = value & UART_FCR_ENABLE_FIFO;
		break;
	case UART_LCR:
		serial->lcr = value;
		break;
	case UART_MCR:
		serial->mcr = value & 0x1f;
		break;
	case UART_SCR:
		serial->scr = value;
		break;
	}
}

void serial_write(struct serial *serial, unsigned int reg, uint8_t value)
{
	pthread_mutex_lock(&serial->lock);
	write_register(serial, reg, value);
	update_line(serial);
	pthread_mutex_unlock(&serial->lock);
}

/* Reading it takes the interrupt back. */
static uint8_t read_iir(struct serial *serial)
{
	uint8_t value = UART_IIR_NO_INT;

	if (serial->empty && serial->ier & UART_IER_THRI) {
		value = UART_IIR_THRI;
		serial->empty = false;
	}
	return value | (serial->fifo ? 0xc0 : 0);
}

/* In loopback mode the modem's lines are its own: RTS, DTR, OUT1, OUT2 come back. */
static uint8_t read_msr(const struct serial *serial)
{
	uint8_t mcr = serial->mcr;

	if (!(mcr & UART_MCR_LOOP))
		return UART_MSR_DCD | UART_MSR_DSR | UART_MSR_CTS;
	return (mcr & UART_MCR_RTS ? UART_MSR_CTS : 0) | (mcr & UART_MCR_DTR ? UART_MSR_DSR : 0) |
	       (mcr & UART_MCR_OUT1 ? UART_MSR_RI : 0) | (mcr & UART_MCR_OUT2 ? UART_MSR_DCD : 0);
}

static uint8_t read_register(struct serial *serial, unsigned int reg)
{
	bool divisor = serial->lcr & UART_LCR_DLAB;

	switch (reg) {
	case UART_RX:
		return divisor ? serial->dll : 0;
	case UART_IER:
		return divisor ? serial->dlm : serial->ier;
	case UART_IIR:
		return read_iir(serial);
	case UART_LCR:
		return serial->lcr;
	case UART_MCR:
		return serial->mcr;
	case UART_LSR:
		return UART_LSR_THRE | UART_LSR_TEMT;
	case UART_MSR:
		return read_msr(serial);
	default:
		return serial->scr;
	}
}

uint8_t serial_read(struct serial *serial, unsigned int reg)
{
	uint8_t value;

	pthread_mutex_lock(&serial->lock);
	value = read_register(serial, reg);
	update_line(serial);
	pthread_mutex_unlock(&serial->lock);
	return value;
}
