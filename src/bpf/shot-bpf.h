/* SPDX-License-Identifier: GPL-2.0-only */
/* What shots need of their surroundings, inside BPF. Included by bpf/shot.h. */
#ifndef BPF_SHOT_BPF_H
#define BPF_SHOT_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/shared.h"

/* A global function: the verifier checks it once, whoever calls it. */
#define SHOT_FN __attribute__((noinline))
#define SHOT_INLINE static __always_inline

/*
 * One array of a single struct shot_vm for each VM, so that replacing it is one atomic step. By
 * size: libbpf does not find a type that only an inner map names.
 */
struct shot_vm_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct shot_vm));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CAPTURE_MAX_VMS);
	__type(key, u32);
	__array(values, struct shot_vm_map);
} vms SEC(".maps");

SHOT_INLINE const struct shot_vm *shot_vm_at(u32 index)
{
	void *map = bpf_map_lookup_elem(&vms, &index);
	u32 zero = 0;

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

SHOT_INLINE const struct shot_vm *shot_vm(const struct shot *shot)
{
	return shot_vm_at(shot->wire.vm);
}

/* The current task is the vCPU's thread: its user memory holds the guest's. */
SHOT_INLINE int shot_read_hva(const struct shot *shot, void *out, u32 size, u64 hva)
{
	(void)shot;
	return bpf_probe_read_user(out, size, (const void *)hva);
}

#define shot_read_hva_again shot_read_hva	/* nothing is kept in between */

/* Sets it to 0, as the helper does with what it could not read: no kernel memory is at 0. */
SHOT_INLINE void shot_clear(void *out, u32 size)
{
	bpf_probe_read_kernel(out, size, NULL);
}

SHOT_INLINE void shot_loop(u32 nr, long (*fn)(u32 i, void *arg), void *arg)
{
	bpf_loop(nr, fn, arg, 0);
}

#define shot_opaque(v) asm volatile("" : "+r"(v))

#ifndef NULL
#define NULL ((void *)0)
#endif

#endif
