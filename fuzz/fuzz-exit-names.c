/* SPDX-License-Identifier: GPL-2.0-only */
/* The host kernel's description of its exits, as tracefs has it, or what somebody mounted there. */
#include <string.h>

#include "count/exit-names.h"

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_names(const struct exit_names *names)
{
	char text[EXIT_NAME_LEN];

	for (u32 reason = 0; reason < 80; reason++) {
		for (u32 detail = 0; detail < 4; detail++) {
			memset(text, 0xff, sizeof(text));
			exit_names_find(names, reason * 0x01010101, detail, text);
			require(memchr(text, 0, sizeof(text)));
			require(*text);
		}
	}
	vec_for_each(&names->names, name)
		require(name->table < names->tables.nr &&
			memchr(name->name, 0, sizeof(name->name)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct exit_names names = { VEC_INIT };
	struct stat_fields fields;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!exit_fields_find(text, &fields))
		require(fields.reason_size && fields.reason_size <= 4 && fields.detail_size <= 4);
	if (!exit_names_parse(text, &names))
		check_names(&names);
	exit_names_deinit(&names);
	free(text);
	return 0;
}
