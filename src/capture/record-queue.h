/* SPDX-License-Identifier: GPL-2.0-only */
/* Wire records in order, each in one piece, in room that is there from the start. */
#ifndef CAPTURE_RECORD_QUEUE_H
#define CAPTURE_RECORD_QUEUE_H

#include "base/types.h"

struct record_queue {
	u8 *data;
	size_t size;		/* bytes of .data, a multiple of 8 */
	size_t head, tail;	/* offsets of the oldest record and of the place for the next */
	size_t nr;		/* records */
};

/* Room for @size bytes of records, a little less than that: 8 go with each. 0 or -ENOMEM. */
int record_queue_init(struct record_queue *queue, size_t size);
void record_queue_deinit(struct record_queue *queue);

/* Copies @record, @size > 0 bytes, to the end. False when there is no room for it now. */
bool record_queue_put(struct record_queue *queue, const void *record, size_t size);

/* The oldest record, 8-byte aligned, until it is dropped; NULL when there is none. */
const void *record_queue_first(struct record_queue *queue, size_t *ret_size);
void record_queue_drop(struct record_queue *queue);

#endif
