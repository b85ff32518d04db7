/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * btf-members FILE: answers "STRUCT PATH" lines on standard input with the member's bit offset and
 * width, as FILE's BTF has them.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/errors.h"
#include "base/file.h"
#include "objfile/btf.h"

static void answer(const struct btf *btf, const char *name, const char *path)
{
	struct btf_member member = { 0 };
	u64 size;
	u32 type;
	int err = btf_find(btf, BTF_STRUCT, name, &type);

	if (!err)
		err = btf_size(btf, type, &size);
	if (!err)
		err = btf_find_member(btf, type, path, &member);
	if (err)
		printf("%s\n", error_text(err));
	else
		printf("%llu %u %u\n", (unsigned long long)size, member.bit_offset,
		       member.bit_size);
}

int main(int argc, char **argv)
{
	_cleanup_(btf_destroy) struct btf *btf = NULL;
	_cleanup_free_ char *data = NULL;
	char name[256], path[256];
	size_t size;
	int err;

	if (argc != 2)
		return 2;
	err = file_read(AT_FDCWD, argv[1], BTF_MAX_SIZE, &data, &size);
	if (!err)
		err = btf_create(data, size, &btf);
	if (err) {
		fprintf(stderr, "btf-members: %s: %s\n", argv[1], error_text(err));
		return 1;
	}
	while (scanf("%255s %255s", name, path) == 2)
		answer(btf, name, path);
	return 0;
}
