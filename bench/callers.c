/* SPDX-License-Identifier: GPL-2.0-only */
#include "callers.h"

#include "base/hashmap.h"

typedef u64 (*call_fn)(u64 random, const struct callers *callers);

static __attribute__((noinline)) u64 call_small(u64 random, const struct callers *callers)
{
	return callers_call(random + 1, callers) ^ random;
}

static __attribute__((noinline)) u64 call_saved(u64 random, const struct callers *callers)
{
	u64 a = random * 3, b = random * 5, c = random * 7, d = random * 11;

	a += callers_call(a, callers);
	return (a ^ b) + (c ^ d) + b * c;
}

static __attribute__((noinline)) u64 call_large(u64 random, const struct callers *callers)
{
	volatile u64 locals[30];

	locals[random % ARRAY_SIZE(locals)] = random;
	return callers_call(random, callers) + locals[random % ARRAY_SIZE(locals)];
}

static __attribute__((noinline)) u64 call_variable(u64 random, const struct callers *callers)
{
	volatile u64 *locals = __builtin_alloca(8 * (random % 16 + 1));

	locals[0] = random;
	return callers_call(random, callers) + locals[0];
}

__attribute__((noinline)) u64 callers_call(u64 random, const struct callers *callers)
{
	static const call_fn fns[] = { call_small, call_saved, call_large, call_variable };
	char here;

	if (callers->top - &here > (ptrdiff_t)callers->bytes) {
		callers->leaf(callers->arg);
		return 0;
	}
	random = hash_u64(random);
	return fns[random % ARRAY_SIZE(fns)](random, callers) + 1;
}
