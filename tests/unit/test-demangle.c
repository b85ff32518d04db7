/* SPDX-License-Identifier: GPL-2.0-only */
/* Demangling: what is, what is not, what would never end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "symbols/demangle.h"

static void expect(const char *name, const char *text)
{
	_cleanup_free_ char *got = demangle(name);

	if (text)
		assert_string_equal(got ? got : name, text);
	else
		assert_null(got);
}

static void test_names(void **state)
{
	(void)state;
	expect("_ZN2ns1AC1Ei", "ns::A::A");
	expect("_ZN2ns4spinIlEEdT_RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
	       "ns::spin<long>");
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	expect("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect("_GLOBAL__I_start", "global constructors keyed to start");
	expect("_GLOBAL__sub_I_start", NULL);
	expect("_ZNSolsEi@plt", "std::ostream::operator<<@plt");
	expect("puts@plt", NULL);
	expect("@plt", NULL);
}

static void test_not_mangled(void **state)
{
	static const char *const names[] = {
		"", "_", "main", "_start", "_Z", "_ZN", "_R", "__libc_start_main", "_Zzz", "Z1f",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect(names[i], NULL);
}

/* Each argument is a pair of the one before: 2^30 words when written out. */
static void test_explosion(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	strbuf_adds(&sb, "_Z1fI1aS_");
	strbuf_adds(&sb, "1pIS_S_E");
	for (int i = 0; i < 30; i++)
		strbuf_addf(&sb, "S0_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i + 1],
			    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i + 1]);
	strbuf_adds(&sb, "Evv");
	expect(strbuf_cstr(&sb), NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_mangled),
		cmocka_unit_test(test_explosion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
