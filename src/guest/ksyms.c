/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists of code that the kernel made: bpf_kallsyms of struct bpf_ksym (5.7, ecb60d1c670e "bpf: Move
 * lnode list node to struct bpf_ksym"); ftrace_ops_trampoline_list of struct ftrace_ops (5.9,
 * fc0ea795f53c "ftrace: Add symbols for ftrace trampolines"); the pages of kprobe_insn_slots and
 * kprobe_optinsn_slots (with names since 5.9, d002b8bc6dbc "kprobes: Add symbols for kprobe insn
 * pages").
 */
#include "guest/ksyms.h"

#include <stdio.h>

#include "guest/guest-private.h"

#define READS_PER_KSYM 4
#define MAX_CODE (16ULL << 20)	/* of one program; a JIT's limit is far below */

typedef int read_fn(struct kread *k, const struct user_layout *layout, u64 address,
		    struct guest_ksym *ret);

#define AT(field) offsetof(struct user_layout, field)

struct list {
	enum build_place_id place;	/* of its head */
	const char *name;		/* of all; NULL: each has its own */
	read_fn *read;			/* all of an entry but that name */
	u32 link;			/* field of struct user_layout: where the next one is */
	u32 needs[3];			/* the others that are to be known; 0: no more */
};

static bool is_sane(const struct guest_ksym *ksym)
{
	return (s64)ksym->start.addr < 0 && ksym->end.addr > ksym->start.addr &&
	       ksym->end.addr - ksym->start.addr <= MAX_CODE && ksym->name[0];
}

static int read_bpf(struct kread *k, const struct user_layout *layout, u64 address,
		    struct guest_ksym *ret)
{
	u32 size = MIN(layout->ksym_name_size, (u32)GUEST_KSYM_NAME_LEN);
	u64 start, end;
	int err = size ? kread_u64(k, address + layout->ksym_start, &start) : -EOPNOTSUPP;

	if (!err)
		err = kread_u64(k, address + layout->ksym_end, &end);
	if (!err)
		err = kread(k, address + layout->ksym_name, ret->name, size);
	if (err)
		return err;
	ret->name[size - 1] = '\0';
	ret->start = GVA(start);
	ret->end = GVA(end);
	ret->bpf = true;
	return 0;
}

static int read_trampoline(struct kread *k, const struct user_layout *layout, u64 address,
			   struct guest_ksym *ret)
{
	u64 start, size;
	int err = kread_u64(k, address + layout->ftrace_trampoline, &start);

	if (!err)
		err = kread_u64(k, address + layout->ftrace_trampoline_size, &size);
	if (err)
		return err;
	ret->start = GVA(start);
	ret->end = GVA(start + size);
	return 0;
}

static int read_insn_page(struct kread *k, const struct user_layout *layout, u64 address,
			  struct guest_ksym *ret)
{
	u64 start;
	int err = kread_u64(k, address + layout->insn_page_code, &start);

	if (err)
		return err;
	ret->start = GVA(start);
	ret->end = GVA(start + mmu_page_bytes(&k->space));
	return 0;
}

static const struct list lists[] = {
	{ PLACE_BPF_KALLSYMS, NULL, read_bpf, AT(ksym_list),
	  { AT(ksym_start), AT(ksym_end), AT(ksym_name) } },
	{ PLACE_TRAMPOLINES, "ftrace_trampoline", read_trampoline, AT(ftrace_list),
	  { AT(ftrace_trampoline), AT(ftrace_trampoline_size) } },
	{ PLACE_KPROBE_PAGES, "kprobe_insn_page", read_insn_page, AT(insn_page_list),
	  { AT(insn_page_code) } },
	{ PLACE_OPTPROBE_PAGES, "kprobe_optinsn_page", read_insn_page, AT(insn_page_list),
	  { AT(insn_page_code) } },
};

static u32 field(const struct user_layout *layout, u32 at)
{
	return *(const u32 *)((const u8 *)layout + at);
}

static bool is_known(const struct user_layout *layout, const struct list *list)
{
	for (size_t i = 0; i < ARRAY_SIZE(list->needs) && list->needs[i]; i++)
		if (field(layout, list->needs[i]) == LAYOUT_NONE)
			return false;
	return field(layout, list->link) != LAYOUT_NONE;
}

struct walk {
	guest_ksym_fn *fn;
	void *ctx;
	int result;	/* what @fn ended the walk with; 0: it did not */
};

static int walk_entries(struct kread *k, const struct user_layout *layout, const struct list *list,
			u64 head, struct walk *walk)
{
	u64 at;
	int err = kread_u64(k, head, &at);

	for (unsigned int i = 0; !err && at != head; i++) {
		struct guest_ksym ksym = { .bpf = false };

		if (i == GUEST_MAX_KSYMS)
			return -EBADMSG;
		if (list->name)
			snprintf(ksym.name, sizeof(ksym.name), "%s", list->name);
		err = list->read(k, layout, at - field(layout, list->link), &ksym);
		if (!err)
			err = kread_u64(k, at, &at);
		if (!err && is_sane(&ksym))
			err = walk->result = walk->fn(walk->ctx, &ksym);
	}
	return err;
}

int guest_for_each_ksym(const struct guest *guest, guest_ksym_fn *fn, void *ctx)
{
	struct walk walk = { .fn = fn, .ctx = ctx };
	struct guest_view view;
	bool known = false;
	int err = guest_get_view(guest, &view), first = 0;

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(lists) && !walk.result; i++) {
		u64 head = guest_place(guest, lists[i].place);
		struct kread k;

		if (!head || !is_known(&view.layout->user, &lists[i]))
			continue;
		known = true;
		kread_init(&k, view.mem, &view.space, (u64)GUEST_MAX_KSYMS * 2 * READS_PER_KSYM);
		err = walk_entries(&k, &view.layout->user, &lists[i], head, &walk);
		first = first ? first : err;
	}
	return walk.result ? walk.result : known ? first : -EOPNOTSUPP;
}
