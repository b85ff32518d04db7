/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel build as bytes and back. */
#include "guest/build-file.h"

#include <string.h>

#include "base/cursor.h"
#include "base/hashmap.h"

#define MAGIC "KVMPKRN\n"
#define VERSION 10	/* raise it with every change of what is written or of how it is found */

#define LAYOUT_WORDS (sizeof(struct kernel_layout) / sizeof(u32))
_Static_assert(sizeof(struct kernel_layout) % sizeof(u32) == 0, "an array of u32");
_Static_assert(sizeof(struct ksym) == 16, "no padding that is not named");
_Static_assert(sizeof(struct build_place) == 16, "no padding");

/* The parts of fixed size, raw. */
struct fixed {
	char release[GUEST_RELEASE_LEN];
	char banner[GUEST_BANNER_LEN];
	u8 has_btf;
	u8 addressing;
	u8 long_lengths;
	u8 marker_size;
	u8 addresses_last;
	u8 pad[2];
	u64 image_size;
	u64 names_start, names_end;
	u64 addresses_start, addresses_end;
	struct build_place places[PLACE_NR];
	struct build_span spans[SPAN_NR];
	u32 layout[LAYOUT_WORDS];
	u32 thread_size;
	u32 pt_regs_top;
	u32 word;
	u32 nr_symbols;
	u32 strings_size;
	u32 nr_orc;
};

static void fill_fixed(const struct kernel_build *build, struct fixed *fixed)
{
	const struct kallsyms *k = build->symbols;

	memset(fixed, 0, sizeof(*fixed));
	memcpy(fixed->release, build->release, sizeof(fixed->release));
	memcpy(fixed->banner, build->banner, sizeof(fixed->banner));
	memcpy(fixed->places, build->places, sizeof(fixed->places));
	memcpy(fixed->spans, build->spans, sizeof(fixed->spans));
	memcpy(fixed->layout, &build->layout, sizeof(fixed->layout));
	fixed->has_btf = build->has_btf;
	fixed->image_size = build->image_size;
	fixed->thread_size = build->thread_size;
	fixed->pt_regs_top = build->pt_regs_top;
	fixed->word = build->word;
	fixed->addressing = k->addressing;
	fixed->long_lengths = k->long_lengths;
	fixed->marker_size = k->marker_size;
	fixed->addresses_last = k->addresses_last;
	fixed->names_start = k->names_start;
	fixed->names_end = k->names_end;
	fixed->addresses_start = k->addresses_start;
	fixed->addresses_end = k->addresses_end;
	fixed->nr_symbols = k->nr;
	fixed->strings_size = k->strings_size;
	fixed->nr_orc = build->orc ? build->orc->nr : 0;
}

/* As orc_table_create() takes them when the table of addresses itself is at 0. */
static void put_orc(const struct orc_table *orc, struct strbuf *out)
{
	if (!orc)
		return;
	for (u32 i = 0; i < orc->nr; i++) {
		s32 ip = orc->start + orc->offset[i] - (u64)i * sizeof(ip);

		strbuf_add(out, &ip, sizeof(ip));
	}
	strbuf_add(out, orc->entries, (size_t)orc->nr * ORC_ENTRY_SIZE);
}

int build_file_write(const struct kernel_build *build, const struct fingerprint *fingerprint,
		     struct strbuf *out)
{
	struct build_file_header header = {
		.version = VERSION,
		.build_id_size = build->build_id.size,
		.build_id_offset = build->build_id_offset,
		.fingerprint = *fingerprint,
	};
	size_t at = out->len;
	struct fixed fixed;

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	memcpy(header.build_id, build->build_id.data, GUEST_BUILD_ID_MAX);
	fill_fixed(build, &fixed);
	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, &fixed, sizeof(fixed));
	strbuf_add(out, build->symbols->symbols, (size_t)fixed.nr_symbols * sizeof(struct ksym));
	strbuf_add(out, build->symbols->strings, fixed.strings_size);
	put_orc(build->orc, out);
	if (strbuf_error(out))
		return strbuf_error(out);
	header.payload_size = out->len - at - sizeof(header);
	header.payload_hash = hash_bytes(out->data + at + sizeof(header), header.payload_size);
	memcpy(out->data + at, &header, sizeof(header));
	return header.payload_size + sizeof(header) > BUILD_FILE_MAX ? -E2BIG : 0;
}

int build_file_read_header(const void *data, size_t size, struct build_file_header *ret)
{
	struct build_file_header header;
	struct cursor c;

	cursor_init(&c, data, size);
	if (cursor_copy(&c, &header, sizeof(header)))
		return -ENODATA;
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)))
		return -EBADMSG;
	if (header.version != VERSION)
		return -EOPNOTSUPP;
	if (!header.build_id_size || header.build_id_size > GUEST_BUILD_ID_MAX)
		return -EBADMSG;
	*ret = header;
	return 0;
}

