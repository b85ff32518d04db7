/* SPDX-License-Identifier: GPL-2.0-only */
/* Typed growing arrays. */
#include "base/vec.h"

int vec_reserve_raw(void **data, size_t *alloc, size_t need, size_t size)
{
	size_t want, bytes;
	void *grown;

	if (need <= *alloc)
		return 0;
	want = MAX(need, *alloc ? *alloc * 2 : 8);
	if (__builtin_mul_overflow(want, size, &bytes))
		return -ENOMEM;
	grown = realloc(*data, bytes);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*alloc = want;
	return 0;
}
