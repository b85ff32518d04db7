/* SPDX-License-Identifier: GPL-2.0-only */
/* File images: what is known of a file, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "objfile/file-image.h"

#define PAGE FILE_IMAGE_PAGE

static void test_limits(void **state)
{
	struct file_image *image = NULL;

	(void)state;
	assert_int_equal(file_image_create(0, &image), -EINVAL);
	assert_int_equal(file_image_create(FILE_IMAGE_MAX_SIZE + 1, &image), -E2BIG);
	assert_null(image);
	file_image_destroy(NULL);
}

static void test_pages(void **state)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	u8 page[PAGE];

	(void)state;
	memset(page, 7, sizeof(page));
	assert_int_equal(file_image_create(65 * PAGE + 10, &image), 0);
	assert_int_equal(file_image_missing(image), 66);
	assert_true(file_image_has(image, 5, 0));
	file_image_set_page(image, PAGE, page);
	file_image_set_page(image, 65 * PAGE, page);	/* ten bytes of it */
	file_image_set_page(image, 66 * PAGE, page);	/* outside */
	file_image_set_page(image, 17, page);		/* no page begins there */
	assert_int_equal(file_image_missing(image), 64);
	assert_true(file_image_has(image, PAGE, PAGE));
	assert_true(file_image_has(image, 65 * PAGE, 10));
	assert_false(file_image_has(image, 65 * PAGE, 11));
	assert_false(file_image_has(image, PAGE, PAGE + 1));
	assert_false(file_image_has(image, PAGE - 1, 2));
	assert_false(file_image_has(image, UINT64_MAX, 2));
	assert_false(file_image_has(image, 2, UINT64_MAX));
	assert_int_equal(image->data[PAGE - 1], 0);
	assert_int_equal(image->data[2 * PAGE - 1], 7);
	assert_int_equal(image->data[65 * PAGE + 9], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
