/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixed-width integer names and the cleanup attributes that every file uses. */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/addr.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ALIGN_UP(x, a) (((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a) - 1))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define __must_check __attribute__((warn_unused_result))
#define __maybe_unused __attribute__((unused))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Visible from outside when built as a library; everything else is hidden. */
#define __public __attribute__((visibility("default")))

/*
 * Cleanup by scope: `_cleanup_free_ char *s`, or for a type that has a NULL-safe
 * `foo_destroy(struct foo *)`: DEFINE_CLEANUP(struct foo *, foo_destroy) once, then
 * `_cleanup_(foo_destroy) struct foo *f = NULL`.
 */
#define _cleanup_(fn) __attribute__((cleanup(fn##_cleanup_)))
#define DEFINE_CLEANUP(type, fn)                                    \
	static inline __maybe_unused void fn##_cleanup_(type *p)    \
	{                                                           \
		if (*p)                                             \
			fn(*p);                                     \
	}

static inline void free_cleanup_(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ __attribute__((cleanup(free_cleanup_)))

/* Closes when >= 0 and keeps errno. */
static inline void close_cleanup_(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
#define _cleanup_close_ __attribute__((cleanup(close_cleanup_)))

/* Hands the pointer on and forgets it, so that a cleanup attribute does not free it. */
#define TAKE_PTR(p)                             \
	({                                      \
		__typeof__(p) taken_ = (p);     \
		(p) = NULL;                     \
		taken_;                         \
	})

#define TAKE_FD(fd)                  \
	({                           \
		int taken_ = (fd);   \
		(fd) = -1;           \
		taken_;              \
	})

#endif
