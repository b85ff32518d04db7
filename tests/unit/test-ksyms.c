/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of a guest's BPF programs: the list whole, torn and endless, and entries that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build-process.h"
#include "guest/ksyms.h"

#define NR 4
#define CODE 0xffffffffc0100000ULL

struct fixture {
	struct build_guest build;
	struct build_process p;
	struct guest *guest;
	u64 head;
	u64 ksyms[NR];
};

static void open_fixture(struct fixture *f)
{
	struct build_guest_options options = build_guest_release(6);
	struct vcpu_regs regs;
	u64 place;

	build_guest_init(&f->build, &options);
	build_process_init(&f->p, &f->build);
	place = f->head = f->build.start + BUILD_GUEST_VARIABLES + BUILD_GUEST_BPF_KALLSYMS;
	for (u32 i = 0; i < NR; i++) {
		char name[64];

		f->ksyms[i] = build_object(&f->p, BUILD_KSYM_BYTES, 64);
		snprintf(name, sizeof(name), "bpf_prog_6deef7357e7b4530_p%u", i);
		build_guest_poke(&f->build, f->ksyms[i] + BUILD_KSYM_NAME, name, sizeof(name));
		build_set(&f->p, f->ksyms[i], CODE + i * 0x1000);
		build_set(&f->p, f->ksyms[i] + 8, CODE + i * 0x1000 + 0x80);
		build_set(&f->p, place, f->ksyms[i] + BUILD_KSYM_LIST);
		place = f->ksyms[i] + BUILD_KSYM_LIST;
	}
	build_set(&f->p, place, f->head);
	regs = build_guest_regs(&f->build);
	assert_int_equal(guest_create(mem_fake_reader(f->build.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_for_each_bpf_symbol(f->guest, NULL, NULL), -ENOENT);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
}

static void close_fixture(struct fixture *f)
{
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
}

static int see(void *ctx, const struct guest_ksym *ksym)
{
	unsigned int *nr = ctx, i = (ksym->start.addr - CODE) / 0x1000;
	char name[64];

	snprintf(name, sizeof(name), "bpf_prog_6deef7357e7b4530_p%u", i);
	assert_string_equal(ksym->name, name);
	assert_int_equal(ksym->end.addr, ksym->start.addr + 0x80);
	++*nr;
	return 0;
}

static void walk(const struct fixture *f, int err, unsigned int expected)
{
	unsigned int nr = 0;

	assert_int_equal(guest_for_each_bpf_symbol(f->guest, see, &nr), err);
	assert_int_equal(nr, expected);
}

static void test_list(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	walk(&f, 0, NR);
	build_set(&f.p, f.head, f.head);
	walk(&f, 0, 0);
	close_fixture(&f);
}

static void test_hostile(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	/* Not the kernel's half, no size, too much, no name. */
	build_set(&f.p, f.ksyms[0], 0x400000);
	walk(&f, 0, NR - 1);
	build_set(&f.p, f.ksyms[1] + 8, CODE + 0x1000);
	walk(&f, 0, NR - 2);
	build_set(&f.p, f.ksyms[2] + 8, ~0ULL);
	build_guest_poke(&f.build, f.ksyms[3] + BUILD_KSYM_NAME, "", 1);
	walk(&f, 0, 0);
	build_set(&f.p, f.ksyms[3] + BUILD_KSYM_LIST, 0xdead000000000100);
	walk(&f, -EFAULT, 0);
	build_set(&f.p, f.ksyms[3] + BUILD_KSYM_LIST, f.ksyms[0] + BUILD_KSYM_LIST);
	walk(&f, -EBADMSG, 0);
	close_fixture(&f);
}

/* A name without an end is cut. */
static int see_long(void *ctx, const struct guest_ksym *ksym)
{
	*(size_t *)ctx = strlen(ksym->name);
	return 42;
}

static void test_long_name(void **state)
{
	char name[BUILD_KSYM_NAME_SIZE];
	struct fixture f;
	size_t len = 0;

	(void)state;
	open_fixture(&f);
	memset(name, 'x', sizeof(name));
	build_guest_poke(&f.build, f.ksyms[0] + BUILD_KSYM_NAME, name, sizeof(name));
	assert_int_equal(guest_for_each_bpf_symbol(f.guest, see_long, &len), 42);
	assert_int_equal(len, BUILD_KSYM_NAME_SIZE - 1);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
