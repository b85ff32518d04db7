/* SPDX-License-Identifier: GPL-2.0-only */
/* Saving and restoring, cut off at every byte, with every bit changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "vpmu-access.h"


/* Values that the model takes, in as many registers as there are. */
static void fill(struct build_vpmu *b, unsigned int seed)
{
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	unsigned int nr = vpmu_vm_msrs(b->vm, ranges, VPMU_MAX_RANGES);

	for (unsigned int i = 0; i < nr; i++)
		for (uint32_t j = 0; j < ranges[i].nr; j++) {
			uint64_t value = (i + 1) * 0x1111 + j * 0x101 + seed;

			for (unsigned int bits = 16; bits; bits--)
				if (vpmu_wrmsr(b->vpmu, ranges[i].base + j,
					       value & (BIT(bits) - 1)) == VPMU_OK)
					break;
		}
}

static void compare(struct build_vpmu *a, struct build_vpmu *b)
{
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	unsigned int nr = vpmu_vm_msrs(a->vm, ranges, VPMU_MAX_RANGES);

	for (unsigned int i = 0; i < nr; i++)
		for (uint32_t j = 0; j < ranges[i].nr; j++) {
			uint64_t one = 0, two = 0;

			assert_int_equal(vpmu_rdmsr(a->vpmu, ranges[i].base + j, &one),
					 vpmu_rdmsr(b->vpmu, ranges[i].base + j, &two));
			assert_int_equal(one, two);
		}
}

static bool is_model(int model)
{
	return vpmu_model_name(model);
}

static void start(struct build_vpmu *b, int model)
{
	struct vpmu_vm_options options;

	build_vpmu_options(b, model, VPMU_SLOTS, &options);
	if (model == VPMU_AMD_V2 || (model >= VPMU_INTEL_V2 && model <= VPMU_INTEL_V5))
		options.geometry.flags |= VPMU_DEBUGCTL;
	build_vpmu_start(b, &options);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (int model = 0; model < 32; model++) {
		uint8_t saved[VPMU_STATE_MAX], again[VPMU_STATE_MAX];
		struct build_vpmu a, b;
		int size;

		if (!is_model(model))
			continue;
		start(&a, model);
		start(&b, model);
		fill(&a, 3);
		fill(&b, 8);
		size = vpmu_save(a.vpmu, saved, sizeof(saved));
		assert_in_range(size, 64, VPMU_STATE_MAX);
		assert_int_equal(vpmu_restore(b.vpmu, saved, size), 0);
		compare(&a, &b);
		assert_int_equal(vpmu_save(b.vpmu, again, sizeof(again)), size);
		assert_memory_equal(saved, again, size);
		/* Too small a buffer is left alone. */
		memset(again, 7, sizeof(again));
		assert_int_equal(vpmu_save(a.vpmu, again, size - 1), -ENOSPC);
		assert_int_equal(again[0], 7);
		build_vpmu_deinit(&a);
		build_vpmu_deinit(&b);
	}
}

/* A guest that moves in the middle of counting sees no difference. */
static void test_moves(void **state)
{
	uint8_t saved[VPMU_STATE_MAX];
	struct build_vpmu a, b;
	struct vpmu_pmi pmi;
	uint64_t value;
	int size;

	(void)state;
	build_vpmu(&a, VPMU_INTEL_V4);
	build_vpmu(&b, VPMU_INTEL_V4);
	assert_int_equal(vpmu_wrmsr(a.vpmu, 0x186, BIT(22) | BIT(20) | BIT(17) | 0xc0), VPMU_OK);
	assert_int_equal(vpmu_wrmsr(a.vpmu, 0x4c1, BIT(48) - 100), VPMU_OK);
	assert_int_equal(build_vpmu_run(&a, VPMU_EVENT_INSTRUCTIONS, 60), 0);
	size = vpmu_save(a.vpmu, saved, sizeof(saved));
	assert_int_equal(vpmu_restore(b.vpmu, saved, size), 0);
	assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 40), 1);
	assert_int_equal(vpmu_rdmsr(b.vpmu, 0xc1, &value), VPMU_OK);
	assert_int_equal(value, 0);
	/* With the interrupt pending. */
	size = vpmu_save(b.vpmu, saved, sizeof(saved));
	assert_int_equal(vpmu_restore(a.vpmu, saved, size), 0);
	vpmu_pmi(a.vpmu, 0x400, &pmi);
	assert_int_equal(pmi.kind, VPMU_PMI_NMI);
	build_vpmu_run(&a, VPMU_EVENT_INSTRUCTIONS, 5);
	assert_int_equal(vpmu_rdmsr(a.vpmu, 0xc1, &value), VPMU_OK);
	assert_int_equal(value, 5);
	build_vpmu_deinit(&a);
	build_vpmu_deinit(&b);
}

