/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the ORC formats a table is in, when the types do not say or do not say enough. */
#ifndef GUEST_ORC_FIND_H
#define GUEST_ORC_FIND_H

#include "unwind/orc.h"

/*
 * The format in which the most of the @nr entries make sense, ORC_FORMAT_UNKNOWN when they do in
 * none. @hint, when it is not ORC_FORMAT_UNKNOWN, wins over equals.
 */
enum orc_format orc_guess_format(const void *entries, u32 nr, enum orc_format hint);

#endif
