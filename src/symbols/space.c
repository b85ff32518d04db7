/* SPDX-License-Identifier: GPL-2.0-only */
/* The mappings of one address space. */
#include "symbols/space.h"

#include <string.h>

void space_deinit(struct space *space)
{
	vec_deinit(&space->maps);
}

/* The first mapping that ends after @addr. */
static size_t first_after(const struct space *space, u64 addr)
{
	size_t low = 0, high = space->maps.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (space->maps.data[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

const struct map *space_find(const struct space *space, u64 ip)
{
	size_t i = first_after(space, ip);

	return i < space->maps.nr && space->maps.data[i].start <= ip ? &space->maps.data[i] : NULL;
}

void space_remove(struct space *space, u64 start)
{
	size_t i = first_after(space, start);
	struct map *maps = space->maps.data;

	if (i >= space->maps.nr || maps[i].start != start)
		return;
	memmove(&maps[i], &maps[i + 1], (space->maps.nr - i - 1) * sizeof(*maps));
	space->maps.nr--;
}

/* The part of @map that begins at @start. */
static struct map tail_of(const struct map *map, u64 start)
{
	struct map tail = *map;

	tail.pgoff += start - map->start;
	tail.start = start;
	return tail;
}

int space_insert(struct space *space, const struct map *map)
{
	size_t first = first_after(space, map->start), last = first, nr = 0;
	struct map parts[3], *maps;
	int err;

	if (map->end <= map->start)
		return 0;
	while (last < space->maps.nr && space->maps.data[last].start < map->end)
		last++;
	/* Two more at most: what is in the middle of an old one leaves two pieces of it. */
	err = vec_reserve(&space->maps, space->maps.nr + 2);
	if (err)
		return err;
	maps = space->maps.data;
	if (first < last && maps[first].start < map->start) {
		parts[nr] = maps[first];
		parts[nr++].end = map->start;
	}
	parts[nr++] = *map;
	if (first < last && maps[last - 1].end > map->end)
		parts[nr++] = tail_of(&maps[last - 1], map->end);
	memmove(maps + first + nr, maps + last, (space->maps.nr - last) * sizeof(*maps));
	memcpy(maps + first, parts, nr * sizeof(*maps));
	space->maps.nr += nr - (last - first);
	return 0;
}

int space_copy(struct space *space, const struct space *from)
{
	int err = 0;

	for (size_t i = 0; i < from->maps.nr && !err; i++)
		err = space_insert(space, &from->maps.data[i]);
	return err;
}
