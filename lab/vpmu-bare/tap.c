/* SPDX-License-Identifier: GPL-2.0-only */
/* The Test Anything Protocol on the first serial line. */
#include "guest.h"

#define SERIAL 0x3f8
#define MAX_TOLD 4	/* of one test point's failures */

static const char *point;
static unsigned int nr_points, nr_failures;

void say(const char *text)
{
	while (*text)
		outb(SERIAL, *text++);
}

static void say_hex(uint64_t value)
{
	char text[19] = "0x";
	unsigned int shift = 60, i = 2;

	while (shift && !(value >> shift))
		shift -= 4;
	for (;; shift -= 4) {
		text[i++] = "0123456789abcdef"[value >> shift & 15];
		if (!shift)
			break;
	}
	text[i] = '\0';
	say(text);
}

static void say_number(unsigned int value)
{
	char text[11];
	unsigned int i = sizeof(text) - 1;

	text[i] = '\0';
	do
		text[--i] = '0' + value % 10;
	while (value /= 10);
	say(text + i);
}

void begin(const char *name)
{
	point = name;
	nr_failures = 0;
}

void expect(uint64_t got, uint64_t want, const char *what, unsigned int line)
{
	if (got == want || nr_failures++ >= MAX_TOLD)
		return;
	say("# ");
	say_number(line);
	say(": ");
	say(what);
	say(" is ");
	say_hex(got);
	say(", not ");
	say_hex(want);
	say("\n");
}

static void say_point(bool ok, const char *name)
{
	say(ok ? "ok " : "not ok ");
	say_number(++nr_points);
	say(" - ");
	say(name);
}

void end(void)
{
	say_point(!nr_failures, point);
	say("\n");
}

void skip_point(const char *name, const char *why)
{
	say_point(true, name);
	say(" # SKIP ");
	say(why);
	say("\n");
}

void bail_out(const char *why, uint64_t first, uint64_t second)
{
	say("Bail out! ");
	say(point ? point : "start");
	say(": ");
	say(why);
	say(" ");
	say_hex(first);
	say(" ");
	say_hex(second);
	say("\n");
	machine_off();
}

void plan(void)
{
	say("1..");
	say_number(nr_points);
	say("\n");
}
