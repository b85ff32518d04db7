/* SPDX-License-Identifier: GPL-2.0-only */
/* replay-NAME FILE…: runs fuzz-NAME's target on each file once, without libFuzzer. */
#include <fcntl.h>
#include <stdio.h>

#include "base/errors.h"
#include "base/file.h"

#define MAX_INPUT (64U << 20)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		_cleanup_free_ char *data = NULL;
		size_t size;
		int err = file_read(AT_FDCWD, argv[i], MAX_INPUT, &data, &size);

		if (err) {
			fprintf(stderr, "%s: %s: %s\n", argv[0], argv[i], error_text(err));
			return 1;
		}
		LLVMFuzzerTestOneInput((const u8 *)data, size);
	}
	return 0;
}
