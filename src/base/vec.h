/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Typed growing arrays: `VEC(struct foo) foos = VEC_INIT;` then vec_push(&foos, foo), foos.data[i],
 * foos.nr, vec_deinit(&foos). Elements move when the array grows.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/types.h"

#define VEC(type)            \
	struct {             \
		type *data;  \
		size_t nr;   \
		size_t alloc; \
	}
#define VEC_INIT { NULL, 0, 0 }

/* Doubles *@data until it holds @need elements of @size bytes. 0 or -ENOMEM. */
int vec_reserve_raw(void **data, size_t *alloc, size_t need, size_t size);

#define vec_reserve(v, need) \
	vec_reserve_raw((void **)&(v)->data, &(v)->alloc, (need), sizeof(*(v)->data))

/* 0 or -ENOMEM, the array unchanged. */
#define vec_push(v, ...)                                            \
	({                                                          \
		int err_ = vec_reserve((v), (v)->nr + 1);           \
		if (!err_)                                          \
			(v)->data[(v)->nr++] = (__VA_ARGS__);       \
		err_;                                               \
	})

#define vec_deinit(v)                    \
	do {                             \
		free((v)->data);         \
		(v)->data = NULL;        \
		(v)->nr = (v)->alloc = 0; \
	} while (0)

#define vec_for_each(v, p) \
	for (__typeof__(&*(v)->data) p = (v)->data; (size_t)(p - (v)->data) < (v)->nr; p++)

#endif
