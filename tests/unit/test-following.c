/* SPDX-License-Identifier: GPL-2.0-only */
/* VMs and vCPUs that come and go while they are counted, on a host made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "build-counting.h"
#include "count/following.h"

#define MS 1000000ULL
#define NR BUILD_COUNTING_EVENTS

struct fixture {
	struct build_counting host;
	struct build_vm *vm;
	struct build_vcpu *vcpu;	/* 0 of it */
	struct following following;
};

static void start(struct fixture *f, struct following_choice choice)
{
	struct vm_list list = { VEC_INIT };

	following_init(&f->following, &f->host.reader, NR, &choice);
	assert_int_equal(f->host.reader.ops->scan(&f->host.reader, &list), 0);
	assert_int_equal(following_start(&f->following, &list), 0);
	vm_list_deinit(&list);
}

static int update(struct fixture *f)
{
	struct vm_list list = { VEC_INIT };
	int err;

	following_look(&f->following);
	assert_int_equal(f->host.reader.ops->scan(&f->host.reader, &list), 0);
	err = following_update(&f->following, &list);
	vm_list_deinit(&list);
	return err;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	build_counting_init(&f->host);
	f->vm = build_counting_add_vm(&f->host, 0);
	f->vcpu = build_counting_add_vcpu(f->vm, 0);
	return 0;
}

/* Whatever came: each thread that was started is stopped, and the map has nothing of it. */
static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->following.reader)
		assert_int_equal(following_read(&f->following), 0);
	following_deinit(&f->following);
	for (u32 i = 0; i < BUILD_COUNTING_MAX * BUILD_COUNTING_MAX; i++) {
		const struct build_vcpu *vcpu =
			&f->host.vms[i / BUILD_COUNTING_MAX].vcpus[i % BUILD_COUNTING_MAX];

		assert_int_equal(vcpu->starts, vcpu->stops);
		for (u32 r = 0; r < ARRAY_SIZE(vcpu->reasons); r++)
			assert_int_equal(vcpu->reasons[r], 0);
	}
	free(f);
	return 0;
}

static const struct tally_vm *vm_at(const struct fixture *f, size_t index)
{
	assert_true(index < f->following.vms.nr);
	return f->following.vms.data[index];
}

/* All that @ms of one vCPU come to, in the proportions of build-counting.h. */
static void check_total(const struct tally_vcpu *vcpu, u64 ms)
{
	const struct tally_sums *total = &vcpu->progress.total;

	assert_int_equal(total->followed, ms * MS);
	assert_int_equal(total->run, ms * BUILD_RUN);
	assert_int_equal(total->steal, ms * BUILD_STEAL);
	assert_int_equal(total->guest, ms * BUILD_GUEST);
	assert_int_equal(total->halt, ms * BUILD_HALT);
	assert_int_equal(total->poll, ms * BUILD_POLL);
	assert_int_equal(total->exits, ms * BUILD_EXITS);
	assert_int_equal(total->counts[1].value, 2 * ms);
	assert_int_equal(total->counts[1].counted, ms * MS);
	assert_int_equal(total->reasons.nr, ms ? 2 : 0);
}

static void test_late_vcpu(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *late;

	build_counting_pass(&f->host, 500);
	start(f, (struct following_choice){ 0 });
	build_counting_pass(&f->host, 1000);
	late = build_counting_add_vcpu(f->vm, 1);
	build_counting_pass(&f->host, 200);
	assert_int_equal(update(f), 0);
	assert_int_equal(late->starts, 1);
	build_counting_pass(&f->host, 300);
	assert_int_equal(following_read(&f->following), 0);
	assert_int_equal(vm_at(f, 0)->vcpus.nr, 2);
	check_total(vm_at(f, 0)->vcpus.data[0], 1500);
	/* From when it was found on, not from when it was plugged in. */
	check_total(vm_at(f, 0)->vcpus.data[1], 300);
}

