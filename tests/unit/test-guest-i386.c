/* SPDX-License-Identifier: GPL-2.0-only */
/* A whole guest of i386, with PAE and without, identified from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-i386.h"
#include "guest/guest.h"
#include "mmu/walk.h"

#define HIGH BUILD_I386_HIGH
#define FUNCTION(i) (HIGH | (BUILD_I386_TEXT + BUILD_I386_FUNCTION + (i) * 256))
#define TRIES 30	/* of a guest that has not come up */

struct fixture {
	struct build_i386 build;
	struct guest *guest;
	struct vcpu_regs regs;
	const char *why;
};

static void setup(struct fixture *f, u8 mode)
{
	build_i386_init(&f->build, mode);
	f->regs = build_i386_regs(&f->build);
	f->why = NULL;
	assert_int_equal(guest_create(mem_fake_reader(f->build.mem), NULL, &f->guest), 0);
}

static void teardown(struct fixture *f)
{
	guest_destroy(f->guest);
	build_i386_deinit(&f->build);
}

static int identify(struct fixture *f)
{
	return guest_identify(f->guest, &f->regs, &f->why);
}

static void check_kernel(const struct fixture *f)
{
	const struct guest_kernel *kernel = guest_kernel(f->guest);
	const struct symbol *symbol;

	assert_int_equal(kernel->os, GUEST_OS_LINUX);
	assert_string_equal(kernel->release, "6.1.0-test-686");
	assert_int_equal(kernel->build_id.size, 20);
	assert_memory_equal(kernel->build_id.data, f->build.build_id, 20);
	assert_int_equal(kernel->start.addr, HIGH | BUILD_I386_TEXT);
	assert_true(kernel->is_32);
	assert_false(kernel->has_btf);
	assert_false(kernel->has_orc);
	symbol = symtab_find_name(guest_kernel_symbols(f->guest), "func_9");
	assert_non_null(symbol);
	assert_int_equal(symbol->start, FUNCTION(9));
}

static void check_config(const struct fixture *f)
{
	struct wire_guest config;

	guest_capture_config(f->guest, &config);
	assert_int_equal(config.valid, 1);
	assert_int_equal(config.word, 4);
	assert_int_equal(config.current_task_offset, HIGH | BUILD_I386_CURRENT);
	assert_int_equal(config.task_stack_offset, BUILD_I386_STACK);
	assert_int_equal(config.task_mm_offset, BUILD_I386_MM);
	assert_int_equal(config.task_pid_offset, BUILD_I386_PID);
	assert_int_equal(config.task_tgid_offset, BUILD_I386_PID + 4);
	assert_int_equal(config.task_comm_offset, BUILD_I386_COMM);
	assert_int_equal(config.mm_pgd_offset, BUILD_I386_MM_PGD);
	assert_int_equal(config.loaded_mm_offset, 0);
	assert_int_equal(config.thread_size, 8192);
	assert_int_equal(config.kernel_start, 0xffffffffc0000000);
}

static const u8 modes[] = { MMU_MODE_X86_PAE, MMU_MODE_X86_32_PSE, MMU_MODE_X86_32 };

static void test_identified(void **state)
{
	static struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		setup(&f, modes[i]);
		assert_int_equal(identify(&f), 0);
		check_kernel(&f);
		check_config(&f);
		teardown(&f);
	}
}

/* The kernel's text is then the largest that cannot be written. */
static void test_user_mode(void **state)
{
	static struct fixture f;

	(void)state;
	setup(&f, MMU_MODE_X86_PAE);
	f.regs.user = 1;
	f.regs.pc = 0x8049000;
	assert_int_equal(identify(&f), 0);
	check_kernel(&f);
	check_config(&f);
	teardown(&f);
}

/* Tasks come up later, or never: then the kernel is known, and no more. */
static void test_booting(void **state)
{
	static struct fixture f;
	struct wire_guest config;
	u32 name = build_i386_tasks[2] + BUILD_I386_COMM;

	(void)state;
	setup(&f, MMU_MODE_X86_PAE);
	build_i386_put(&f.build, name, 0);
	assert_int_equal(identify(&f), -ENOENT);
	assert_non_null(f.why);
	build_i386_poke(&f.build, name, "kthreadd", 8);
	assert_int_equal(identify(&f), 0);
	check_config(&f);
	teardown(&f);

	setup(&f, MMU_MODE_X86_PAE);
	build_i386_put(&f.build, name, 0);
	for (unsigned int i = 1; i < TRIES; i++)
		assert_int_equal(identify(&f), -ENOENT);
	assert_int_equal(identify(&f), 0);
	check_kernel(&f);
	guest_capture_config(f.guest, &config);
	assert_int_equal(config.valid, 0);
	teardown(&f);
}

