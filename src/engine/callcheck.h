/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a user-space return address follows a call in executable guest memory. The bytes are
 * read from the running guest after the sample, so a verdict is kept only for a while and a page
 * that is gone is no verdict.
 */
#ifndef ENGINE_CALLCHECK_H
#define ENGINE_CALLCHECK_H

#include "mem/reader.h"
#include "mmu/translate.h"

struct callcheck;

/* @mem must outlive it. */
int callcheck_create(const struct mem_reader *mem, struct callcheck **ret);
void callcheck_destroy(struct callcheck *check);

/* 0, -EBADMSG (no call there, or not executable) or -EFAULT. @now in ns, not going backwards. */
int callcheck_user(struct callcheck *check, const struct mmu_space *space, gva_t ret_addr, u64 now);

#endif
