/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads and unloads a plugin every second: mappings that come and go.
 *
 *	main ── plugin_run (plugin.so) ── plugin_leaf
 *	                               ── called_back
 *
 * Usage: dlopen PLUGIN.so
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void called_back(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	puts("started");
	fflush(stdout);
	while (argc == 2) {
		void *plugin = dlopen(argv[1], RTLD_NOW);
		void (*run)(void (*)(void)) = plugin ? dlsym(plugin, "plugin_run") : NULL;
		time_t end = time(NULL) + 1;

		if (!run) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		while (time(NULL) < end)
			run(called_back);
		dlclose(plugin);
	}
	return 2;
}