/* A vCPU that is there but whose thread has never run yet is one for later. */
static void test_not_run_yet(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *late = build_counting_add_vcpu(f->vm, 1);
	pid_t tid = late->vcpu.tid;

	late->vcpu.tid = 0;
	start(f, (struct following_choice){ 0 });
	assert_int_equal(late->starts, 0);
	late->vcpu.tid = tid;
	assert_int_equal(update(f), 0);
	assert_int_equal(vm_at(f, 0)->vcpus.nr, 2);
	/* It is taken once. */
	assert_int_equal(update(f), 0);
	assert_int_equal(late->starts, 1);
}

static void test_vcpu_goes(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *other = build_counting_add_vcpu(f->vm, 1);

	start(f, (struct following_choice){ 0 });
	build_counting_pass(&f->host, 1000);
	following_look(&f->following);
	/* Its thread ends, and that is found half a second later. */
	other->ended = true;
	other->there = false;
	build_counting_pass(&f->host, 500);
	assert_int_equal(update(f), 0);
	assert_int_equal(other->stops, 1);
	assert_null(vm_at(f, 0)->vcpus.data[1]->thread);
	build_counting_pass(&f->host, 500);
	assert_int_equal(following_read(&f->following), 0);
	check_total(vm_at(f, 0)->vcpus.data[0], 2000);
	/* What it had is kept; that it was followed until it was missed is told as it is. */
	assert_int_equal(vm_at(f, 0)->vcpus.data[1]->progress.total.run, 1000 * BUILD_RUN);
	assert_int_equal(vm_at(f, 0)->vcpus.data[1]->progress.total.exits, 1000 * BUILD_EXITS);
	assert_int_equal(vm_at(f, 0)->vcpus.data[1]->progress.total.followed, 1500 * MS);
	assert_false(vm_at(f, 0)->gone);
}

/* The thread goes on with another vCPU: what was counted by its number is not counted twice. */
static void test_same_thread(void **state)
{
	struct fixture *f = *state;

	start(f, (struct following_choice){ 0 });
	build_counting_pass(&f->host, 1000);
	f->vcpu->vcpu.kvm_vcpu += 0x8000;
	assert_int_equal(update(f), 0);
	assert_int_equal(f->vcpu->stops, 1);
	assert_int_equal(f->vcpu->starts, 2);
	build_counting_pass(&f->host, 100);
	assert_int_equal(following_read(&f->following), 0);
	assert_int_equal(vm_at(f, 0)->vcpus.nr, 2);
	check_total(vm_at(f, 0)->vcpus.data[0], 1000);
	check_total(vm_at(f, 0)->vcpus.data[1], 100);
}

/* Exits that come while reasons are read stay in no map: the thread is counted no more by then. */
static void test_busy_goes(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *other = build_counting_add_vcpu(f->vm, 1);

	start(f, (struct following_choice){ 0 });
	build_counting_pass(&f->host, 1000);
	other->busy = true;
	other->there = false;
	assert_int_equal(update(f), 0);
	assert_int_equal(other->stops, 1);
	assert_int_equal(vm_at(f, 0)->vcpus.data[1]->progress.total.reasons.nr, 2);
	/* The number of its thread comes again, for another vCPU. */
	other->vcpu.kvm_vcpu += 0x8000;
	other->busy = false;
	other->there = true;
	assert_int_equal(update(f), 0);
	build_counting_pass(&f->host, 100);
	assert_int_equal(following_read(&f->following), 0);
	check_total(vm_at(f, 0)->vcpus.data[2], 100);
}

