/* SPDX-License-Identifier: GPL-2.0-only */
#include "build-ksyms.h"

#include <stdio.h>

static u64 variables(const struct build_process *p)
{
	return p->g->start + BUILD_GUEST_VARIABLES;
}

static void add_bpf(struct build_ksyms *ksyms, struct build_process *p)
{
	u64 place = ksyms->bpf_head = variables(p) + BUILD_GUEST_BPF_KALLSYMS;

	for (u32 i = 0; i < ARRAY_SIZE(ksyms->bpf); i++) {
		u64 ksym = ksyms->bpf[i] = build_object(p, BUILD_KSYM_BYTES, 64);
		u64 code = BUILD_KSYMS_BPF_CODE + i * 0x1000;
		char name[64];

		snprintf(name, sizeof(name), "bpf_prog_6deef7357e7b4530_p%u", i);
		build_guest_poke(p->g, ksym + BUILD_KSYM_NAME, name, sizeof(name));
		build_set(p, ksym, code);
		build_set(p, ksym + 8, code + BUILD_KSYMS_BPF_SIZE);
		build_list_add(p, &place, ksym + BUILD_KSYM_LIST);
	}
	build_list_add(p, &place, ksyms->bpf_head);
}

static void add_trampolines(struct build_ksyms *ksyms, struct build_process *p)
{
	u64 head = variables(p) + BUILD_GUEST_TRAMPOLINES, place = head;

	for (u32 i = 0; i < ARRAY_SIZE(ksyms->ops); i++) {
		u64 ops = ksyms->ops[i] = build_object(p, BUILD_OPS_BYTES, 64);

		build_set(p, ops + BUILD_OPS_TRAMPOLINE, BUILD_KSYMS_TRAMPOLINES + i * 0x1000);
		build_set(p, ops + BUILD_OPS_SIZE, BUILD_KSYMS_TRAMPOLINE_SIZE);
		build_list_add(p, &place, ops + BUILD_OPS_LIST);
	}
	build_list_add(p, &place, head);
}

/* One page in each of the two caches. */
static void add_pages(struct build_ksyms *ksyms, struct build_process *p)
{
	static const u32 caches[] = { BUILD_GUEST_KPROBE_SLOTS, BUILD_GUEST_OPTPROBE_SLOTS };

	for (u32 i = 0; i < ARRAY_SIZE(ksyms->pages); i++) {
		u64 head = variables(p) + caches[i] + BUILD_INSN_CACHE_PAGES, place = head;
		u64 page = ksyms->pages[i] = build_object(p, BUILD_INSN_PAGE_BYTES, 64);

		build_set(p, page + BUILD_INSN_PAGE_CODE, BUILD_KSYMS_PAGES + i * 0x1000);
		build_list_add(p, &place, page + BUILD_INSN_PAGE_LIST);
		build_list_add(p, &place, head);
	}
}

void build_ksyms_init(struct build_ksyms *ksyms, struct build_process *p)
{
	add_bpf(ksyms, p);
	add_trampolines(ksyms, p);
	add_pages(ksyms, p);
}
