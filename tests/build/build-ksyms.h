/* SPDX-License-Identifier: GPL-2.0-only */
/* The lists of code that a guest's kernel made itself, in a guest of build-process.h. */
#ifndef BUILD_KSYMS_H
#define BUILD_KSYMS_H

#include "build-process.h"

#define BUILD_KSYMS_BPF 4		/* programs "bpf_prog_6deef7357e7b4530_p<i>" */
#define BUILD_KSYMS_OTHERS 4		/* two trampolines, a page of each kind of probe */
#define BUILD_KSYMS_BPF_CODE 0xffffffffc0100000ULL	/* each a page after the one before */
#define BUILD_KSYMS_BPF_SIZE 0x80
#define BUILD_KSYMS_TRAMPOLINES 0xffffffffc0200000ULL
#define BUILD_KSYMS_TRAMPOLINE_SIZE 0xb3
#define BUILD_KSYMS_PAGES 0xffffffffc0300000ULL

struct build_ksyms {
	u64 bpf_head;
	u64 bpf[BUILD_KSYMS_BPF];	/* struct bpf_ksym */
	u64 ops[2];			/* struct ftrace_ops */
	u64 pages[2];			/* struct kprobe_insn_page: of probes, of optimised ones */
};

void build_ksyms_init(struct build_ksyms *ksyms, struct build_process *p);

#endif
