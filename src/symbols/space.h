/* SPDX-License-Identifier: GPL-2.0-only */
/* The mappings of one address space as they are at one moment of a recording. */
#ifndef SYMBOLS_SPACE_H
#define SYMBOLS_SPACE_H

#include "base/types.h"
#include "base/vec.h"

struct map {
	u64 start, end;
	u64 pgoff;
	u32 dso;
	bool identity;	/* addresses of the object are those of the space */
};

struct space {
	VEC(struct map) maps;	/* by start; none overlaps another */
};

void space_deinit(struct space *space);

/* A new mapping; what it covers of others is gone. */
int space_insert(struct space *space, const struct map *map);

/* The mapping that starts at @start is gone, if there is one. */
void space_remove(struct space *space, u64 start);

/* All of @from besides what is there: a fork into an empty space. */
int space_copy(struct space *space, const struct space *from);

/* The mapping that covers @ip, or NULL. Valid until the next change. */
const struct map *space_find(const struct space *space, u64 ip);

/* What @ip is in the mapped object. */
static inline u64 map_address(const struct map *map, u64 ip)
{
	return map->identity ? ip : ip - map->start + map->pgoff;
}

#endif
