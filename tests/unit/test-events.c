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

static struct event_source source = { .sysfs = root, .tracefs = root, .probe = fake_probe };

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
	put("events/kvm/kvm_exit/id", "1234\n");
	put("events/kvm/uk/id", "77\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return build_folder_remove(root);
}

static int parse(const char *text, struct capture_event *event)
{
	const char *why = NULL;
	int err = events_parse(&source, text, event, &why);

	if (!err)
		assert_non_null(why);
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
	assert_int_equal(parse("cycles:H", &event), -EOPNOTSUPP);
	assert_int_equal(parse("cycles:pp", &event), -EOPNOTSUPP);
	assert_int_equal(parse("cycles:x", &event), -EBADMSG);
	assert_int_equal(parse("cpu/event=1/:u", &event), 0);
	assert_true(event.exclude_kernel);
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
	assert_int_equal(parse("kvm:..", &event), -EBADMSG);
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
	assert_int_equal(parse("cpu/event=1/z", &event), -EBADMSG);
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

static void test_default(void **state)
{
	struct capture_event event;
	const char *why;

	(void)state;
	probe_result = 0;
	assert_int_equal(events_parse(&source, NULL, &event, &why), 0);
	assert_string_equal(event.name, "cycles");
	assert_true(event.exclude_host);
	assert_true(probed.exclude_host && probed.disabled && probed.freq);

	probe_result = -ENOENT;
	assert_int_equal(events_parse(&source, "", &event, &why), 0);
	assert_string_equal(event.name, "cpu-clock");
	assert_int_equal(event.type, PERF_TYPE_SOFTWARE);
	assert_false(event.exclude_host);
	assert_non_null(strstr(why, "no hardware cycle counter"));

	/* A mediated vPMU: not even tried, for an open event keeps new VMs from starting. */
	probe_result = 0;
	probed.size = 0;
	put("module/kvm_amd/parameters/enable_mediated_pmu", "Y\n");
	assert_int_equal(events_parse(&source, NULL, &event, &why), 0);
	assert_string_equal(event.name, "cpu-clock");
	assert_non_null(strstr(why, "mediated"));
	assert_int_equal(probed.size, 0);
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
	char text[200];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t len = sizeof(text) - 1; len > 0; len--) {
		text[len] = '\0';
		assert_int_equal(parse(text, &event),
				 len >= sizeof(event.name) ? -E2BIG : -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_modifiers), cmocka_unit_test(test_host_side),
		cmocka_unit_test(test_pmu),	  cmocka_unit_test(test_pmu_bad),
		cmocka_unit_test(test_format),	  cmocka_unit_test(test_default),
		cmocka_unit_test(test_attr),	  cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