static void test_cut_off(void **state)
{
	uint8_t saved[VPMU_STATE_MAX], before[VPMU_STATE_MAX], after[VPMU_STATE_MAX];
	struct build_vpmu a, b;
	int size, same;

	(void)state;
	start(&a, VPMU_INTEL_V5);
	start(&b, VPMU_INTEL_V5);
	fill(&a, 3);
	fill(&b, 8);
	size = vpmu_save(a.vpmu, saved, sizeof(saved));
	same = vpmu_save(b.vpmu, before, sizeof(before));
	for (int cut = 0; cut < size; cut++) {
		/* A copy of just that size, for the sanitizer. */
		uint8_t *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, saved, cut);
		assert_int_equal(vpmu_restore(b.vpmu, copy, cut), -ENODATA);
		free(copy);
	}
	saved[size] = 0;
	assert_int_equal(vpmu_restore(b.vpmu, saved, size + 1), -EBADMSG);
	assert_int_equal(vpmu_save(b.vpmu, after, sizeof(after)), same);
	assert_memory_equal(before, after, same);
	build_vpmu_deinit(&a);
	build_vpmu_deinit(&b);
}

/* One bit changed: refused and nothing has happened, or a state that the guest could have made. */
static void test_each_bit(void **state)
{
	(void)state;
	for (int model = 0; model < 32; model++) {
		uint8_t saved[VPMU_STATE_MAX], again[VPMU_STATE_MAX];
		struct build_vpmu a;
		int size, refused = 0;

		if (!is_model(model))
			continue;
		start(&a, model);
		fill(&a, 3);
		size = vpmu_save(a.vpmu, saved, sizeof(saved));
		for (int bit = 0; bit < size * 8; bit++) {
			int err;

			saved[bit / 8] ^= 1 << bit % 8;
			err = vpmu_restore(a.vpmu, saved, size);
			if (!err) {
				assert_int_equal(vpmu_save(a.vpmu, again, sizeof(again)), size);
				assert_memory_equal(saved, again, size);
			} else {
				assert_true(err == -EBADMSG || err == -EOPNOTSUPP);
				refused++;
			}
			if (bit < 48 * 8)
				assert_true(err);	/* no bit of the header is free */
			saved[bit / 8] ^= 1 << bit % 8;
		}
		assert_true(refused > 48 * 8 + 64);
		build_vpmu_deinit(&a);
	}
}

static void test_other(void **state)
{
	uint8_t saved[VPMU_STATE_MAX];
	struct build_vpmu a, b;
	int size;

	(void)state;
	start(&a, VPMU_INTEL_V3);
	start(&b, VPMU_INTEL_V4);
	size = vpmu_save(a.vpmu, saved, sizeof(saved));
	assert_int_equal(vpmu_restore(b.vpmu, saved, size), -EOPNOTSUPP);
	saved[0]++;
	assert_int_equal(vpmu_restore(a.vpmu, saved, size), -EBADMSG);
	saved[0]--;
	saved[4]++;
	assert_int_equal(vpmu_restore(a.vpmu, saved, size), -EOPNOTSUPP);
	saved[4] = 0;
	assert_int_equal(vpmu_restore(a.vpmu, saved, size), -EBADMSG);
	saved[4] = 1;
	assert_int_equal(vpmu_restore(a.vpmu, saved, size), 0);
	assert_int_equal(vpmu_enter(a.vpmu, NULL), 0);
	assert_int_equal(vpmu_restore(a.vpmu, saved, size), -EBUSY);
	assert_int_equal(vpmu_save(a.vpmu, saved, sizeof(saved)), -EBUSY);
	vpmu_exit(a.vpmu, NULL);
	build_vpmu_deinit(&a);
	build_vpmu_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_each_bit),
		cmocka_unit_test(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