static int read_symbols(struct cursor *c, const struct fixed *fixed, struct kernel_build *build)
{
	const void *symbols = cursor_bytes(c, (size_t)fixed->nr_symbols * sizeof(struct ksym));
	const char *strings = cursor_bytes(c, fixed->strings_size);
	struct kallsyms *k;

	if (!symbols || !strings)
		return -ENODATA;
	if (!fixed->nr_symbols || !fixed->strings_size || strings[fixed->strings_size - 1])
		return -EBADMSG;
	k = build->symbols = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->symbols = malloc((size_t)fixed->nr_symbols * sizeof(*k->symbols));
	k->strings = calloc(1, (size_t)fixed->strings_size + KALLSYMS_SLACK);
	if (!k->symbols || !k->strings)
		return -ENOMEM;
	memcpy(k->symbols, symbols, (size_t)fixed->nr_symbols * sizeof(*k->symbols));
	memcpy(k->strings, strings, fixed->strings_size);
	k->strings_size = fixed->strings_size;
	k->nr = fixed->nr_symbols;
	for (u32 i = 0; i < k->nr; i++)
		if (k->symbols[i].name >= k->strings_size || k->symbols[i].absolute > 1)
			return -EBADMSG;
	k->addressing = fixed->addressing;
	k->long_lengths = fixed->long_lengths;
	k->marker_size = fixed->marker_size;
	k->addresses_last = fixed->addresses_last;
	k->names_start = fixed->names_start;
	k->names_end = fixed->names_end;
	k->addresses_start = fixed->addresses_start;
	k->addresses_end = fixed->addresses_end;
	return 0;
}

static int read_orc(struct cursor *c, u32 nr, struct kernel_build *build)
{
	const void *ip, *entries;

	if (!nr)
		return 0;
	ip = cursor_bytes(c, (size_t)nr * sizeof(s32));
	entries = cursor_bytes(c, (size_t)nr * ORC_ENTRY_SIZE);
	if (!ip || !entries)
		return -ENODATA;
	return orc_table_create(build->layout.orc_format, 0, ip, entries, nr, &build->orc);
}

static int check_fixed(const struct fixed *fixed)
{
	if (fixed->release[GUEST_RELEASE_LEN - 1] || fixed->banner[GUEST_BANNER_LEN - 1])
		return -EBADMSG;
	if (fixed->image_size > IMAGE_MAX_SIZE)
		return -EBADMSG;
	for (unsigned int i = 0; i < SPAN_NR; i++)
		if (fixed->spans[i].offset > fixed->image_size ||
		    fixed->spans[i].size > fixed->image_size - fixed->spans[i].offset)
			return -EBADMSG;
	return 0;
}

static int read_payload(struct cursor *c, struct kernel_build *build)
{
	struct fixed fixed;
	int err;

	if (cursor_copy(c, &fixed, sizeof(fixed)))
		return -ENODATA;
	err = check_fixed(&fixed);
	if (err)
		return err;
	memcpy(build->release, fixed.release, sizeof(build->release));
	memcpy(build->banner, fixed.banner, sizeof(build->banner));
	memcpy(build->places, fixed.places, sizeof(build->places));
	memcpy(build->spans, fixed.spans, sizeof(build->spans));
	memcpy(&build->layout, fixed.layout, sizeof(build->layout));
	build->has_btf = fixed.has_btf;
	build->image_size = fixed.image_size;
	build->thread_size = fixed.thread_size;
	build->pt_regs_top = fixed.pt_regs_top;
	build->word = fixed.word;
	err = read_symbols(c, &fixed, build);
	return err ?: read_orc(c, fixed.nr_orc, build);
}

int build_file_read(const void *data, size_t size, struct kernel_build **ret)
{
	_cleanup_(kernel_build_put) struct kernel_build *build = NULL;
	struct build_file_header header;
	struct cursor c;
	int err = build_file_read_header(data, size, &header);

	if (err)
		return err;
	cursor_init(&c, data, size);
	cursor_skip(&c, sizeof(header));
	if (cursor_left(&c) < header.payload_size)
		return -ENODATA;
	if (cursor_left(&c) > header.payload_size ||
	    hash_bytes(c.pos, header.payload_size) != header.payload_hash)
		return -EBADMSG;
	build = calloc(1, sizeof(*build));
	if (!build)
		return -ENOMEM;
	build->users = 1;
	build->build_id.size = header.build_id_size;
	memcpy(build->build_id.data, header.build_id, GUEST_BUILD_ID_MAX);
	build->build_id_offset = header.build_id_offset;
	err = read_payload(&c, build);
	if (err)
		return err;
	*ret = TAKE_PTR(build);
	return 0;
}
