/* SPDX-License-Identifier: GPL-2.0-only */
/* Builders of test inputs: bytes in code, shared by unit tests and fuzz seeds. */
#ifndef BUILD_BUILD_H
#define BUILD_BUILD_H

#include "base/strbuf.h"
#include "base/types.h"

void put_u8(struct strbuf *sb, u8 v);
void put_u16(struct strbuf *sb, u16 v);
void put_u32(struct strbuf *sb, u32 v);
void put_u64(struct strbuf *sb, u64 v);
void put_uleb128(struct strbuf *sb, u64 v);
void put_align(struct strbuf *sb, size_t align);

#endif
