/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shots of guests that lie in every byte. The input is the registers, what is known of the kernel,
 * and guest memory from address 0 on. Beside not crashing: the record holds together and work is
 * bounded.
 */
#include <string.h>

#include "capture/user-shot.h"
#include "model/sample.h"

/* 512 frames, 3 stacks of 5 pages, each with walks, and a few reads for the task. */
#define MAX_READS 4096

struct header {
	struct vcpu_regs regs;
	struct wire_guest guest;
	u64 percpu;
	u32 max_depth;
	u32 memory_hole;	/* page that the host does not have */
};

struct memory {
	struct shot_env env;
	const u8 *data;
	size_t size;
	u32 hole;
	unsigned int reads;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int read_memory(struct shot_env *env, u64 hva, void *out, u32 size, bool again)
{
	struct memory *memory = container_of(env, struct memory, env);

	(void)again;
	require(++memory->reads < MAX_READS);
	if (hva > memory->size || size > memory->size - hva || hva / SHOT_PAGE == memory->hole)
		return -EFAULT;
	memcpy(out, memory->data + hva, size);
	return 0;
}

/* Only a user stack has holes, they hold nothing of any memory, and it does not end with one. */
static void check_holes(const struct wire_sample *wire, const struct wire_stack *stack)
{
	const u8 *bytes = (const u8 *)wire + stack->offset;

	require(!stack->holes || (stack->kind == WIRE_STACK_USER && stack->size));
	for (u32 i = 0; stack->holes && i < stack->size; i++)
		require(!bytes[i] || !wire_stack_in_hole(stack, i, 1));
	require(!stack->holes || !wire_stack_in_hole(stack, stack->size - 1, 1));
	require(stack->holes >> ((stack->gva % SHOT_PAGE + stack->size) / SHOT_PAGE + 1) == 0);
}

static void check(const struct shot *shot, const struct header *header)
{
	const struct wire_sample *wire = &shot->wire;
	struct sample sample;
	u64 user_bytes = 0;

	require(!sample_init(&sample, wire, wire->size));
	require(wire->size <= sizeof(*wire) + SHOT_DATA_BYTES);
	require(wire->nr_user_frames <= header->max_depth);
	require(wire->user_stop < STOP_NR);
	for (unsigned int i = 0; i < wire->nr_stacks; i++) {
		require(wire->stacks[i].stop != STOP_NONE && wire->stacks[i].stop < STOP_NR);
		require(wire->stacks[i].kind == WIRE_STACK_USER ?
				wire->stacks[i].gva >> 56 == 0 :
				wire->stacks[i].gva >= header->guest.kernel_start);
		check_holes(wire, &wire->stacks[i]);
		user_bytes += wire->stacks[i].kind == WIRE_STACK_USER ? wire->stacks[i].size : 0;
	}
	require(user_bytes <= MIN(shot->user_stack, WIRE_MAX_STACK_BYTES + 0U));
	for (unsigned int i = 0; i < wire->nr_user_frames; i++)
		require(sample.user_frames[i] >> 56 == 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct shot shot;
	static struct shot_vm vm;
	struct memory memory = { .env = { read_memory, &vm } };
	struct header header;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	memory.data = data + sizeof(header);
	memory.size = size - sizeof(header);
	memory.hole = header.memory_hole;
	vm.guest = header.guest;
	vm.slots.nr = 1;
	vm.slots.slots[0] = (struct mem_slot){ .size = memory.size };
	user_shot_begin(&shot, &memory.env);
	shot.wire.regs = header.regs;
	shot.percpu = header.percpu;
	shot.max_depth = header.max_depth;
	shot.user_stack = header.max_depth * 64;
	user_shot_take(&shot, true);
	check(&shot, &header);
	return 0;
}
