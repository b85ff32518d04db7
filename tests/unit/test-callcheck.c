/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks of user return addresses: calls, page ends, rights, and how long a verdict holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "build-pagetable.h"
#include "engine/callcheck.h"
#include "mmu/walk.h"

#define TEXT 0x400000
#define TEXT_GPA 0x200000
#define DATA 0x600000
#define DATA_GPA 0x300000
#define SECOND_NS 1000000000ULL

static const u8 call_rel32[] = { 0xe8, 1, 2, 3, 4 };

struct fixture {
	struct mem_fake *mem;
	struct build_pagetable pt;
	struct mmu_space space;
	struct callcheck *check;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->mem = mem_fake_create();
	assert_int_equal(build_pagetable_init(&f->pt, f->mem, MMU_MODE_X86_4LEVEL, GPA(0x1000)), 0);
	build_pagetable_map(&f->pt, TEXT + 4096, TEXT_GPA, 4096, MMU_USER | MMU_EXEC);
	build_pagetable_map(&f->pt, DATA, DATA_GPA, 4096, MMU_USER | MMU_WRITE);
	mem_fake_set(f->mem, GPA(TEXT_GPA), call_rel32, sizeof(call_rel32));
	mem_fake_set(f->mem, GPA(TEXT_GPA + 0x100), call_rel32, sizeof(call_rel32));
	mem_fake_set(f->mem, GPA(DATA_GPA + 0x100), call_rel32, sizeof(call_rel32));
	f->space = build_pagetable_space(&f->pt);
	assert_int_equal(callcheck_create(mem_fake_reader(f->mem), &f->check), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	callcheck_destroy(f->check);
	mem_fake_destroy(f->mem);
	free(f);
	return 0;
}

static int check(struct fixture *f, u64 addr, u64 now)
{
	return callcheck_user(f->check, &f->space, GVA(addr), now);
}

static void test_verdicts(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(check(f, TEXT + 4096 + 0x105, 1), 0);
	assert_int_equal(check(f, TEXT + 4096 + 0x106, 1), -EBADMSG);
	/* At the page's start, the page before missing: the call that fits is enough. */
	assert_int_equal(check(f, TEXT + 4096 + 5, 1), 0);
	assert_int_equal(check(f, TEXT + 4096 + 3, 1), -EFAULT);
	/* A call in memory that may not be executed is data. */
	assert_int_equal(check(f, DATA + 0x105, 1), -EBADMSG);
	assert_int_equal(check(f, 0x700105, 1), -EFAULT);
	assert_int_equal(check(f, 0, 1), -EBADMSG);
	assert_int_equal(check(f, 5, 1), -EBADMSG);
	/* Kernels of guests that are no Linux lie anywhere. */
	assert_int_equal(check(f, 0xffffffff81000005, 1), -EFAULT);
}

static void test_verdict_ages(void **state)
{
	struct fixture *f = *state;
	u64 reads;

	assert_int_equal(check(f, TEXT + 4096 + 0x105, SECOND_NS), 0);
	reads = mem_fake_reads(f->mem);
	mem_fake_set(f->mem, GPA(TEXT_GPA + 0x100), "\x90", 1);
	assert_int_equal(check(f, TEXT + 4096 + 0x105, SECOND_NS + 1), 0);
	assert_int_equal(mem_fake_reads(f->mem), reads);
	assert_int_equal(check(f, TEXT + 4096 + 0x105, 3 * SECOND_NS), -EBADMSG);
}

static void test_spaces_are_apart(void **state)
{
	struct fixture *f = *state;
	struct mmu_space other = f->space;

	assert_int_equal(check(f, TEXT + 4096 + 0x105, 1), 0);
	other.root = 0x100000;
	assert_int_equal(callcheck_user(f->check, &other, GVA(TEXT + 4096 + 0x105), 1), -EFAULT);
	assert_int_equal(check(f, TEXT + 4096 + 0x105, 1), 0);
}

#define PTI_ROOT 0x100000
#define ENTRY_NX (1ULL << 63)

/* With page-table isolation: the kernel's table, whose user half may not be executed. */
static void test_isolated(void **state)
{
	struct fixture *f = *state;
	struct build_pagetable user;
	u64 entry;

	assert_int_equal(build_pagetable_init(&user, f->mem, MMU_MODE_X86_4LEVEL,
					      GPA(PTI_ROOT + 0x1000)), 0);
	build_pagetable_map(&user, TEXT + 4096, TEXT_GPA, 4096, MMU_USER | MMU_EXEC);
	build_pagetable_map(&user, DATA, DATA_GPA, 4096, MMU_USER | MMU_WRITE);
	assert_int_equal(build_pagetable_space(&user).root, PTI_ROOT + 0x1000);
	assert_int_equal(mem_read(mem_fake_reader(f->mem), GPA(PTI_ROOT + 0x1000), &entry, 8), 0);
	entry |= ENTRY_NX;
	mem_fake_page(f->mem, GPA(PTI_ROOT));
	mem_fake_set(f->mem, GPA(PTI_ROOT), &entry, sizeof(entry));
	f->space.root = PTI_ROOT;
	assert_int_equal(check(f, TEXT + 4096 + 0x105, 1), 0);
	assert_int_equal(check(f, TEXT + 4096 + 0x106, 1), -EBADMSG);
	assert_int_equal(check(f, DATA + 0x105, 1), -EBADMSG);
	/* What lies behind the table is another process's, or none. */
	entry = 0;
	mem_fake_set(f->mem, GPA(PTI_ROOT + 0x1000), &entry, sizeof(entry));
	assert_int_equal(check(f, TEXT + 4096 + 0x105, 3 * SECOND_NS), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_verdicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verdict_ages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spaces_are_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_isolated, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
