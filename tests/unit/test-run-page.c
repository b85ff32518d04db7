/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking KVM for the registers in kvm_run, with others who write there. The VMM is ourselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kvm.h>

#include "bpf/regs-run.h"
#include "capture/backend.h"

#define EVENTS KVM_SYNC_X86_EVENTS	/* what a VMM may have asked for itself */

static struct kvm_run run;
static struct capture_guest guest;
static struct capture_thread thread;

static int setup(void **state)
{
	(void)state;
	run = (struct kvm_run){ 0 };
	guest = (struct capture_guest){ .pid = getpid() };
	thread = (struct capture_thread){ .run_hva = (u64)(uintptr_t)&run };
	return 0;
}

static void test_arm(void **state)
{
	(void)state;
	run.kvm_valid_regs = EVENTS;
	assert_int_equal(capture_arm(&guest, &thread), 0);
	assert_int_equal(run.kvm_valid_regs, EVENTS | REGS_RUN_WANTED);
	assert_int_equal(capture_arm(&guest, &thread), 0);
	capture_disarm(&guest, &thread);
	assert_int_equal(run.kvm_valid_regs, EVENTS);
	run.kvm_valid_regs = REGS_RUN_WANTED;
	capture_disarm(&guest, &thread);
	assert_int_equal(run.kvm_valid_regs, REGS_RUN_WANTED);
}

static void test_vmm_writes(void **state)
{
	(void)state;
	assert_int_equal(capture_arm(&guest, &thread), 0);
	run.kvm_valid_regs = EVENTS;
	capture_disarm(&guest, &thread);
	assert_int_equal(run.kvm_valid_regs, EVENTS);
}

/* The first to come leaves first. */
static void test_two_recorders(void **state)
{
	struct capture_thread other = thread;

	(void)state;
	assert_int_equal(capture_arm(&guest, &other), 0);
	assert_int_equal(capture_arm(&guest, &thread), 0);
	assert_int_equal(capture_rearm(&guest, &thread), 0);
	assert_int_equal(thread.old_valid_regs, REGS_RUN_WANTED);
	capture_disarm(&guest, &other);
	assert_int_equal(run.kvm_valid_regs, 0);
	assert_int_equal(capture_rearm(&guest, &thread), 0);
	assert_int_equal(run.kvm_valid_regs, REGS_RUN_WANTED);
	capture_disarm(&guest, &thread);
	assert_int_equal(run.kvm_valid_regs, 0);
}

static void test_not_armed(void **state)
{
	(void)state;
	assert_int_equal(capture_rearm(&guest, &thread), 0);
	assert_int_equal(run.kvm_valid_regs, 0);
	thread.run_hva = 0;
	assert_int_equal(capture_arm(&guest, &thread), -EOPNOTSUPP);
	thread.run_hva = 4096;
	assert_int_equal(capture_arm(&guest, &thread), -EFAULT);
	assert_false(thread.armed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_arm, setup),
		cmocka_unit_test_setup(test_vmm_writes, setup),
		cmocka_unit_test_setup(test_two_recorders, setup),
		cmocka_unit_test_setup(test_not_armed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
