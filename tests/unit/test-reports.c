/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of a report, of VMs and vCPUs whose sums are made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "count/reports.h"

#define MS 1000000ULL
#define NR 1

struct fixture {
	tally_vms vms;
	struct tally_vm a, b;
	struct tally_vcpu vcpus[4];	/* 0 to 2 are of a */
	struct tally_report report;
};

static void add(struct tally_vm *vm, struct tally_vcpu *vcpu, u32 id)
{
	vcpu->vcpu.id = id;
	assert_int_equal(progress_init(&vcpu->progress, NR), 0);
	assert_int_equal(vec_push(&vm->vcpus, vcpu), 0);
}

/* As far as a vCPU has come in @ms. */
static void set(struct tally_vcpu *vcpu, u64 ms)
{
	struct tally_sums *total = &vcpu->progress.total;

	total->known = TALLY_KNOWS_EXITS;
	total->followed = ms * MS;
	total->exits = 3 * ms;
	total->counts[0].value = 5 * ms;
	total->reasons.nr = 0;
	assert_int_equal(exit_reasons_add(&total->reasons, 1, 2, ms), 0);
	assert_int_equal(exit_reasons_add(&total->reasons, 7, 2, 2 * ms), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->a = (struct tally_vm){ .name = "a", .vmm = "qemu", .pid = 10 };
	f->b = (struct tally_vm){ .name = "b", .vmm = "other", .pid = 11 };
	vec_push(&f->vms, &f->a);
	vec_push(&f->vms, &f->b);
	add(&f->a, &f->vcpus[0], 0);
	add(&f->a, &f->vcpus[1], 1);
	add(&f->b, &f->vcpus[3], 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tally_report_deinit(&f->report);
	for (size_t i = 0; i < ARRAY_SIZE(f->vcpus); i++)
		progress_deinit(&f->vcpus[i].progress);
	vec_deinit(&f->a.vcpus);
	vec_deinit(&f->b.vcpus);
	vec_deinit(&f->vms);
	free(f);
	return 0;
}

static void make(struct fixture *f, bool interval, bool per_vcpu)
{
	tally_report_deinit(&f->report);
	assert_int_equal(tally_report_make(&f->vms, NR, interval, per_vcpu, &f->report), 0);
}

static void check_row(const struct fixture *f, size_t index, const char *name, s64 vcpu,
		      u32 nr_vcpus, u64 ms)
{
	const struct tally_row *row = &f->report.rows.data[index];

	assert_true(index < f->report.rows.nr);
	assert_string_equal(row->name, name);
	assert_int_equal(row->vcpu, vcpu);
	assert_int_equal(row->nr_vcpus, nr_vcpus);
	assert_int_equal(row->sums.followed, ms * MS);
	assert_int_equal(row->sums.exits, 3 * ms);
	assert_int_equal(row->sums.counts[0].value, 5 * ms);
	assert_int_equal(row->sums.reasons.nr, 2);
	/* The most frequent first. */
	assert_int_equal(row->sums.reasons.data[0].reason, 7);
	assert_int_equal(row->sums.reasons.data[0].nr, 2 * ms);
}

static void test_rows(void **state)
{
	struct fixture *f = *state;

	set(&f->vcpus[0], 1000);
	set(&f->vcpus[1], 300);
	set(&f->vcpus[3], 50);
	make(f, false, false);
	assert_int_equal(f->report.rows.nr, 2);
	check_row(f, 0, "a", -1, 2, 1300);
	check_row(f, 1, "b", -1, 1, 50);
	assert_int_equal(f->report.rows.data[1].pid, 11);
	assert_string_equal(f->report.rows.data[1].vmm, "other");
	make(f, false, true);
	assert_int_equal(f->report.rows.nr, 3);
	check_row(f, 0, "a", 0, 1, 1000);
	check_row(f, 1, "a", 1, 1, 300);
	check_row(f, 2, "b", 0, 1, 50);
}

/* Intervals are what came since the last, the sums are not touched by them. */
static void test_intervals(void **state)
{
	struct fixture *f = *state;

	set(&f->vcpus[0], 1000);
	set(&f->vcpus[1], 300);
	make(f, true, false);
	/* b has not begun. */
	assert_int_equal(f->report.rows.nr, 1);
	check_row(f, 0, "a", -1, 2, 1300);
	/* The second has gone: what it had stays in the sums. A third came. */
	set(&f->vcpus[0], 2000);
	add(&f->a, &f->vcpus[2], 2);
	set(&f->vcpus[2], 10);
	make(f, true, true);
	assert_int_equal(f->report.rows.nr, 2);
	check_row(f, 0, "a", 0, 1, 1000);
	check_row(f, 1, "a", 2, 1, 10);
	make(f, true, true);
	assert_int_equal(f->report.rows.nr, 0);
	make(f, false, false);
	check_row(f, 0, "a", -1, 3, 2310);
}

/* A vCPU that was unplugged and plugged in again: two lives, one row. */
static void test_two_lives(void **state)
{
	struct fixture *f = *state;

	set(&f->vcpus[0], 100);
	set(&f->vcpus[1], 40);
	add(&f->a, &f->vcpus[2], 1);
	set(&f->vcpus[2], 20);
	make(f, false, true);
	check_row(f, 0, "a", 0, 1, 100);
	check_row(f, 1, "a", 1, 2, 60);
	assert_int_equal(f->report.rows.data[2].pid, 11);
}

/* What is not known of one vCPU is not known of its VM, whichever came first. */
static void test_known(void **state)
{
	struct fixture *f = *state;

	set(&f->vcpus[0], 100);
	set(&f->vcpus[1], 40);
	f->vcpus[0].progress.total.known |= TALLY_KNOWS_HALT;
	make(f, false, false);
	assert_int_equal(f->report.rows.data[0].sums.known, TALLY_KNOWS_EXITS);
	make(f, false, true);
	assert_int_equal(f->report.rows.data[0].sums.known,
			 TALLY_KNOWS_EXITS | TALLY_KNOWS_HALT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rows), TEST(test_intervals), TEST(test_two_lives), TEST(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