/* However many go, of however many VMs, the reasons are read once. */
static void test_many_go(void **state)
{
	struct fixture *f = *state;
	struct build_vm *other = build_counting_add_vm(&f->host, 1);
	struct build_vcpu *last = build_counting_add_vcpu(build_counting_add_vm(&f->host, 2), 0);

	for (u32 i = 0; i < BUILD_COUNTING_MAX; i++)
		build_counting_add_vcpu(other, i);
	build_counting_add_vcpu(&f->host.vms[2], 1);
	start(f, (struct following_choice){ .all = true });
	build_counting_pass(&f->host, 1000);
	f->vm->there = other->there = last->there = false;
	f->host.walks = 0;
	assert_int_equal(update(f), 0);
	assert_int_equal(f->host.walks, 1);
	assert_int_equal(following_nr_vms(&f->following), 1);
	for (u32 i = 0; i < BUILD_COUNTING_MAX; i++) {
		assert_int_equal(other->vcpus[i].stops, 1);
		check_total(vm_at(f, 1)->vcpus.data[i], 1000);
	}
	assert_int_equal(last->stops, 1);
	/* Nor are they read when none goes. */
	assert_int_equal(update(f), 0);
	assert_int_equal(f->host.walks, 1);
}

/* Those whose reasons could not be read are read again, and only then forgotten. */
static void test_reasons_fail(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *other = build_counting_add_vcpu(f->vm, 1);

	start(f, (struct following_choice){ 0 });
	build_counting_pass(&f->host, 1000);
	other->there = false;
	f->host.reasons_error = -EIO;
	assert_int_equal(update(f), -EIO);
	assert_int_equal(other->stops, 0);
	build_counting_pass(&f->host, 500);
	assert_int_equal(following_read(&f->following), -EIO);
	assert_int_equal(other->stops, 0);
	/* One that comes in its thread waits until it can be told from it. */
	other->vcpu.kvm_vcpu += 0x8000;
	other->there = true;
	assert_int_equal(update(f), -EIO);
	assert_int_equal(other->starts, 1);
	f->host.reasons_error = 0;
	other->vcpu.kvm_vcpu -= 0x8000;
	other->there = false;
	assert_int_equal(update(f), 0);
	assert_int_equal(other->stops, 1);
	assert_int_equal(following_read(&f->following), 0);
	check_total(vm_at(f, 0)->vcpus.data[0], 1500);
	check_total(vm_at(f, 0)->vcpus.data[1], 1000);
}

static void test_vms_of_all(void **state)
{
	struct fixture *f = *state;
	struct build_vm *late;

	start(f, (struct following_choice){ .all = true });
	build_counting_pass(&f->host, 1000);
	late = build_counting_add_vm(&f->host, 1);
	build_counting_add_vcpu(late, 0);
	build_counting_add_vcpu(late, 1);
	assert_int_equal(update(f), 0);
	assert_int_equal(following_nr_vms(&f->following), 2);
	build_counting_pass(&f->host, 500);
	following_look(&f->following);
	f->vm->there = false;
	f->vcpu->ended = true;
	build_counting_pass(&f->host, 100);
	assert_int_equal(update(f), 0);
	assert_int_equal(following_nr_vms(&f->following), 1);
	assert_true(vm_at(f, 0)->gone);
	assert_int_equal(vm_at(f, 0)->vcpus.data[0]->progress.total.exits, 1500 * BUILD_EXITS);
	assert_int_equal(following_read(&f->following), 0);
	check_total(vm_at(f, 1)->vcpus.data[0], 600);
	check_total(vm_at(f, 1)->vcpus.data[1], 600);

	/* One that starts again in the same process is another. */
	f->vm->kvm += 0x1000;
	f->vm->there = true;
	f->vcpu->ended = false;
	assert_int_equal(update(f), 0);
	assert_int_equal(following_nr_vms(&f->following), 2);
	assert_int_equal(f->following.vms.nr, 3);
}

/* Without -a the set of VMs is what it was at the start, that of vCPUs is not. */
static void test_vms_of_one(void **state)
{
	struct fixture *f = *state;

	start(f, (struct following_choice){ 0 });
	build_counting_add_vcpu(build_counting_add_vm(&f->host, 1), 0);
	assert_int_equal(update(f), 0);
	assert_int_equal(following_nr_vms(&f->following), 1);
	f->vm->there = false;
	assert_int_equal(update(f), 0);
	assert_int_equal(following_nr_vms(&f->following), 0);
}

