/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The saved state: little-endian words of 64 bits. What is restored is read whole and checked
 * before anything changes.
 */
#include <string.h>

#include "base/cursor.h"
#include "vpmu/counter.h"
#include "vpmu/vpmu-private.h"

#define MAGIC 0x756d7076ULL		/* "vpmu" */
#define VERSION 1U
#define HEADER_WORDS 6
#define REGISTER_WORDS 5
#define FLAG_PMI BIT(0)

_Static_assert((HEADER_WORDS + REGISTER_WORDS + 2 * VPMU_MAX_GP + VPMU_MAX_FIXED) * 8 <=
	       VPMU_STATE_MAX, "the largest state fits");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the state is little-endian");

/* What a state has besides its header. */
struct state {
	uint64_t fixed_control, global_control, global_status, debugctl, flags;
	uint64_t value[VPMU_SLOTS], select[VPMU_FIXED_SLOT];
};

static unsigned int nr_words(const struct vpmu_vm *vm)
{
	return HEADER_WORDS + REGISTER_WORDS + (unsigned int)__builtin_popcountll(vm->slots) +
	       vm->options.geometry.nr_gp;
}

/* Magic and version, length in bytes, then the geometry. */
static void fill_header(const struct vpmu_vm *vm, uint64_t words[HEADER_WORDS])
{
	const struct vpmu_geometry *geometry = &vm->options.geometry;

	words[0] = MAGIC | (uint64_t)VERSION << 32;
	words[1] = nr_words(vm) * sizeof(uint64_t);
	words[2] = geometry->model | (uint64_t)geometry->flags << 32;
	words[3] = geometry->nr_gp | (uint64_t)geometry->gp_width << 32;
	words[4] = geometry->fixed_mask | (uint64_t)geometry->fixed_width << 32;
	words[5] = geometry->arch_events;
}

int vpmu_save(const struct vpmu *vpmu, void *buffer, size_t size)
{
	uint64_t words[VPMU_STATE_MAX / sizeof(uint64_t)];
	unsigned int nr = HEADER_WORDS;

	if (vpmu->entered)
		return -EBUSY;
	if (size < nr_words(vpmu->vm) * sizeof(*words))
		return -ENOSPC;
	fill_header(vpmu->vm, words);
	words[nr++] = vpmu->fixed_control;
	words[nr++] = vpmu->global_control;
	words[nr++] = vpmu->global_status;
	words[nr++] = vpmu->debugctl;
	words[nr++] = vpmu->pmi ? FLAG_PMI : 0;
	FOR_EACH_SLOT(n, vpmu->vm->slots)
		words[nr++] = vpmu->slots[n].value;
	for (unsigned int i = 0; i < vpmu->vm->options.geometry.nr_gp; i++)
		words[nr++] = vpmu->slots[i].select;
	memcpy(buffer, words, nr * sizeof(*words));
	return (int)(nr * sizeof(*words));
}

static int read_header(const struct vpmu_vm *vm, struct cursor *c)
{
	uint64_t want[HEADER_WORDS], got[HEADER_WORDS];

	fill_header(vm, want);
	if (cursor_copy(c, got, sizeof(got)))
		return cursor_error(c);
	if ((uint32_t)got[0] != MAGIC || got[0] >> 32 == 0)
		return -EBADMSG;
	if (got[0] != want[0] || memcmp(&got[2], &want[2], sizeof(got) - 2 * sizeof(*got)))
		return -EOPNOTSUPP;
	return got[1] == want[1] ? 0 : -EBADMSG;
}

static void read_registers(const struct vpmu_vm *vm, struct cursor *c, struct state *state)
{
	state->fixed_control = cursor_u64(c);
	state->global_control = cursor_u64(c);
	state->global_status = cursor_u64(c);
	state->debugctl = cursor_u64(c);
	state->flags = cursor_u64(c);
	FOR_EACH_SLOT(n, vm->slots)
		state->value[n] = cursor_u64(c);
	for (unsigned int i = 0; i < vm->options.geometry.nr_gp; i++)
		state->select[i] = cursor_u64(c);
}

static bool valid(const struct vpmu_vm *vm, const struct state *state)
{
	const struct vpmu_geometry *geometry = &vm->options.geometry;
	uint64_t debugctl = geometry->flags & VPMU_DEBUGCTL ? DEBUGCTL_FREEZE : 0;
	struct register_bits bits;

	vm->model->bits(vm, &bits);
	if ((state->fixed_control & ~bits.fixed_control) ||
	    (state->global_control & ~bits.global_control) ||
	    (state->global_status & ~bits.global_status) || (state->debugctl & ~debugctl) ||
	    (state->flags & ~FLAG_PMI))
		return false;
	FOR_EACH_SLOT(n, vm->slots) {
		unsigned int width = n < VPMU_FIXED_SLOT ? geometry->gp_width :
							   geometry->fixed_width;

		if (state->value[n] & ~counter_mask(width))
			return false;
		if (n < VPMU_FIXED_SLOT && (state->select[n] & ~bits.select))
			return false;
	}
	return true;
}

static void apply(struct vpmu *vpmu, const struct state *state)
{
	vpmu_reset(vpmu);
	vpmu->fixed_control = state->fixed_control;
	vpmu->global_control = state->global_control;
	vpmu->global_status = state->global_status;
	vpmu->debugctl = state->debugctl;
	vpmu->pmi = state->flags & FLAG_PMI;
	FOR_EACH_SLOT(n, vpmu->vm->slots) {
		vpmu->slots[n].value = state->value[n];
		if (n < VPMU_FIXED_SLOT)
			vpmu->slots[n].select = state->select[n];
	}
}

int vpmu_restore(struct vpmu *vpmu, const void *buffer, size_t size)
{
	struct state state = { 0 };
	struct cursor c;
	int err;

	if (vpmu->entered)
		return -EBUSY;
	cursor_init(&c, buffer, size);
	err = read_header(vpmu->vm, &c);
	if (err)
		return err;
	read_registers(vpmu->vm, &c, &state);
	if (cursor_error(&c))
		return cursor_error(&c);
	if (cursor_left(&c) || !valid(vpmu->vm, &state))
		return -EBADMSG;
	apply(vpmu, &state);
	return 0;
}
