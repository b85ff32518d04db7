/* SPDX-License-Identifier: GPL-2.0-only */
/* What dlopen.c loads while it runs: plugin_run ── plugin_leaf. */
#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;

NOINLINE static void plugin_leaf(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sink += i * i;
}

void plugin_run(void (*callback)(void));

__attribute__((visibility("default"))) NOINLINE void plugin_run(void (*callback)(void))
{
	plugin_leaf(200000);
	callback();
	sink++;
}
