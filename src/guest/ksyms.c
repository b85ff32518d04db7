/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list bpf_kallsyms of struct bpf_ksym: 5.7, ecb60d1c670e "bpf: Move lnode list node to struct
 * bpf_ksym".
 */
#include "guest/ksyms.h"

#include "guest/guest-private.h"

#define READS_PER_KSYM 4
#define MAX_CODE (16ULL << 20)	/* of one program; a JIT's limit is far below */

static bool is_sane(const struct guest_ksym *ksym)
{
	return (s64)ksym->start.addr < 0 && ksym->end.addr > ksym->start.addr &&
	       ksym->end.addr - ksym->start.addr <= MAX_CODE && ksym->name[0];
}

static int read_ksym(struct kread *k, const struct user_layout *layout, u64 address,
		     struct guest_ksym *ret)
{
	u32 size = MIN(layout->ksym_name_size, (u32)GUEST_KSYM_NAME_LEN);
	u64 start, end;
	int err = kread_u64(k, address + layout->ksym_start, &start);

	if (!err)
		err = kread_u64(k, address + layout->ksym_end, &end);
	if (!err)
		err = kread(k, address + layout->ksym_name, ret->name, size);
	if (err)
		return err;
	ret->name[size - 1] = '\0';
	ret->start = GVA(start);
	ret->end = GVA(end);
	return 0;
}

static bool is_known(const struct user_layout *layout)
{
	return layout->ksym_start != LAYOUT_NONE && layout->ksym_end != LAYOUT_NONE &&
	       layout->ksym_name != LAYOUT_NONE && layout->ksym_list != LAYOUT_NONE &&
	       layout->ksym_name_size;
}

int guest_for_each_bpf_symbol(const struct guest *guest, guest_ksym_fn *fn, void *ctx)
{
	u64 head = guest_place(guest, PLACE_BPF_KALLSYMS), at;
	const struct user_layout *layout;
	struct guest_view view;
	struct kread k;
	int err = guest_get_view(guest, &view);

	if (err)
		return err;
	layout = &view.layout->user;
	if (!head || !is_known(layout))
		return -EOPNOTSUPP;
	kread_init(&k, view.mem, &view.space, (u64)GUEST_MAX_KSYMS * 2 * READS_PER_KSYM);
	err = kread_u64(&k, head, &at);
	for (unsigned int i = 0; !err && at != head; i++) {
		struct guest_ksym ksym;

		if (i == GUEST_MAX_KSYMS)
			return -EBADMSG;
		err = read_ksym(&k, layout, at - layout->ksym_list, &ksym);
		if (!err)
			err = kread_u64(&k, at, &at);
		if (!err && is_sane(&ksym))
			err = fn(ctx, &ksym);
	}
	return err;
}
