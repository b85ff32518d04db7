/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking KVM for the registers in kvm_run, with others who write there. The VMM is ourselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kvm.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/regs-run.h"
#include "capture/backend.h"

#define EVENTS KVM_SYNC_X86_EVENTS	/* what a VMM may have asked for itself */
#define PAGE 4096

/* What the VMM has: the vCPU's file and its page. */
static int file;
static struct kvm_run *run;

static const struct capture capture = { .vcpu_file = "/memfd:run:" };
static struct capture_guest guest;
static struct capture_thread thread;

static int make_file(const char *name, struct kvm_run **ret)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	*ret = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(*ret != MAP_FAILED);
	return fd;
}

static int setup(void **state)
{
	(void)state;
	file = make_file("run:1", &run);
	guest = (struct capture_guest){ .pid = getpid() };
	thread = (struct capture_thread){ .id = 1, .run_hva = (u64)(uintptr_t)run };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(file);
	munmap(run, PAGE);
	return 0;
}

static void test_arm(void **state)
{
	(void)state;
	run->kvm_valid_regs = EVENTS;
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	assert_int_equal(run->kvm_valid_regs, EVENTS | REGS_RUN_WANTED);
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, EVENTS);
	run->kvm_valid_regs = REGS_RUN_WANTED;
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, REGS_RUN_WANTED);
}

static void test_vmm_writes(void **state)
{
	(void)state;
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	run->kvm_valid_regs = EVENTS;
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, EVENTS);
}

/* The first to come leaves first. */
static void test_two_recorders(void **state)
{
	struct capture_thread other = thread;

	(void)state;
	assert_int_equal(capture_arm(&capture, &guest, &other), 0);
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	assert_int_equal(capture_rearm(&capture, &guest, &thread), 0);
	assert_int_equal(thread.old_valid_regs, REGS_RUN_WANTED);
	capture_disarm(&capture, &guest, &other);
	assert_int_equal(run->kvm_valid_regs, 0);
	assert_int_equal(capture_rearm(&capture, &guest, &thread), 0);
	assert_int_equal(run->kvm_valid_regs, REGS_RUN_WANTED);
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, 0);
}

static void test_not_armed(void **state)
{
	(void)state;
	assert_int_equal(capture_rearm(&capture, &guest, &thread), 0);
	assert_int_equal(run->kvm_valid_regs, 0);
	thread.run_hva = 0;
	assert_int_equal(capture_arm(&capture, &guest, &thread), -EOPNOTSUPP);
	assert_false(thread.armed);
}

static void test_another_vcpu(void **state)
{
	struct kvm_run *other;
	int other_file = make_file("run:12", &other);

	(void)state;
	thread.id = 12;
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	assert_int_equal(run->kvm_valid_regs, 0);
	assert_int_equal(other->kvm_valid_regs, REGS_RUN_WANTED);
	thread = (struct capture_thread){ .id = 2, .run_hva = thread.run_hva };
	assert_int_equal(capture_arm(&capture, &guest, &thread), -ENOENT);
	assert_false(thread.armed);
	close(other_file);
	munmap(other, PAGE);
}

/* The VMM has removed the vCPU, and has other things at the page's address and under its number. */
static void test_reused(void **state)
{
	struct kvm_run *other;
	int other_file = make_file("other", &other);

	(void)state;
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	assert_int_equal(thread.vmm_fd, file);
	assert_int_equal(dup2(other_file, file), file);
	assert_ptr_equal(mmap(run, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), run);
	assert_int_equal(capture_rearm(&capture, &guest, &thread), -ENOENT);
	assert_int_equal(run->kvm_valid_regs, 0);
	assert_int_equal(other->kvm_valid_regs, 0);
	/* Even where it looks as we left it. */
	thread.armed = true;
	run->kvm_valid_regs = other->kvm_valid_regs = REGS_RUN_WANTED;
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, REGS_RUN_WANTED);
	assert_int_equal(other->kvm_valid_regs, REGS_RUN_WANTED);
	close(other_file);
	munmap(other, PAGE);
}

/* The page is no more mapped where it was: what is asked for is found by the file all the same. */
static void test_moved(void **state)
{
	(void)state;
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	thread.run_hva = 4096;
	assert_int_equal(capture_rearm(&capture, &guest, &thread), -EFAULT);
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, 0);
}

/* Something else is mapped where the page was, while the page has all that was asked for. */
static void test_moved_from(void **state)
{
	static u8 other[PAGE];

	(void)state;
	run->kvm_valid_regs = EVENTS;
	assert_int_equal(capture_arm(&capture, &guest, &thread), 0);
	thread.run_hva = (u64)(uintptr_t)other;
	assert_int_equal(capture_rearm(&capture, &guest, &thread), 0);
	assert_int_equal(run->kvm_valid_regs, EVENTS | REGS_RUN_WANTED);
	assert_int_equal(thread.old_valid_regs, EVENTS);
	capture_disarm(&capture, &guest, &thread);
	assert_int_equal(run->kvm_valid_regs, EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vmm_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_recorders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_armed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_vcpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved_from, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
