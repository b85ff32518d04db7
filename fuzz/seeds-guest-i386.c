/* SPDX-License-Identifier: GPL-2.0-only */
/* For each kind of page tables: no change, one in each part of memory, and another GDT. */
#include <stdio.h>

#include "build-i386.h"
#include "build.h"
#include "seeds.h"

#define GPA_OF(address) ((address) - 0xc0000000U)

static void put_change(struct strbuf *out, u32 gpa, const void *bytes, u8 size)
{
	put_u32(out, gpa);
	put_u8(out, size);
	strbuf_add(out, bytes, size);
}

static int write_seed(const char *name, u8 mode, u32 gdt, const u32 *places, size_t nr)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	char full[48];

	put_u8(&out, mode);
	put_u32(&out, gdt);
	for (size_t i = 0; i < nr; i++)
		put_change(&out, places[i], "\377\377\377\177", 4);
	snprintf(full, sizeof(full), "%s-%u", name, mode);
	return strbuf_error(&out) ?: seed_write(full, out.data, out.len);
}

int write_seeds(void)
{
	static const u32 image[] = {
		GPA_OF(BUILD_I386_TEXT + BUILD_I386_FUNCTION),
		GPA_OF(BUILD_I386_TEXT + BUILD_I386_BANNER + 14),
		GPA_OF(BUILD_I386_TEXT + BUILD_I386_NOTES),
		GPA_OF(BUILD_I386_TEXT + BUILD_I386_KALLSYMS + 100),
	};
	static const u32 tasks[] = {
		0x5000 + 27 * 8,	/* the GDT's entry */
		GPA_OF(BUILD_I386_PERCPU + BUILD_I386_CURRENT),
		GPA_OF(BUILD_I386_DATA + 0x1000 + BUILD_I386_LIST),
		GPA_OF(0xc1300000 + BUILD_I386_COMM),
		GPA_OF(0xc1302000 + BUILD_I386_PID),
		GPA_OF(BUILD_I386_STACKS),
	};
	int err = 0;

	for (u8 mode = 0; mode < 3 && !err; mode++) {
		err = write_seed("plain", mode, BUILD_I386_GDT, NULL, 0);
		err = err ?: write_seed("image", mode, BUILD_I386_GDT, image, ARRAY_SIZE(image));
		err = err ?: write_seed("tasks", mode, BUILD_I386_GDT, tasks, ARRAY_SIZE(tasks));
		for (size_t i = 0; i < ARRAY_SIZE(tasks) && !err; i++) {
			char name[16];

			snprintf(name, sizeof(name), "task-%zu", i);
			err = write_seed(name, mode, BUILD_I386_GDT, &tasks[i], 1);
		}
		err = err ?: write_seed("gdt", mode, 0xfffffff8, NULL, 0);
		err = err ?: write_seed("gdt-data", mode, BUILD_I386_STACKS - 27 * 8, NULL, 0);
	}
	return err;
}
