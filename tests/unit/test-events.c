/* SPDX-License-Identifier: GPL-2.0-only */
/* Event names against a sysfs and a tracefs made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-folder.h"
#include "capture/events.h"
#include "capture/pmu.h"

static char root[64];
static int probe_result;
static struct perf_event_attr probed;

static int fake_probe(const struct perf_event_attr *attr)
{
	probed = *attr;
	return probe_result;
}

static const char *filter_said;
static int filter_result;

static int fake_check(const char *tracefs, const char *name, u64 id, const char *text,
		      char **ret_said)
{
	assert_string_equal(tracefs, root);
	assert_true(id);
	assert_true(strchr(name, ':') && *text);
	*ret_said = filter_said ? strdup(filter_said) : NULL;
	return filter_result;
}

static struct event_source source = {
	.sysfs = root, .tracefs = root, .proc = root, .probe = fake_probe,
	.check_filter = fake_check,
};

#define FORMAT "name: some\nformat:\n"

static void put(const char *path, const char *text)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	assert_int_equal(file_write_atomic(full, text, strlen(text)), 0);
}

#define PMU "bus/event_source/devices/cpu/"

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-events.XXXXXX");
	assert_non_null(mkdtemp(root));
	put(PMU "type", "4\n");
	put(PMU "format/event", "config:0-7,32-35\n");
	put(PMU "format/umask", "config:8-15\n");
	put(PMU "format/edge", "config:18\n");
	put(PMU "format/ldlat", "config1:0-15\n");
	put(PMU "format/wide", "config2:0-63\n");
	put(PMU "format/odd", "sample_type:0-3\n");
	put(PMU "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put(PMU "events/loop", "loop\n");
	put("events/enable", "0\n");
	put("events/kvm/enable", "0\n");
	put("events/kvm/kvm_entry/id", "1233\n");
	put("events/kvm/kvm_entry/format", FORMAT);
	put("events/kvm/kvm_exit/format", FORMAT);
	put("events/kvm/uk/format", FORMAT);
	put("events/kvm/kvm_exit/id", "1234\n");
	put("events/kvm/uk/id", "77\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return build_folder_remove(root);
}

static const char *why;
static struct capture_events list;

static int add(const char *text)
{
	int err;

	why = NULL;
	err = events_add(&source, text, &list, &why);
	if (err)
		assert_non_null(why);
	return err;
}

/* One event. */
static int parse(const char *text, struct capture_event *event)
{
	int err;

	capture_events_deinit(&list);
	err = add(text);
	if (!err) {
		assert_int_equal(list.list.nr, 1);
		*event = list.list.data[0];
	}
	return err;
}

static void expect(const char *text, u32 type, u64 config)
{
	struct capture_event event;

	assert_int_equal(parse(text, &event), 0);
	assert_string_equal(event.name, text);
	assert_int_equal(event.type, type);
	assert_int_equal(event.config, config);
}

