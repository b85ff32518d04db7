/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring. Before each record stands its size; 0 there, or no room for a size, says that it goes on
 * at the start.
 */
#include "capture/record-queue.h"

#include <errno.h>
#include <string.h>

#define WORD sizeof(u64)

static size_t place_size(size_t size)
{
	return WORD + (size + WORD - 1) / WORD * WORD;
}

int record_queue_init(struct record_queue *queue, size_t size)
{
	size = size / WORD * WORD;
	*queue = (struct record_queue){ .data = malloc(MAX(size, WORD)), .size = size };
	return queue->data ? 0 : -ENOMEM;
}

void record_queue_deinit(struct record_queue *queue)
{
	free(queue->data);
	*queue = (struct record_queue){ 0 };
}

/* Moves .tail to where @need bytes are free, if they are anywhere. */
static bool find_room(struct record_queue *queue, size_t need)
{
	u64 wrap = 0;

	if (!queue->nr)
		queue->head = queue->tail = 0;
	if (queue->nr && queue->tail <= queue->head)
		return need <= queue->head - queue->tail;
	if (need <= queue->size - queue->tail)
		return true;
	if (!queue->nr || need > queue->head)
		return false;
	if (queue->tail < queue->size)
		memcpy(queue->data + queue->tail, &wrap, WORD);
	queue->tail = 0;
	return true;
}

bool record_queue_put(struct record_queue *queue, const void *record, size_t size)
{
	u64 stored = size;

	if (size > queue->size || !find_room(queue, place_size(size)))
		return false;
	memcpy(queue->data + queue->tail, &stored, WORD);
	memcpy(queue->data + queue->tail + WORD, record, size);
	queue->tail += place_size(size);
	queue->nr++;
	return true;
}

const void *record_queue_first(struct record_queue *queue, size_t *ret_size)
{
	u64 size = 0;

	if (!queue->nr)
		return NULL;
	if (queue->head < queue->size)
		memcpy(&size, queue->data + queue->head, WORD);
	if (!size) {
		queue->head = 0;
		memcpy(&size, queue->data, WORD);
	}
	*ret_size = size;
	return queue->data + queue->head + WORD;
}

void record_queue_drop(struct record_queue *queue)
{
	size_t size;

	if (!record_queue_first(queue, &size))
		return;
	queue->head += place_size(size);
	queue->nr--;
}
