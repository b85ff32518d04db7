/* SPDX-License-Identifier: GPL-2.0-only */
/* Every type of the BTF is asked for its size, a member, an enumerator and its elements. */
#include "objfile/btf.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(btf_destroy) struct btf *btf = NULL;
	struct btf_member member;
	u64 bytes;
	s64 value;
	u32 a, b;

	if (btf_create(data, size, &btf))
		return 0;
	for (u32 id = 0; id <= btf_nr_types(btf) && id < 64; id++) {
		btf_size(btf, id, &bytes);
		btf_array(btf, id, &a, &b);
		btf_enum_value(btf, id, "MOD_TEXT", &value);
	}
	btf_find(btf, BTF_STRUCT, "task_struct", &a);
	for (u32 id = 1; id <= btf_nr_types(btf) && id < 4; id++)
		btf_find_member(btf, id, "list.next", &member);
	return 0;
}