static void test_names(void **state)
{
	(void)state;
	expect("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	expect("instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	expect("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	expect("r01c2", PERF_TYPE_RAW, 0x1c2);
	expect("rffffffffffffffff", PERF_TYPE_RAW, ~0ULL);
	expect("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000);
	expect("dTLB-store-misses:k", PERF_TYPE_HW_CACHE, 0x10103);
	expect("LLC-prefetches", PERF_TYPE_HW_CACHE, 0x202);
}

static void test_unknown(void **state)
{
	static const char *const missing[] = {
		"cycle", "r", "rxyz", "r1ffffffffffffffff", "L1-dcache", "L1-dcache-eats",
		"kvm:none", "gpu/event=1/", "cpu/none/", "cpu/none=3/",
	};
	struct capture_event event;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		assert_int_equal(parse(missing[i], &event), -ENOENT);
}

static void test_modifiers(void **state)
{
	struct capture_event event;

	(void)state;
	assert_int_equal(parse("cycles:u", &event), 0);
	assert_true(event.exclude_kernel && !event.exclude_user);
	assert_int_equal(parse("cycles:kG", &event), 0);
	assert_true(!event.exclude_kernel && event.exclude_user);
	assert_int_equal(parse("cycles:uk", &event), 0);
	assert_false(event.exclude_kernel || event.exclude_user);
	assert_true(event.exclude_host);
	assert_int_equal(parse("cycles:ukhG", &event), 0);
	assert_int_equal(parse("cpu/event=1/:u", &event), 0);
	assert_true(event.exclude_kernel);
	assert_int_equal(parse("cpu/event=1/k", &event), 0);
	assert_true(event.exclude_user);
	assert_int_equal(parse("kvm:kvm_exit:u", &event), 0);
	assert_true(event.exclude_kernel && event.tracepoint);
	assert_int_equal(parse("kvm:kvm_exit/period=7/k", &event), 0);
	assert_true(event.exclude_user && event.period == 7);
}

/* Each says which letter, and what to do. */
static void test_refused_modifiers(void **state)
{
	static const char letters[] = "HpPhSDeWIbRX";
	struct capture_event event;

	(void)state;
	for (const char *letter = letters; *letter; letter++) {
		const char text[] = { 'c', 'y', 'c', 'l', 'e', 's', ':', *letter, '\0' };

		assert_int_equal(parse(text, &event), -EOPNOTSUPP);
		assert_non_null(strstr(why, "leave"));
	}
	assert_int_equal(parse("cycles:GH", &event), -EOPNOTSUPP);
	assert_int_equal(parse("cycles:upp", &event), -EOPNOTSUPP);
	assert_int_equal(parse("cycles:x", &event), -EBADMSG);
	assert_int_equal(parse("cpu/event=1/z", &event), -EBADMSG);
	assert_int_equal(parse("{cycles,instructions}", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "braces"));
	assert_int_equal(parse("{cycles,instructions}:S", &event), -EOPNOTSUPP);
}

static void expect_list(const char *const *names, size_t nr)
{
	assert_int_equal(list.list.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_string_equal(list.list.data[i].name, names[i]);
}

/* Commas divide events, but not in the terms of one. */
static void test_lists(void **state)
{
	static const char *const names[] = {
		"cycles:u", "cpu/event=1,umask=2/", "kvm:kvm_exit", "cpu-clock",
	};

	(void)state;
	capture_events_deinit(&list);
	assert_int_equal(add("cycles:u,cpu/event=1,umask=2/,kvm:kvm_exit"), 0);
	assert_int_equal(list.last, 2);
	assert_int_equal(add("cpu-clock"), 0);
	assert_int_equal(list.last, 3);
	expect_list(names, ARRAY_SIZE(names));

	assert_int_equal(add("cycles,nosuch,cpu-clock"), -ENOENT);
	assert_string_equal(list.wrong, "nosuch");
	assert_int_equal(add("cycles,"), -EBADMSG);
	assert_int_equal(add(",cycles"), -EBADMSG);
	assert_int_equal(add(""), -EBADMSG);
	assert_int_equal(add("cpu/event=1,umask=2"), -EBADMSG);
	capture_events_deinit(&list);
}

static void test_many(void **state)
{
	(void)state;
	capture_events_deinit(&list);
	for (u32 i = 0; i < WIRE_MAX_EVENTS; i++)
		assert_int_equal(add("cpu-clock"), 0);
	assert_int_equal(add("cpu-clock"), -E2BIG);
	assert_int_equal(add("kvm:*"), -E2BIG);
	assert_non_null(strstr(why, "too many"));
	capture_events_deinit(&list);
}

/* As perf has it, each is an event of its own, and a filter would be for all of them. */
static void test_wildcards(void **state)
{
	static const char *const all[] = { "kvm:kvm_entry", "kvm:kvm_exit", "kvm:uk" };
	struct capture_event event;

	(void)state;
	capture_events_deinit(&list);
	assert_int_equal(add("cpu-clock,kvm:*"), 0);
	assert_int_equal(list.last, 1);
	list.list.data++;
	list.list.nr--;
	expect_list(all, ARRAY_SIZE(all));
	list.list.data--;
	list.list.nr++;
	capture_events_deinit(&list);
	assert_int_equal(add("k*:kvm_e[nx]*:u"), 0);
	expect_list(all, 2);
	assert_true(list.list.data[1].exclude_kernel);
	assert_int_equal(parse("kvm:nix*", &event), -ENOENT);
	capture_events_deinit(&list);
	assert_int_equal(add("kvm:kvm_*/name=mine/"), 0);
	assert_string_equal(list.list.data[0].name, "mine");
	assert_string_equal(list.list.data[1].name, "mine");
}

/* As with perf: for what was named last, and beside the filter that it has. */
static void test_filters(void **state)
{
	struct capture_event *events;
	char *said = NULL;

	(void)state;
	capture_events_deinit(&list);
	assert_int_equal(events_filter(&source, &list, "a == 1", &said), -ENOENT);
	assert_int_equal(add("kvm:uk,kvm:kvm_*"), 0);
	events = list.list.data;
	assert_int_equal(events_filter(&source, &list, "a == 1", &said), 0);
	assert_null(events[0].filter);
	assert_string_equal(events[1].filter, "a == 1");
	assert_string_equal(events[2].filter, "a == 1");
	assert_string_equal(events[2].point, "kvm:kvm_exit");
	assert_string_equal(events[2].format, FORMAT);
	assert_int_equal(events_filter(&source, &list, "b == 2 || c == 3", &said), 0);
	assert_string_equal(events[2].filter, "(a == 1) && (b == 2 || c == 3)");

	filter_result = -EINVAL;
	filter_said = "Field not found";
	assert_int_equal(events_filter(&source, &list, "d == 1", &said), -EINVAL);
	assert_string_equal(said, "Field not found");
	assert_string_equal(list.wrong, "kvm:kvm_entry");
	free(said);
	filter_result = 0;
	filter_said = NULL;
	assert_int_equal(add("cpu-clock"), 0);
	assert_int_equal(events_filter(&source, &list, "d == 1", &said), -EOPNOTSUPP);
	capture_events_deinit(&list);
}

static void test_terms(void **state)
{
	struct capture_event event;

	(void)state;
	assert_int_equal(parse("cycles/period=1000,name=mine/u", &event), 0);
	assert_string_equal(event.name, "mine");
	assert_true(event.period == 1000 && event.rated && event.exclude_kernel);
	assert_int_equal(event.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(parse("cpu-clock/freq=49/", &event), 0);
	assert_string_equal(event.name, "cpu-clock/freq=49/");
	assert_true(event.freq == 49 && !event.period && event.rated);
	assert_int_equal(parse("kvm:kvm_exit/name=exits,freq=10/", &event), 0);
	assert_string_equal(event.name, "exits");
	assert_int_equal(event.config, 1234);
	assert_true(event.freq == 10 && !event.period);
	assert_int_equal(parse("cycles", &event), 0);
	assert_false(event.rated);
	assert_int_equal(parse("cpu-clock/period=0/", &event), -EBADMSG);
	assert_int_equal(parse("cpu-clock/name=/", &event), -EBADMSG);
	assert_int_equal(parse("cpu-clock/event=1/", &event), -ENOENT);
	assert_int_equal(parse("cpu-clock/config=1/", &event), -ENOENT);
	assert_int_equal(parse("nosuch/period=1/", &event), -ENOENT);
}

/* What is tried is what is asked for: a host may refuse the usual rate and take that. */
static void test_rates(void **state)
{
	struct capture_event event;

	(void)state;
	list.freq = 49;
	assert_int_equal(parse("cycles", &event), 0);
	assert_true(event.freq == 49 && !event.period);
	assert_true(probed.freq && probed.sample_freq == 49);
	assert_int_equal(parse("kvm:kvm_exit", &event), 0);
	assert_true(event.freq == 49 && !event.period);
	assert_int_equal(parse("cycles/period=7/", &event), 0);
	assert_true(event.period == 7 && !event.freq);
	list.freq = 0;
	list.period = 5000;
	assert_int_equal(parse("cycles", &event), 0);
	assert_true(!probed.freq && probed.sample_period == 5000);
	assert_int_equal(parse("cycles/freq=7/", &event), 0);
	assert_true(event.freq == 7 && !event.period);
	list.period = 0;
}

/* The usual rate gives way to the kernel's limit, one that was asked for does not. */
static void test_max_rate(void **state)
{
	struct capture_event event;

	(void)state;
	put("sys/kernel/perf_event_max_sample_rate", "500\n");
	assert_int_equal(parse("cycles", &event), 0);
	assert_true(event.freq == 500 && probed.sample_freq == 500);
	assert_int_equal(parse("cpu-clock/freq=501/", &event), -EINVAL);
	assert_non_null(strstr(why, "max_sample_rate"));
	assert_int_equal(parse("cpu-clock/freq=500/", &event), 0);
	assert_int_equal(parse("cpu-clock/period=10/", &event), 0);
	list.freq = 501;
	capture_events_deinit(&list);
	assert_int_equal(events_add_default(&source, &list, &why), -EINVAL);
	assert_non_null(strstr(why, "max_sample_rate"));
	list.freq = 0;
	put("sys/kernel/perf_event_max_sample_rate", "100000\n");
}

static void test_host_side(void **state)
{
	struct capture_event event;

	(void)state;
	assert_int_equal(parse("cpu-clock", &event), 0);
	assert_false(event.host_side || event.exclude_host);
	assert_int_equal(event.freq, EVENT_DEFAULT_FREQ);
	assert_int_equal(parse("page-faults", &event), 0);
	assert_true(event.host_side);
	assert_int_equal(parse("kvm:kvm_exit", &event), 0);
	assert_true(event.host_side && event.tracepoint);
	assert_int_equal(event.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(event.config, 1234);
	assert_int_equal(event.period, 1);
	/* Where both are possible the tracepoint wins. */
	assert_int_equal(parse("kvm:uk", &event), 0);
	assert_int_equal(event.config, 77);
	assert_int_equal(parse("../kvm:kvm_exit", &event), -EBADMSG);
	assert_int_equal(parse("kvm:..", &event), -ENOENT);
}

static void test_pmu(void **state)
{
	struct capture_event event;

	(void)state;
	assert_int_equal(parse("cpu/event=0x1c2,umask=0xff,edge/", &event), 0);
	assert_int_equal(event.type, 4);
	assert_int_equal(event.config, 0x10004ffc2);
	assert_int_equal(parse("cpu/config=5,config1=6,config2=7,period=1000/", &event), 0);
	assert_true(event.config == 5 && event.config1 == 6 && event.config2 == 7);
	assert_int_equal(event.period, 1000);
	assert_int_equal(parse("cpu/mem-loads,freq=99/", &event), 0);
	assert_int_equal(event.config, 0x1cd);
	assert_int_equal(event.config1, 3);
	assert_int_equal(event.freq, 99);
	assert_int_equal(parse("cpu/wide=0xffffffffffffffff/", &event), 0);
	assert_true(event.config2 == ~0ULL);
}

static void test_pmu_bad(void **state)
{
	struct capture_event event;

	(void)state;
	assert_int_equal(parse("cpu/umask=0x100/", &event), -E2BIG);
	assert_int_equal(parse("cpu/event=/", &event), -EBADMSG);
	assert_int_equal(parse("cpu/event=x/", &event), -EBADMSG);
	assert_int_equal(parse("cpu/event=-1/", &event), -EBADMSG);
	assert_int_equal(parse("cpu/event=1", &event), -EBADMSG);
	assert_int_equal(parse("/event=1/", &event), -EBADMSG);
	assert_int_equal(parse("cpu/odd/", &event), -EOPNOTSUPP);
	assert_int_equal(parse("cpu/../type/", &event), -EBADMSG);
	/* An event made of itself ends. */
	assert_int_equal(parse("cpu/loop/", &event), -ENOENT);
}

static void test_format(void **state)
{
	u64 configs[3] = { 0 };

	(void)state;
	assert_int_equal(pmu_format_apply("config1:4-7,60-63", 0xa5, configs), 0);
	assert_true(configs[1] == 0xa000000000000050);
	assert_int_equal(pmu_format_apply("config:8-4", 1, configs), -EBADMSG);
	assert_int_equal(pmu_format_apply("config:64", 1, configs), -EBADMSG);
	assert_int_equal(pmu_format_apply("config:", 1, configs), -E2BIG);
	assert_int_equal(pmu_format_apply("config:0-", 1, configs), -EBADMSG);
	assert_int_equal(pmu_format_apply("config:x", 1, configs), -EBADMSG);
}

static void get_default(struct capture_event *event)
{
	capture_events_deinit(&list);
	assert_int_equal(events_add_default(&source, &list, &why), 0);
	assert_int_equal(list.list.nr, 1);
	*event = list.list.data[0];
}

static void test_default(void **state)
{
	struct capture_event event;

	(void)state;
	get_default(&event);
	assert_string_equal(event.name, "cycles");
	assert_true(event.exclude_host);
	assert_true(probed.exclude_host && probed.disabled && probed.freq);

	probe_result = -ENOENT;
	get_default(&event);
	assert_string_equal(event.name, "cpu-clock");
	assert_int_equal(event.type, PERF_TYPE_SOFTWARE);
	assert_false(event.exclude_host);
	assert_non_null(strstr(why, "no hardware counter for cycles"));
	assert_int_equal(parse("cycles", &event), -ENOENT);
	assert_non_null(strstr(why, "no hardware counter for it"));
	probe_result = 0;
}

/* What was asked for and does not work is said before anything is done. */
static void test_probe(void **state)
{
	struct capture_event event;

	(void)state;
	probe_result = -EOPNOTSUPP;
	assert_int_equal(parse("instructions:u", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "cannot sample guests"));
	assert_int_equal(probed.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(parse("cpu-clock", &event), 0);
	assert_int_equal(parse("kvm:kvm_exit", &event), 0);
	probe_result = -EBUSY;
	assert_int_equal(parse("cpu/event=1/", &event), -EBUSY);
	assert_non_null(strstr(why, "taken"));
	probe_result = 0;
}

/*
 * Where the PMU is guests' own an open event keeps new VMs from starting: hardware is not even
 * tried. The others are as ever.
 */
static void test_mediated(void **state)
{
	struct capture_event event;

	(void)state;
	probed.size = 0;
	put("module/kvm_amd/parameters/enable_mediated_pmu", "Y\n");
	get_default(&event);
	assert_string_equal(event.name, "cpu-clock");
	assert_non_null(strstr(why, "mediated"));
	assert_int_equal(parse("cycles", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "mediated"));
	assert_non_null(strstr(why, "cpu-clock"));
	assert_int_equal(parse("cpu/event=1/", &event), -EOPNOTSUPP);
	assert_int_equal(parse("cpu-clock", &event), 0);
	assert_int_equal(parse("kvm:kvm_exit", &event), 0);
	assert_int_equal(probed.size, 0);
	put("module/kvm_amd/parameters/enable_mediated_pmu", "N\n");
	get_default(&event);
	assert_string_equal(event.name, "cycles");
}

/* To be counted: in both modes, with perf's letters for one of them; the PMU need not be there. */
static void test_counting(void **state)
{
	struct capture_event event;

	(void)state;
	list.counting = true;
	probe_result = -ENOENT;
	assert_int_equal(parse("cycles", &event), 0);
	assert_false(event.only_guest || event.only_host || event.pinned || event.guest_why);
	assert_int_equal(parse("cycles:G", &event), 0);
	assert_true(event.only_guest && !event.only_host);
	assert_int_equal(parse("cycles:uHD", &event), 0);
	assert_true(event.only_host && event.exclude_kernel && event.pinned);
	assert_int_equal(parse("cycles:GH", &event), 0);
	assert_false(event.only_guest || event.only_host);
	assert_int_equal(parse("cpu/event=1/G", &event), 0);
	assert_true(event.only_guest);
	assert_int_equal(parse("task-clock:G", &event), 0);
	assert_true(event.only_guest && event_is_clock(&event));
	assert_int_equal(parse("page-faults:u", &event), 0);
	assert_true(event.exclude_kernel && event.host_side && !event_is_clock(&event));
	assert_int_equal(parse("kvm:kvm_exit:H", &event), 0);
	assert_true(event.tracepoint && event.only_host);
	assert_int_equal(parse("cycles:p", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "leave out p"));
	assert_int_equal(parse("task-clock:k", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "leave out u and k"));
	assert_int_equal(parse("kvm:kvm_exit:k", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "leave out u and k"));
	assert_int_equal(parse("kvm:kvm_exit:G", &event), -EOPNOTSUPP);
	assert_non_null(strstr(why, "leave out G"));
	assert_int_equal(parse("page-faults:G", &event), -EOPNOTSUPP);
	/* In the host they can be had, all the same. */
	put("module/kvm_amd/parameters/enable_mediated_pmu", "Y\n");
	assert_int_equal(parse("cycles", &event), 0);
	assert_non_null(strstr(event.guest_why, "mediated"));
	assert_int_equal(parse("task-clock", &event), 0);
	assert_null(event.guest_why);
	put("module/kvm_amd/parameters/enable_mediated_pmu", "N\n");
	probe_result = 0;
	list.counting = false;
}

static void test_attr(void **state)
{
	struct capture_event event;
	struct perf_event_attr attr;

	(void)state;
	assert_int_equal(parse("cpu-clock:u", &event), 0);
	event_fill_attr(&event, &attr);
	/* The host's registers are in the kernel whenever a guest runs. */
	assert_false(attr.exclude_kernel || attr.exclude_host);
	assert_true(attr.freq && attr.sample_freq == EVENT_DEFAULT_FREQ);
	event.period = 5000;
	event_fill_attr(&event, &attr);
	assert_true(!attr.freq && attr.sample_period == 5000);
	assert_int_equal(parse("cycles:k", &event), 0);
	event_fill_attr(&event, &attr);
	assert_true(attr.exclude_user && !attr.exclude_kernel && attr.exclude_host);
}

static void test_long_name(void **state)
{
	struct capture_event event;
	char text[500];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(text, &event), -E2BIG);
	memcpy(text, "cpu/event=1,umask=", 18);
	memset(text + 18, '0', 80);
	memcpy(text + 98, "/", 2);
	assert_int_equal(parse(text, &event), -E2BIG);
	memcpy(text + 98, ",name=x/", 9);
	assert_int_equal(parse(text, &event), 0);
	assert_string_equal(event.name, "x");
	memset(text, 'a', sizeof(text));
	for (size_t len = 200; len > 0; len--) {
		text[len] = '\0';
		assert_int_equal(parse(text, &event), -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_modifiers), cmocka_unit_test(test_host_side),
		cmocka_unit_test(test_refused_modifiers),
		cmocka_unit_test(test_lists),	  cmocka_unit_test(test_many),
		cmocka_unit_test(test_wildcards), cmocka_unit_test(test_terms),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_max_rate),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_probe),	  cmocka_unit_test(test_mediated),
		cmocka_unit_test(test_pmu),	  cmocka_unit_test(test_pmu_bad),
		cmocka_unit_test(test_format),	  cmocka_unit_test(test_default),
		cmocka_unit_test(test_attr),	  cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_counting),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
