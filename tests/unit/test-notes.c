/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of figures that are not there or not whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "count/notes.h"

static const struct capture_event events[] = {
	{ .name = "cycles", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	{ .name = "slots", .type = PERF_TYPE_RAW, .config = 0x400,
	  .guest_why = "the guest has it for itself" },
	{ .name = "kvm:kvm_exit", .type = PERF_TYPE_TRACEPOINT, .tracepoint = true,
	  .host_side = true },
};
#define NR ARRAY_SIZE(events)

struct fixture {
	int errors[NR * COUNT_NR_MODES];
	tally_vms vms;
	struct tally_vm vm;
	struct tally_vcpu vcpu;
	struct tally_findings findings;
	struct strbuf said;	/* a line each */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f || progress_init(&f->vcpu.progress, NR))
		return -1;
	f->vm = (struct tally_vm){ .name = "web", .pid = 10 };
	f->findings = (struct tally_findings){
		.events = events, .nr_events = NR, .vms = &f->vms, .facts.errors = f->errors,
	};
	return vec_push(&f->vm.vcpus, &f->vcpu) || vec_push(&f->vms, &f->vm);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	progress_deinit(&f->vcpu.progress);
	vec_deinit(&f->vm.vcpus);
	vec_deinit(&f->vms);
	strbuf_deinit(&f->said);
	free(f);
	return 0;
}

static void keep(const char *text, void *arg)
{
	strbuf_addf(arg, "%s\n", text);
}

static const char *notes(struct fixture *f)
{
	strbuf_deinit(&f->said);
	f->said = (struct strbuf)STRBUF_INIT;
	tally_notes_make(&f->findings, keep, &f->said);
	assert_int_equal(strbuf_error(&f->said), 0);
	return strbuf_cstr(&f->said);
}

static void test_nothing(void **state)
{
	assert_string_equal(notes(*state), "");
}

static int *error_of(struct fixture *f, u32 event, enum count_mode mode)
{
	return &f->errors[event * COUNT_NR_MODES + mode];
}

static void test_refused(void **state)
{
	struct fixture *f = *state;
	const char *said;

	/* The same in both modes is said once. */
	*error_of(f, 0, COUNT_GUEST) = *error_of(f, 0, COUNT_HOST) = -ENOENT;
	said = notes(f);
	assert_non_null(strstr(said, "cycles is not counted: "));
	assert_null(strstr(said, " in the "));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	*error_of(f, 0, COUNT_GUEST) = 0;
	assert_non_null(strstr(notes(f), "cycles is not counted in the host: "));
	/* What was never tried has its own reason, in the mode that it is about. */
	*error_of(f, 0, COUNT_HOST) = 0;
	*error_of(f, 1, COUNT_GUEST) = *error_of(f, 1, COUNT_HOST) = -EOPNOTSUPP;
	said = notes(f);
	assert_non_null(strstr(said, "slots is not counted in the guest: the guest has it"));
	assert_non_null(strstr(said, "slots is not counted in the host: "));
	*error_of(f, 1, COUNT_GUEST) = *error_of(f, 1, COUNT_HOST) = 0;
	*error_of(f, 2, COUNT_HOST) = -EACCES;
	assert_non_null(strstr(notes(f), "kvm:kvm_exit is not counted in the host: "));
}

static void test_exits(void **state)
{
	struct fixture *f = *state;
	const char *said;

	f->findings.facts.no_reasons_why = "because of that";
	said = notes(f);
	assert_non_null(strstr(said, "exits are not told apart: because of that\n"));
	assert_null(strstr(said, "not counted"));
	f->findings.facts.no_exits = true;
	assert_non_null(strstr(notes(f), "exits are not counted: "));
	f->findings.facts = (struct reader_facts){ .errors = f->errors, .lost_reasons = 17 };
	assert_string_equal(notes(f),
			    "17 exits are in no reason's count: there were too many reasons\n");
}

static void test_sharing(void **state)
{
	struct fixture *f = *state;
	struct count *count = tally_count(&f->vcpu.progress.total, 0, COUNT_HOST);

	/* The watchdog matters to nobody who has all counters. */
	f->findings.facts.watchdog = true;
	*count = (struct count){ .value = 5, .on = 10000, .counted = 9999 };
	assert_string_equal(notes(f), "");
	count->counted = 9990;
	assert_non_null(strstr(notes(f), "counters were shared: "));
	assert_non_null(strstr(notes(f), "NMI watchdog"));
	f->findings.facts.watchdog = false;
	assert_null(strstr(notes(f), "NMI watchdog"));
	/* One that is gone counts, too: its figures are in the sums. */
	f->vm.gone = true;
	*count = (struct count){ .failed = true };
	assert_non_null(strstr(notes(f), "counters were shared: "));
}

static void test_own_counters(void **state)
{
	struct fixture *f = *state;

	f->vm.own = (struct vm_vcpu_counters){ .nr = 4 };
	assert_string_equal(notes(f), "guest web uses 4 counters of its own, which compete with "
				      "these\n");
	f->vm.most_failed = 2;
	assert_non_null(strstr(notes(f), "2 of 4 have lost them to the host"));
	/* Those that are left may be fewer than were lost. */
	f->vm.own.nr = 1;
	assert_non_null(strstr(notes(f), "2 of 2 have lost them to the host"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing), TEST(test_refused), TEST(test_exits), TEST(test_sharing),
		TEST(test_own_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
