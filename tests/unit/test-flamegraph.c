/* SPDX-License-Identifier: GPL-2.0-only */
/* The flame graph's page: order of frames, symbols once each, hostile text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "output/flamegraph.h"
#include "output/json.h"

static const struct flamegraph_options plain = { .title = "a title", .unit = "samples" };

/* The page's data, between its script tags; the caller frees. */
static char *profile_of(const struct flamegraph *graph)
{
	static const char open[] = "<script id=\"profile\" type=\"application/json\">";
	_cleanup_strbuf_ struct strbuf page = STRBUF_INIT;
	char *start, *end;

	assert_int_equal(flamegraph_write(graph, &page), 0);
	start = strstr(strbuf_cstr(&page), open);
	assert_non_null(start);
	start += strlen(open);
	end = strstr(start, "</script>");
	assert_non_null(end);
	return strndup(start, end - start);
}

static void test_columns(void **state)
{
	static const char *const notes[] = { "one", "two", NULL };
	struct flamegraph_options options = plain;
	_cleanup_free_ char *profile = NULL;
	struct flamegraph *graph;

	(void)state;
	options.notes = notes;
	options.inverted = true;
	assert_int_equal(flamegraph_create(&options, &graph), 0);
	assert_int_equal(flamegraph_add(graph, 0, "all", NULL, FLAMEGRAPH_PROCESS, 10), 0);
	assert_int_equal(flamegraph_add(graph, 1, "f", "prog", FLAMEGRAPH_USER, 7), 0);
	assert_int_equal(flamegraph_add(graph, 2, "g", "prog", FLAMEGRAPH_USER, 5), 0);
	assert_int_equal(flamegraph_add(graph, 2, "g", "[ext4]", FLAMEGRAPH_MODULE, 2), 0);
	assert_int_equal(flamegraph_add(graph, 1, "g", "prog", FLAMEGRAPH_USER, 3), 0);
	profile = profile_of(graph);
	assert_string_equal(profile,
		"{\"title\":\"a title\",\"unit\":\"samples\",\"guest\":false,"
		"\"inverted\":true,\"notes\":[\"one\",\"two\"],\n"
		"\"symbols\":[\n[\"all\",\"\",0],\n[\"f\",\"prog\",3],\n[\"g\",\"prog\",3],\n"
		"[\"g\",\"[ext4]\",2]],\n"
		"\"depth\":[0,1,2,2,1],\n\"symbol\":[0,1,2,3,2],\n\"weight\":[10,7,5,2,3]}");
	flamegraph_destroy(graph);
}

static void test_order(void **state)
{
	struct flamegraph *graph;

	(void)state;
	assert_int_equal(flamegraph_create(&plain, &graph), 0);
	assert_int_equal(flamegraph_add(graph, 1, "f", NULL, FLAMEGRAPH_USER, 1), -EBADMSG);
	assert_int_equal(flamegraph_add(graph, 0, "all", NULL, FLAMEGRAPH_PROCESS, 1), 0);
	assert_int_equal(flamegraph_add(graph, 0, "all", NULL, FLAMEGRAPH_PROCESS, 1), -EBADMSG);
	assert_int_equal(flamegraph_add(graph, 2, "f", NULL, FLAMEGRAPH_USER, 1), -EBADMSG);
	assert_int_equal(flamegraph_add(graph, 1, "f", NULL, FLAMEGRAPH_USER, 1), 0);
	flamegraph_destroy(graph);
	flamegraph_destroy(NULL);
}

static void test_empty(void **state)
{
	_cleanup_free_ char *profile = NULL;
	struct flamegraph *graph;

	(void)state;
	assert_int_equal(flamegraph_create(&plain, &graph), 0);
	profile = profile_of(graph);
	assert_non_null(strstr(profile, "\"symbols\":[],\n\"depth\":[],"));
	flamegraph_destroy(graph);
}

static void test_hostile_text(void **state)
{
	struct flamegraph_options options = plain;
	_cleanup_free_ char *profile = NULL;
	struct flamegraph *graph;

	(void)state;
	options.title = "</title><script>alert(1)</script>";
	assert_int_equal(flamegraph_create(&options, &graph), 0);
	assert_int_equal(flamegraph_add(graph, 0, "</script><!--", "\"\\\n\x1b[2J\xff\xe2\x80\xa8",
					FLAMEGRAPH_USER, 1), 0);
	profile = profile_of(graph);
	assert_null(strchr(profile, '<'));
	assert_null(strchr(profile, '>'));
	assert_non_null(strstr(profile, "[\"\\u003c/script\\u003e\\u003c!--\","
			       "\"\\\"\\\\\\\\x0a\\\\x1b[2J\\\\xff\\\\xe2\\\\x80\\\\xa8\",3]"));
	flamegraph_destroy(graph);
}

/* A symbol that comes twenty times is stored once. */
static void test_many(void **state)
{
	_cleanup_free_ char *profile = NULL;
	struct flamegraph *graph;
	char name[32];

	(void)state;
	assert_int_equal(flamegraph_create(&plain, &graph), 0);
	assert_int_equal(flamegraph_add(graph, 0, "all", NULL, FLAMEGRAPH_PROCESS, 100000), 0);
	for (unsigned int i = 1; i <= 100000; i++) {
		snprintf(name, sizeof(name), "f%u", i % 5000);
		assert_int_equal(flamegraph_add(graph, i, name, "m", FLAMEGRAPH_USER, 100001 - i),
				 0);
	}
	profile = profile_of(graph);
	assert_non_null(strstr(profile, "[\"f4999\",\"m\",3],\n[\"f0\",\"m\",3]],"));
	flamegraph_destroy(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
