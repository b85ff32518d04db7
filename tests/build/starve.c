/* SPDX-License-Identifier: GPL-2.0-only */
/* Takes what there is, with the limit of the address space at what is in use. */
#include "starve.h"

#include <stdio.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN true
#elif defined(__has_feature)
#define WITH_ASAN __has_feature(address_sanitizer)
#else
#define WITH_ASAN false
#endif

#define LARGEST (1UL << 24)
#define SMALLEST 16UL

static struct rlimit before;
static void *hoard;	/* a list: each block begins with the next one's address */

static bool limit_memory(void)
{
	struct rlimit limit;
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "re");
	bool ok = file && fscanf(file, "%lu", &pages) == 1;

	if (file)
		fclose(file);
	if (!ok || getrlimit(RLIMIT_AS, &before))
		return false;
	limit = before;
	limit.rlim_cur = pages * sysconf(_SC_PAGESIZE);
	return !setrlimit(RLIMIT_AS, &limit);
}

bool starve_begin(void)
{
	/* ASan's malloc() ends the program instead. */
	if (WITH_ASAN || !limit_memory())
		return false;
	for (size_t size = LARGEST; size >= SMALLEST; size /= 2) {
		void **block;

		while ((block = malloc(size))) {
			*block = hoard;
			hoard = block;
		}
	}
	return true;
}

void starve_end(void)
{
	setrlimit(RLIMIT_AS, &before);
	while (hoard) {
		void *next = *(void **)hoard;

		free(hoard);
		hoard = next;
	}
}
