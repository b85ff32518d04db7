/* SPDX-License-Identifier: GPL-2.0-only */
/* Words for error codes. */
#include "base/errors.h"

#include <stdlib.h>
#include <string.h>

const char *error_text(int err)
{
	switch (abs(err)) {
	case EFAULT:
		return "memory not present";
	case EBADMSG:
		return "bad data";
	case EOPNOTSUPP:
		return "not supported";
	case ENODATA:
		return "truncated";
	case E2BIG:
		return "limit reached";
	case ENOENT:
		return "not found";
	default:
		return strerror(abs(err));
	}
}
