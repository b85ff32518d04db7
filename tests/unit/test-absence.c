/* SPDX-License-Identifier: GPL-2.0-only */
/* Why there is no KVM, on machines made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "build-folder.h"
#include "vm/absence.h"

#define AMD "processor\t: 0\nvendor_id\t: AuthenticAMD\n" \
	"flags\t\t: fpu svm hypervisory npt\nbugs\t:\n"
#define AMD_VM "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor\n\n"
#define INTEL "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vmx\n"
#define INTEL_VM "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n"

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text)), 0);
}

/* The answer of a machine with the modules @a and @b (NULL: none). */
static const char *ask(const char *cpuinfo, const char *a, const char *b)
{
	char *dir = build_folder_make(), path[256];
	const char *why;

	assert_non_null(dir);
	if (cpuinfo)
		put(dir, "cpuinfo", cpuinfo);
	if (a)
		put(dir, a, "");
	if (b)
		put(dir, b, "");
	snprintf(path, sizeof(path), "%s/cpuinfo", dir);
	why = vm_kvm_absence(dir, path);
	assert_int_equal(build_folder_remove(dir), 0);
	free(dir);
	return why;
}

#define KVM "module/kvm/x"

static void test_present(void **state)
{
	(void)state;
	assert_null(ask(AMD, KVM, "module/kvm_amd/x"));
	assert_null(ask(INTEL, KVM, "module/kvm_intel/x"));
	assert_null(ask(NULL, "module/kvm_amd/x", NULL));
	assert_null(ask(AMD, "module/kvm_pvm/x", "module/kvm_amd/x"));
}

/* There is a /dev/kvm, and no module to load. */
static void test_other_kind(void **state)
{
	const char *why = ask(AMD_VM, KVM, "module/kvm_pvm/x");

	(void)state;
	assert_non_null(strstr(why, "kvm_pvm"));
	assert_null(strstr(why, "modprobe"));
}

static void has(const char *why, const char *first, const char *second, const char *not)
{
	assert_non_null(why);
	assert_ptr_equal(strstr(why, first), why);
	assert_non_null(strstr(why, second));
	assert_null(strstr(why, not));
	assert_non_null(strstr(why, "reports and `make demo` need no KVM"));
}

static void test_absent(void **state)
{
	(void)state;
	has(ask(AMD, NULL, NULL), "KVM is not loaded:", "firmware", "nested");
	has(ask(NULL, NULL, NULL), "KVM is not loaded:", "firmware", "nested");
	has(ask(AMD_VM, NULL, NULL), "KVM is not loaded:", "nested virtualization", "firmware");
	has(ask(INTEL, NULL, NULL), "KVM is not loaded:", "modprobe kvm_intel", "nested");
	has(ask(INTEL_VM, NULL, NULL), "KVM is not loaded:", "then modprobe kvm_intel", "firmware");
}

static void test_half(void **state)
{
	(void)state;
	has(ask(AMD, KVM, NULL), "KVM is loaded without its part for AMD", "firmware", "nested");
	has(ask(AMD_VM, KVM, NULL), "KVM is loaded without its part for AMD",
	    "nested virtualization", "firmware");
	has(ask(INTEL, KVM, NULL), "KVM is loaded without its part for Intel", "VT-x", "nested");
	has(ask(INTEL_VM, KVM, NULL), "KVM is loaded without its part for Intel",
	    "nested virtualization", "firmware");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_present), cmocka_unit_test(test_other_kind),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
