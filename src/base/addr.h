/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The address types. Three address spaces meet in this program and a mix-up is a silent bug, so
 * each has a type of its own that the compiler will not convert. Also included by BPF code.
 */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

/* Guest virtual: what the guest's registers, stacks and symbols hold. */
typedef struct {
	u64 addr;
} gva_t;

/* Guest physical: what the guest's page tables hold. */
typedef struct {
	u64 addr;
} gpa_t;

/* Host virtual, in the VMM's address space: where a memory slot maps guest physical memory. */
typedef struct {
	u64 addr;
} hva_t;

#define GVA(a) ((gva_t){ .addr = (a) })
#define GPA(a) ((gpa_t){ .addr = (a) })
#define HVA(a) ((hva_t){ .addr = (a) })

#endif
