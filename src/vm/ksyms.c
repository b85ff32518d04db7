/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of a few host kernel symbols. */
#include "vm/ksyms.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static bool same_symbol(const char *found, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(found, name, len) && (!found[len] || found[len] == '.');
}

/* "ffffffffc0a31f20 t kvm_vcpu_release	[kvm]" */
static void match_line(char *line, struct ksym *syms, size_t nr)
{
	char *end, *name;
	u64 addr = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	name = end + 3;
	name[strcspn(name, "\t\n ")] = '\0';
	for (size_t i = 0; i < nr; i++)
		if (!syms[i].addr && same_symbol(name, syms[i].name))
			syms[i].addr = addr;
}

int ksyms_find(const struct proc *proc, struct ksym *syms, size_t nr)
{
	int fd = openat(proc->fd, "kallsyms", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *line = NULL;
	size_t alloc = 0;
	bool visible = false;
	FILE *file;

	if (fd < 0)
		return -errno;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (getline(&line, &alloc, file) > 0) {
		/* Hidden addresses all read as zero; some per-CPU symbols are zero anyway. */
		visible = visible || strtoull(line, NULL, 16);
		match_line(line, syms, nr);
	}
	fclose(file);
	return visible ? 0 : -EPERM;
}
