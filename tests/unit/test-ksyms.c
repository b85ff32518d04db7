/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of code that a guest's kernel made: lists whole, torn and endless; entries that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build-ksyms.h"
#include "guest/ksyms.h"

#define NR BUILD_KSYMS_BPF
#define NR_OTHERS BUILD_KSYMS_OTHERS

struct fixture {
	struct build_guest build;
	struct build_process p;
	struct build_ksyms k;
	struct guest *guest;
};

static void open_options(struct fixture *f, const struct build_guest_options *options)
{
	build_guest_init(&f->build, options);
	build_process_init(&f->p, &f->build);
	build_ksyms_init(&f->k, &f->p);
	f->guest = build_process_identify(&f->p);
	assert_non_null(f->guest);
}

static void open_fixture(struct fixture *f)
{
	const struct build_guest_options options = build_guest_release(6);

	open_options(f, &options);
}

static void close_fixture(struct fixture *f)
{
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
}

struct seen {
	unsigned int bpf, others;
	u64 page;	/* bytes */
};

static int see_other(const struct guest_ksym *ksym, u64 page_bytes)
{
	bool page = ksym->start.addr >= BUILD_KSYMS_PAGES;

	const char *name = ksym->start.addr == BUILD_KSYMS_PAGES ? "kprobe_insn_page" :
								   "kprobe_optinsn_page";

	assert_string_equal(ksym->name, page ? name : "ftrace_trampoline");
	assert_int_equal(ksym->end.addr - ksym->start.addr, page ? page_bytes :
			 BUILD_KSYMS_TRAMPOLINE_SIZE);
	return 0;
}

static int see(void *ctx, const struct guest_ksym *ksym)
{
	struct seen *seen = ctx;
	char name[64];

	if (!ksym->bpf) {
		seen->others++;
		return see_other(ksym, seen->page);
	}
	snprintf(name, sizeof(name), "bpf_prog_6deef7357e7b4530_p%u",
		 (unsigned int)(ksym->start.addr - BUILD_KSYMS_BPF_CODE) / 0x1000);
	assert_string_equal(ksym->name, name);
	assert_int_equal(ksym->end.addr, ksym->start.addr + BUILD_KSYMS_BPF_SIZE);
	seen->bpf++;
	return 0;
}

static void walk(const struct fixture *f, int err, unsigned int bpf, unsigned int others)
{
	struct seen seen = { .page = build_guest_page(&f->build) };

	assert_int_equal(guest_for_each_ksym(f->guest, see, &seen), err);
	assert_int_equal(seen.bpf, bpf);
	assert_int_equal(seen.others, others);
}

static void test_lists(void **state)
{
	struct guest *guest;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	walk(&f, 0, NR, NR_OTHERS);
	build_set(&f.p, f.k.bpf_head, f.k.bpf_head);
	walk(&f, 0, 0, NR_OTHERS);
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &guest), 0);
	assert_int_equal(guest_for_each_ksym(guest, NULL, NULL), -ENOENT);
	guest_destroy(guest);
	close_fixture(&f);
}

/* The code of probes has a page each, of the guest's size. */
static void test_page_size(void **state)
{
	struct build_guest_options options = build_guest_release(6);
	struct fixture f;

	(void)state;
	options.arm64 = true;
	options.page_shift = 14;
	open_options(&f, &options);
	walk(&f, 0, NR, NR_OTHERS);
	close_fixture(&f);
}

static void test_hostile(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	/* Not the kernel's half, no size, too much, no name. */
	build_set(&f.p, f.k.bpf[0], 0x400000);
	walk(&f, 0, NR - 1, NR_OTHERS);
	build_set(&f.p, f.k.bpf[1] + 8, BUILD_KSYMS_BPF_CODE + 0x1000);
	walk(&f, 0, NR - 2, NR_OTHERS);
	build_set(&f.p, f.k.bpf[2] + 8, ~0ULL);
	build_guest_poke(&f.build, f.k.bpf[3] + BUILD_KSYM_NAME, "", 1);
	walk(&f, 0, 0, NR_OTHERS);
	build_set(&f.p, f.k.bpf[3] + BUILD_KSYM_LIST, 0xdead000000000100);
	walk(&f, -EFAULT, 0, NR_OTHERS);
	build_set(&f.p, f.k.bpf[3] + BUILD_KSYM_LIST, f.k.bpf[0] + BUILD_KSYM_LIST);
	walk(&f, -EBADMSG, 0, NR_OTHERS);
	close_fixture(&f);
}

/* Of one list the others know nothing. */
static void test_hostile_others(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	build_set(&f.p, f.k.ops[0] + BUILD_OPS_SIZE, 0);
	build_set(&f.p, f.k.pages[0] + BUILD_INSN_PAGE_CODE, ~0ULL - 100);
	walk(&f, 0, NR, NR_OTHERS - 2);
	build_set(&f.p, f.k.ops[1] + BUILD_OPS_LIST, 0xdead000000000100);
	walk(&f, -EFAULT, NR, NR_OTHERS - 2);
	build_set(&f.p, f.k.ops[0] + BUILD_OPS_TRAMPOLINE, 0);
	build_set(&f.p, f.k.ops[1] + BUILD_OPS_TRAMPOLINE, 0);
	build_set(&f.p, f.k.ops[1] + BUILD_OPS_LIST, f.k.ops[1] + BUILD_OPS_LIST);
	walk(&f, -EBADMSG, NR, 1);
	build_set(&f.p, f.k.pages[1] + BUILD_INSN_PAGE_LIST, f.k.pages[1] + BUILD_INSN_PAGE_LIST);
	build_set(&f.p, f.k.pages[1] + BUILD_INSN_PAGE_CODE, 0);
	walk(&f, -EBADMSG, NR, 0);
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
	build_guest_poke(&f.build, f.k.bpf[0] + BUILD_KSYM_NAME, name, sizeof(name));
	assert_int_equal(guest_for_each_ksym(f.guest, see_long, &len), 42);
	assert_int_equal(len, BUILD_KSYM_NAME_SIZE - 1);
	close_fixture(&f);
}

static void test_unknown_types(void **state)
{
	struct build_guest_options options = build_guest_release(6);
	struct fixture f;

	(void)state;
	options.no_user_types = true;
	build_guest_init(&f.build, &options);
	build_process_init(&f.p, &f.build);
	f.guest = build_process_identify(&f.p);
	assert_non_null(f.guest);
	assert_int_equal(guest_for_each_ksym(f.guest, NULL, NULL), -EOPNOTSUPP);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_page_size),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_hostile_others),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_unknown_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