static void test_unread_vm(void **state)
{
	struct fixture *f = *state;

	start(f, (struct following_choice){ 0 });
	build_counting_pass(&f->host, 1000);
	f->vm->unread = true;
	assert_int_equal(update(f), 0);
	assert_int_equal(following_nr_vms(&f->following), 1);
	assert_int_equal(f->vcpu->stops, 0);
	build_counting_pass(&f->host, 1000);
	f->vm->unread = false;
	assert_int_equal(update(f), 0);
	assert_int_equal(following_read(&f->following), 0);
	check_total(vm_at(f, 0)->vcpus.data[0], 2000);
}

/* A thread that ends between scan and start is none; any other error is told. */
static void test_start_fails(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *late = build_counting_add_vcpu(f->vm, 1);

	late->ended = true;
	start(f, (struct following_choice){ 0 });
	assert_int_equal(vm_at(f, 0)->vcpus.nr, 1);
	f->host.start_error = -EMFILE;
	assert_int_equal(update(f), -EMFILE);
	f->host.start_error = 0;
}

static void test_own_counters(void **state)
{
	struct fixture *f = *state;

	build_counting_add_vcpu(f->vm, 1)->own = (struct vm_vcpu_counters){ 2, 1, 10, 5 };
	f->vcpu->own = (struct vm_vcpu_counters){ 3, 2, 10, 10 };
	start(f, (struct following_choice){ 0 });
	following_look(&f->following);
	assert_int_equal(vm_at(f, 0)->own.nr, 5);
	assert_int_equal(vm_at(f, 0)->own.running, 15);
	assert_int_equal(vm_at(f, 0)->most_failed, 3);
	/* That they were lost for a time is remembered when they are there again, or gone. */
	f->vm->vcpus[1].own = (struct vm_vcpu_counters){ 0 };
	f->vcpu->own = (struct vm_vcpu_counters){ 0 };
	following_look(&f->following);
	assert_int_equal(vm_at(f, 0)->own.nr, 5);
	assert_int_equal(vm_at(f, 0)->most_failed, 3);
}

static void check_choice(struct fixture *f, struct following_choice choice, int want)
{
	struct following following;
	struct vm_list list = { VEC_INIT };
	const char *why = NULL;

	following_init(&following, &f->host.reader, NR, &choice);
	assert_int_equal(f->host.reader.ops->scan(&f->host.reader, &list), 0);
	assert_int_equal(following_check(&following, &list, &why), want);
	assert_true(!want || (why && *why));
	vm_list_deinit(&list);
	following_deinit(&following);
}

static void test_choices(void **state)
{
	struct fixture *f = *state;

	check_choice(f, (struct following_choice){ 0 }, 0);
	check_choice(f, (struct following_choice){ .name = "vm0" }, 0);
	check_choice(f, (struct following_choice){ .name = "vm1" }, -ENOENT);
	check_choice(f, (struct following_choice){ .pid = 7 }, -ENOENT);
	build_counting_add_vm(&f->host, 1);
	check_choice(f, (struct following_choice){ 0 }, -EEXIST);
	check_choice(f, (struct following_choice){ .pid = 1001 }, 0);
	check_choice(f, (struct following_choice){ .all = true }, 0);
	/* A process may have several; a name means one. */
	f->host.vms[1].pid = 1000;
	check_choice(f, (struct following_choice){ .pid = 1000 }, 0);
	snprintf(f->host.vms[1].name, VM_NAME_LEN, "vm0");
	check_choice(f, (struct following_choice){ .name = "vm0" }, -EEXIST);
	f->vm->there = f->host.vms[1].there = false;
	check_choice(f, (struct following_choice){ 0 }, -ENOENT);
	check_choice(f, (struct following_choice){ .all = true }, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_late_vcpu), TEST(test_not_run_yet), TEST(test_vcpu_goes),
		TEST(test_same_thread), TEST(test_busy_goes), TEST(test_many_go),
		TEST(test_reasons_fail), TEST(test_vms_of_all), TEST(test_vms_of_one),
		TEST(test_unread_vm), TEST(test_start_fails), TEST(test_own_counters),
		TEST(test_choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
