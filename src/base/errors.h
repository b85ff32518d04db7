/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What went wrong, in one negative errno. Failures with different remedies have different codes,
 * from the bottom to the user's terminal:
 *
 *   -EFAULT      memory that is not there: page not present, not mapped on the host, bad slot
 *   -EBADMSG     bad data: the bytes are there and make no sense
 *   -EOPNOTSUPP  well-formed, but of a kind that this program does not know
 *   -ENODATA     truncated: the data ends before what it promised
 *   -E2BIG       a limit of ours was reached; the data may be good
 *   -ENOENT      looked for and not found
 *
 * Any other value is what the system said (EPERM, ENOSPC, …).
 */
#ifndef BASE_ERRORS_H
#define BASE_ERRORS_H

#include <errno.h>

/* "bad data" and so on for the codes above, strerror() for the rest. @err may be negative. */
const char *error_text(int err);

#endif