/* Where a function has no frame: at its start, behind the push, and at its return. */
static void test_rows(void **state)
{
	static struct fixture f;
	struct cfi_row row;

	(void)state;
	setup(&f, MMU_MODE_X86_PAE);
	assert_int_equal(guest_find_row(f.guest, GVA(FUNCTION(3)), &row), -ENOENT);
	assert_int_equal(identify(&f), 0);
	assert_int_equal(guest_find_row(f.guest, GVA(FUNCTION(3)), &row), 0);
	assert_int_equal(row.cfa.reg, X86_RSP);
	assert_int_equal(row.cfa.offset, 4);
	assert_int_equal(row.bp.kind, CFI_SAME);
	assert_int_equal(guest_find_row(f.guest, GVA(FUNCTION(3) + 1), &row), 0);
	assert_int_equal(row.cfa.offset, 8);
	assert_int_equal(row.bp.kind, CFI_AT_CFA);
	assert_int_equal(row.bp.offset, -8);
	assert_int_equal(guest_find_row(f.guest, GVA(FUNCTION(3) + 3), &row), -ENOENT);
	assert_int_equal(guest_find_row(f.guest, GVA(FUNCTION(3) + BUILD_I386_RET), &row), 0);
	assert_int_equal(row.cfa.offset, 4);
	/* Nowhere, at the very end and at the very start of what is mapped. */
	assert_int_equal(guest_find_row(f.guest, GVA(HIGH | 0xf0000000), &row), -ENOENT);
	assert_int_equal(guest_find_row(f.guest, GVA(HIGH | BUILD_I386_TEXT), &row), -ENOENT);
	assert_int_equal(guest_find_row(f.guest, GVA(0), &row), -ENOENT);
	assert_int_equal(guest_find_row(f.guest, GVA(UINT64_MAX), &row), -ENOENT);
	teardown(&f);
}

static void test_calls(void **state)
{
	static struct fixture f;

	(void)state;
	setup(&f, MMU_MODE_X86_PAE);
	assert_int_equal(identify(&f), 0);
	assert_int_equal(guest_check_kernel_call(f.guest, GVA(FUNCTION(5) + BUILD_I386_RETURN)), 0);
	assert_int_equal(guest_check_kernel_call(f.guest, GVA(FUNCTION(5) + 3)), -EBADMSG);
	assert_int_equal(guest_check_kernel_call(f.guest, GVA(HIGH | 0xf0000000)), -EFAULT);
	teardown(&f);
}

static void test_kallsyms_text(void **state)
{
	static struct fixture f;
	char *text;
	size_t size;

	(void)state;
	setup(&f, MMU_MODE_X86_PAE);
	assert_int_equal(identify(&f), 0);
	assert_int_equal(guest_write_kallsyms(f.guest, &text, &size), 0);
	assert_ptr_equal(strstr(text, "c1000000 T _text\n"), text);
	assert_non_null(strstr(text, "\nc1002900 t func_9\n"));
	free(text);
	teardown(&f);
}

/* Pages of the image that are not there: a kernel is found with what is left of it, or none. */
static void test_missing_pages(void **state)
{
	static struct fixture f;

	(void)state;
	for (u32 at = 0; at < BUILD_I386_TEXT_SIZE; at += 0x1000) {
		int err;

		setup(&f, MMU_MODE_X86_PAE);
		mem_fake_drop(f.build.mem, GPA(BUILD_I386_TEXT + at - 0xc0000000U));
		err = identify(&f);
		assert_true(err == 0 || err == -ENOENT);
		if (err == 0)
			assert_int_equal(guest_kernel(f.guest)->start.addr, HIGH | BUILD_I386_TEXT);
		teardown(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identified),
		cmocka_unit_test(test_user_mode),
		cmocka_unit_test(test_booting),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_kallsyms_text),
		cmocka_unit_test(test_missing_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
