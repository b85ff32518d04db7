/* SPDX-License-Identifier: GPL-2.0-only */
/* How guests are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmd/list-print.h"

static const enum list_column all[] = {
	LIST_NAME, LIST_VMM, LIST_PID, LIST_VCPUS, LIST_THREADS, LIST_MEMORY, LIST_SLOTS,
	LIST_KICK, LIST_CAPTURE, LIST_OS, LIST_KERNEL, LIST_PROTECTED, LIST_VPMU,
	LIST_WHY_NOT,
};

static struct vm web, secret;
static struct list_row rows[2];

static int setup(void **state)
{
	(void)state;
	web = (struct vm){
		.name = "web\033[31m", .vmm = "qemu", .pid = 4711, .kick_signal = SIGUSR1,
		.memory = 3ULL << 29, .slots = { .nr = 6 },
	};
	if (vec_push(&web.vcpus, (struct vm_vcpu){ .id = 0, .tid = 4715 }) ||
	    vec_push(&web.vcpus, (struct vm_vcpu){ .id = 1 }))
		return -1;
	secret = (struct vm){
		.name = "a \"b\"", .vmm = "my-vmm", .pid = 9, .confidential = true,
		.confidential_kind = "SEV-SNP", .memory = 1000,
	};
	rows[0] = (struct list_row){ .vm = &web, .os = GUEST_OS_LINUX, .release = "6.1.0",
				    .counters = { .nr = 3 } };
	rows[0].why_not[CAPTURE_DEFERRED] = "no signal";
	rows[1] = (struct list_row){ .vm = &secret, .os_why = "its memory is protected" };
	for (int mode = CAPTURE_INLINE; mode < CAPTURE_NR; mode++)
		rows[1].why_not[mode] = "encrypted";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vec_deinit(&web.vcpus);
	return 0;
}

typedef int (*print_fn)(FILE *out, const struct list_style *style, const struct list_row *rows,
			size_t nr);

static void check(print_fn print, const struct list_style *style, size_t nr, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(print(out, style, rows, nr), 0);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void test_table(void **state)
{
	static const enum list_column some[] = { LIST_NAME, LIST_PID, LIST_MEMORY, LIST_CAPTURE };
	struct list_style style = { .columns = some, .nr_columns = ARRAY_SIZE(some) };

	(void)state;
	check(list_print_table, &style, 2,
	      "NAME         PID MEMORY CAPTURE\n"
	      "web\\x1b[31m 4711   1.5G inline,ptrace\n"
	      "a \"b\"          9  1000B \n");
	style.noheadings = true;
	style.bytes = true;
	check(list_print_table, &style, 1, "web\\x1b[31m 4711 1610612736 inline,ptrace\n");
	style.columns = all + 4;
	style.nr_columns = 1;
	check(list_print_table, &style, 1, "4715,0\n");
}

static void test_reasons(void **state)
{
	static const enum list_column some[] = { LIST_PROTECTED, LIST_WHY_NOT };
	const struct list_style style = { .columns = some, .nr_columns = ARRAY_SIZE(some) };

	(void)state;
	check(list_print_table, &style, 2,
	      "PROTECTED WHY_NOT\n"
	      "          deferred: no signal\n"
	      "SEV-SNP   inline: encrypted\n"
	      "          deferred: encrypted\n"
	      "          ptrace: encrypted\n"
	      "          operating system: its memory is protected\n");
}

static void test_counters(void **state)
{
	static const enum list_column some[] = { LIST_PID, LIST_VPMU };
	const struct list_style style = { .columns = some, .nr_columns = ARRAY_SIZE(some) };

	(void)state;
	check(list_print_table, &style, 2, " PID VPMU\n4711 3\n   9 \n");
	rows[0].counters.failed = 1;
	check(list_print_table, &style, 1, " PID VPMU\n4711 3, 1 lost\n");
}

static int print_notes(FILE *out, const struct list_style *style, const struct list_row *notes,
		       size_t nr)
{
	(void)style;
	return list_print_notes(out, notes, nr);
}

static void test_notes(void **state)
{
	(void)state;
	check(print_notes, NULL, 2,
	      "\nweb\\x1b[31m: no deferred: no signal\n"
	      "a \"b\": no inline: encrypted\n"
	      "a \"b\": no deferred: encrypted\n"
	      "a \"b\": no ptrace: encrypted\n"
	      "a \"b\": no operating system: its memory is protected\n");
	rows[0].why_not[CAPTURE_DEFERRED] = NULL;
	check(print_notes, NULL, 1, "");
	rows[0].counters.failed = 2;
	check(print_notes, NULL, 1,
	      "\nweb\\x1b[31m: 2 of 3 counters that the guest uses are lost to the host's events: "
	      "they stand still in the guest\n");
}

static void test_json(void **state)
{
	const struct list_style style = { .columns = all, .nr_columns = ARRAY_SIZE(all) };

	(void)state;
	check(list_print_json, &style, 0, "{\n  \"guests\": []\n}\n");
	check(list_print_json, &style, 2,
	      "{\n  \"guests\": [{\n"
	      "      \"name\": \"web\\\\x1b[31m\",\n"
	      "      \"vmm\": \"qemu\",\n"
	      "      \"pid\": 4711,\n"
	      "      \"vcpus\": 2,\n"
	      "      \"threads\": [4715, 0],\n"
	      "      \"memory\": 1610612736,\n"
	      "      \"slots\": 6,\n"
	      "      \"kick\": \"SIGUSR1\",\n"
	      "      \"capture\": [\"inline\", \"ptrace\"],\n"
	      "      \"os\": \"Linux\",\n"
	      "      \"kernel\": \"6.1.0\",\n"
	      "      \"protected\": null,\n"
	      "      \"vpmu\": \"3\",\n"
	      "      \"why_not\": [\"deferred: no signal\"]\n"
	      "    }, {\n"
	      "      \"name\": \"a \\\"b\\\"\",\n"
	      "      \"vmm\": \"my-vmm\",\n"
	      "      \"pid\": 9,\n"
	      "      \"vcpus\": 0,\n"
	      "      \"threads\": [],\n"
	      "      \"memory\": 1000,\n"
	      "      \"slots\": 0,\n"
	      "      \"kick\": null,\n"
	      "      \"capture\": [],\n"
	      "      \"os\": null,\n"
	      "      \"kernel\": null,\n"
	      "      \"protected\": \"SEV-SNP\",\n"
	      "      \"vpmu\": null,\n"
	      "      \"why_not\": [\"inline: encrypted\", \"deferred: encrypted\", "
	      "\"ptrace: encrypted\", \"operating system: its memory is protected\"]\n"
	      "    }]\n}\n");
}

static void test_columns(void **state)
{
	enum list_column column = LIST_NR;

	(void)state;
	assert_int_equal(list_find_column("threads", &column), 0);
	assert_int_equal(column, LIST_THREADS);
	assert_int_equal(list_find_column("thread", &column), -ENOENT);
	assert_int_equal(column, LIST_THREADS);
	assert_true(list_is_default(LIST_KERNEL));
	assert_false(list_is_default(LIST_SLOTS));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_table),
		TEST(test_reasons),
		TEST(test_counters),
		TEST(test_notes),
		TEST(test_json),
		TEST(test_columns),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
