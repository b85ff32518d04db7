/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's processors say, where KVM's say something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kvm.h>
#include <stdlib.h>
#include <string.h>

#include "build-vpmu.h"
#include "vmm/cpuid.h"

#define MAX_ENTRIES 16

struct table {
	struct kvm_cpuid2 *cpuid;
	struct build_vpmu b;
};

static void add(struct table *t, uint32_t function, uint32_t eax, uint32_t ebx, uint32_t ecx,
		uint32_t edx)
{
	assert_true(t->cpuid->nent + CPUID_MORE < MAX_ENTRIES);
	t->cpuid->entries[t->cpuid->nent++] = (struct kvm_cpuid_entry2){
		.function = function, .eax = eax, .ebx = ebx, .ecx = ecx, .edx = edx };
}

static int setup(void **state)
{
	static struct table table;
	struct table *t = &table;

	t->cpuid = calloc(1, sizeof(*t->cpuid) + MAX_ENTRIES * sizeof(t->cpuid->entries[0]));
	*state = t;
	return t->cpuid ? 0 : -1;
}

static int teardown(void **state)
{
	struct table *t = *state;

	free(t->cpuid);
	return 0;
}

/* As on hosts of AMD. */
static void fill_amd(struct table *t)
{
	add(t, 0, 7, 0x68747541, 0x444d4163, 0x69746e65);
	add(t, 1, 0x00a20f12, 0x05100800, 0x01, 0x10000001);
	add(t, 7, 0, 1, 2, 3);
	add(t, 0x40000001, 0x010028fb, 0, 0, 0);
	add(t, 0x80000000, 0x80000021, 0x68747541, 0x444d4163, 0x69746e65);
	add(t, 0x80000001, 0x00a20f12, 0x20000000, ~0U, ~0U);
	add(t, 0x80000008, 0x3030, 0x1000, 0xff0f, 0);
	add(t, 0x8000001e, 5, 6, 7, 0);
}

static void fill_intel(struct table *t)
{
	add(t, 0, 0x16, 0x756e6547, 0x6c65746e, 0x49656e69);
	add(t, 1, 0x00050654, 0x05100800, 0x01, 0x10000001);
	add(t, 0x80000000, 0x80000008, 0, 0, 0);
	add(t, 0x80000001, 0, 0, 0x121, 0x2c100800);
}

static void expect(const struct table *t, uint32_t function, uint32_t eax, uint32_t ebx,
		   uint32_t ecx, uint32_t edx)
{
	unsigned int nr = 0;

	for (uint32_t i = 0; i < t->cpuid->nent; i++) {
		const struct kvm_cpuid_entry2 *entry = &t->cpuid->entries[i];

		if (entry->function != function)
			continue;
		nr++;
		assert_int_equal(entry->eax, eax);
		assert_int_equal(entry->ebx, ebx);
		assert_int_equal(entry->ecx, ecx);
		assert_int_equal(entry->edx, edx);
	}
	assert_int_equal(nr, 1);
}

static void make(struct table *t, enum vpmu_model model)
{
	build_vpmu(&t->b, model);
	cpuid_make(t->cpuid, 3, true, t->b.vm);
	build_vpmu_deinit(&t->b);
}

/* The vCPU's own number, the hypervisor's bit, the timer's deadline; no package has two. */
static void test_plain(void **state)
{
	struct table *t = *state;

	fill_amd(t);
	cpuid_make(t->cpuid, 3, true, NULL);
	assert_int_equal(t->cpuid->nent, 8);
	expect(t, 0x40000001, 0x010028fb, 0, 0, 0);
	expect(t, 0, 7, 0x68747541, 0x444d4163, 0x69746e65);
	expect(t, 1, 0x00a20f12, 0x03010800, 0x81000001, 0x00000001);
	expect(t, 0x80000001, 0x00a20f12, 0x20000000, ~0U, ~0U);
	expect(t, 0x80000008, 0x3030, 0x1000, 0x0f00, 0);
	expect(t, 0x8000001e, 3, 3, 7, 0);
}

static void test_no_deadline(void **state)
{
	struct table *t = *state;

	fill_amd(t);
	cpuid_make(t->cpuid, 0, false, NULL);
	expect(t, 1, 0x00a20f12, 0x00010800, 0x80000001, 0x00000001);
}

/* A PMU of the host's vendor changes nothing but the PMU. */
static void test_same_vendor(void **state)
{
	struct table *t = *state;

	fill_amd(t);
	make(t, VPMU_AMD_V2);
	assert_int_equal(t->cpuid->nent, 9);
	expect(t, 0, 7, 0x68747541, 0x444d4163, 0x69746e65);
	expect(t, 1, 0x00a20f12, 0x03010800, 0x81000001, 0x00000001);
	expect(t, 0x40000001, 0x010028fb, 0, 0, 0);
	expect(t, 0x80000000, 0x80000022, 0x68747541, 0x444d4163, 0x69746e65);
	expect(t, 0x80000001, 0x00a20f12, 0x20000000, ~0x19000400U, ~0U);
	expect(t, 0x80000022, 1, 6, 0, 0);
}

static void test_intel_on_amd(void **state)
{
	struct table *t = *state;

	fill_amd(t);
	make(t, VPMU_INTEL_V2);
	assert_int_equal(t->cpuid->nent, 9);
	/* Steal time and the clock stay. */
	expect(t, 0x40000001, 0x0100007b, 0, 0, 0);
	expect(t, 0, 0xa, 0x756e6547, 0x6c65746e, 0x49656e69);
	expect(t, 1, 0x000f06f0, 0x03010800, 0x81008001, 0x00000001);
	expect(t, 7, 0, 1, 2, 3);
	expect(t, 0xa, 0x07300402, 0, 0, 3 | 48 << 5);
	expect(t, 0x80000000, 0x80000008, 0, 0, 0);
	expect(t, 0x80000001, 0, 0, 0x121, 0x2c100800);
}

static void test_intel_on_intel(void **state)
{
	struct table *t = *state;

	fill_intel(t);
	make(t, VPMU_INTEL_V2);
	expect(t, 0, 0x16, 0x756e6547, 0x6c65746e, 0x49656e69);
	expect(t, 1, 0x00050654, 0x03010800, 0x81008001, 0x00000001);
	expect(t, 0x80000000, 0x80000008, 0, 0, 0);
}

static void test_amd_on_intel(void **state)
{
	struct table *t = *state;

	fill_intel(t);
	make(t, VPMU_AMD_CORE);
	expect(t, 0, 0x16, 0x68747541, 0x444d4163, 0x69746e65);
	expect(t, 1, 0x00060fb1, 0x03010800, 0x81000001, 0x00000001);
	expect(t, 0x80000000, 0x80000008, 0x68747541, 0x444d4163, 0x69746e65);
	expect(t, 0x80000001, 0x00060fb1, 0, 0x00800121, 0x2c100800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_vendor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_intel_on_amd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_intel_on_intel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_amd_on_intel, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
