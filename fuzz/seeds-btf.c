/* SPDX-License-Identifier: GPL-2.0-only */
/* One of each kind of type, in both byte orders. */
#include "build-btf.h"
#include "seeds.h"

static int write_seed(const char *name, bool swap)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct build_btf b;
	u32 number, list;
	int err;

	build_btf_init(&b);
	b.swap = swap;
	number = build_btf_int(&b, "int", 4, 32, 0);
	list = build_btf_struct(&b, BTF_STRUCT, "list_head", 8,
				(struct build_btf_member[]){ { "next", number, 0, 0 },
							     { "bits", number, 32, 5 } }, 2);
	build_btf_struct(&b, BTF_STRUCT, "task_struct", 16,
			 (struct build_btf_member[]){ { NULL, list, 0, 0 },
						      { "list", list, 64, 0 } }, 2);
	build_btf_array(&b, build_btf_ref(&b, BTF_TYPEDEF, "list_t", list), 4);
	build_btf_enum(&b, "e", (struct build_btf_enumerator[]){ { "MOD_TEXT", 1 } }, 1, false);
	build_btf_enum(&b, "e", (struct build_btf_enumerator[]){ { "MOD_TEXT", 1 } }, 1, true);
	build_btf_ref(&b, BTF_PTR, NULL, list);
	build_btf_finish(&b, &out);
	err = strbuf_error(&out) ?: seed_write(name, out.data, out.len);
	build_btf_deinit(&b);
	return err;
}

int write_seeds(void)
{
	int err = write_seed("little", false);

	return err ?: write_seed("big", true);
}
