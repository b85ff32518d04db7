/* SPDX-License-Identifier: GPL-2.0-only */
/* The serial port as Linux' driver finds and uses it. The interrupt's line leads nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/serial_reg.h>
#include <stdio.h>

#include "vmm/serial.h"

static struct serial serial;

static int setup(void **state)
{
	(void)state;
	serial_init(&serial, -1);
	return 0;
}

/* The driver's looks at what chip it is. */
static void test_registers(void **state)
{
	(void)state;
	serial_write(&serial, UART_IER, 0xff);
	assert_int_equal(serial_read(&serial, UART_IER), 0x0f);
	serial_write(&serial, UART_IER, 0);
	assert_int_equal(serial_read(&serial, UART_IER), 0);
	serial_write(&serial, UART_LCR, UART_LCR_DLAB);
	serial_write(&serial, UART_DLL, 0x12);
	serial_write(&serial, UART_DLM, 0x34);
	assert_int_equal(serial_read(&serial, UART_DLL), 0x12);
	assert_int_equal(serial_read(&serial, UART_DLM), 0x34);
	serial_write(&serial, UART_LCR, 0x03);
	assert_int_equal(serial_read(&serial, UART_LCR), 0x03);
	assert_int_equal(serial_read(&serial, UART_IER), 0);
	assert_int_equal(serial_read(&serial, UART_RX), 0);
	serial_write(&serial, UART_SCR, 0xa5);
	assert_int_equal(serial_read(&serial, UART_SCR), 0xa5);
	serial_write(&serial, UART_FCR, UART_FCR_ENABLE_FIFO);
	assert_int_equal(serial_read(&serial, UART_IIR), 0xc0 | UART_IIR_NO_INT);
}

static void test_loopback(void **state)
{
	(void)state;
	serial_write(&serial, UART_MCR, UART_MCR_LOOP | 0x0a);
	assert_int_equal(serial_read(&serial, UART_MSR) & 0xf0, 0x90);
	assert_int_equal(serial_read(&serial, UART_MCR), UART_MCR_LOOP | 0x0a);
}

/* One interrupt for each time that it runs empty, taken back by reading what it was. */
static void test_interrupt(void **state)
{
	(void)state;
	assert_false(serial.line);
	serial_write(&serial, UART_IER, UART_IER_THRI);
	assert_true(serial.line);
	assert_int_equal(serial_read(&serial, UART_IIR), UART_IIR_THRI);
	assert_false(serial.line);
	assert_int_equal(serial_read(&serial, UART_IIR), UART_IIR_NO_INT);
	serial_write(&serial, UART_TX, '\n');
	assert_true(serial.line);
	assert_int_equal(serial_read(&serial, UART_LSR), UART_LSR_THRE | UART_LSR_TEMT);
	serial_write(&serial, UART_IER, 0);
	assert_false(serial.line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_registers, setup),
		cmocka_unit_test_setup(test_loopback, setup),
		cmocka_unit_test_setup(test_interrupt, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
