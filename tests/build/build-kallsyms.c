/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kallsyms tables. The compression is the kernel's idea in its simplest form: as long as a byte is
 * free, it stands for the pair of bytes that is most frequent now.
 */
#include "build-kallsyms.h"

#include <string.h>

const struct build_kallsyms_release build_kallsyms_releases[BUILD_KALLSYMS_RELEASES] = {
	{ "4.4", { .addressing = KALLSYMS_ABSOLUTE, .marker_size = 8 } },
	{ "4.19", { .addressing = KALLSYMS_BASE_PERCPU, .marker_size = 8 } },
	{ "5.10", { .addressing = KALLSYMS_BASE_PERCPU, .marker_size = 4 } },
	{ "5.10-absolute", { .addressing = KALLSYMS_ABSOLUTE, .marker_size = 4 } },
	{ "6.1", { .addressing = KALLSYMS_BASE_PERCPU, .marker_size = 4, .long_lengths = true } },
	{ "6.2", { .addressing = KALLSYMS_BASE_PERCPU, .marker_size = 4, .long_lengths = true,
		   .seq_size = 3 } },
	{ "6.12", { .addressing = KALLSYMS_BASE_PERCPU, .marker_size = 4, .long_lengths = true,
		    .seq_size = 3, .addresses_last = true } },
	{ "6.15", { .addressing = KALLSYMS_BASE, .marker_size = 4, .long_lengths = true,
		    .seq_size = 3, .addresses_last = true } },
	{ "7.0", { .addressing = KALLSYMS_PLACE, .marker_size = 4, .long_lengths = true,
		   .seq_size = 3, .addresses_last = true, .align = 4 } },
};

static u8 align_of(const struct build_kallsyms_format *format)
{
	return format->align ? format->align : 8;
}

struct name {
	u8 bytes[KALLSYMS_NAME_MAX + 1];	/* the type, then the name */
	u32 len;
};

struct compressor {
	struct name *names;
	u32 nr;
	bool used[256];		/* the code stands for something */
	u8 pairs[256][2];
	bool is_pair[256];
};

static void init_names(struct compressor *c, const struct build_ksym *symbols, u32 nr)
{
	c->names = calloc(nr ? nr : 1, sizeof(*c->names));
	if (!c->names)
		abort();
	c->nr = nr;
	for (u32 i = 0; i < nr; i++) {
		struct name *name = &c->names[i];
		size_t len = strnlen(symbols[i].name, KALLSYMS_NAME_MAX);

		name->bytes[0] = symbols[i].type;
		memcpy(name->bytes + 1, symbols[i].name, len);
		name->len = len + 1;
		for (u32 j = 0; j < name->len; j++)
			c->used[name->bytes[j]] = true;
	}
	/* A kernel's symbols have all digits in them. */
	for (int digit = '0'; digit <= '9'; digit++)
		c->used[digit] = true;
}

/* The most frequent pair; false when no pair comes twice. */
static bool best_pair(const struct compressor *c, u8 *pair)
{
	u32 *count = calloc(65536, sizeof(*count)), best = 0;

	if (!count)
		abort();
	for (u32 i = 0; i < c->nr; i++)
		for (u32 j = 0; j + 1 < c->names[i].len; j++)
			count[c->names[i].bytes[j] << 8 | c->names[i].bytes[j + 1]]++;
	for (u32 i = 1; i < 65536; i++)
		if (count[i] > count[best])
			best = i;
	pair[0] = best >> 8;
	pair[1] = best;
	best = count[best];
	free(count);
	return best > 1;
}

static void replace_pair(struct name *name, const u8 *pair, u8 code)
{
	u32 to = 0;

	for (u32 i = 0; i < name->len; i++) {
		if (i + 1 < name->len && !memcmp(name->bytes + i, pair, 2)) {
			name->bytes[to++] = code;
			i++;
		} else {
			name->bytes[to++] = name->bytes[i];
		}
	}
	name->len = to;
}

static void compress(struct compressor *c, unsigned int max_tokens)
{
	for (int code = 255; code >= 0; code--) {
		if (c->used[code])
			continue;
		if (!max_tokens-- || !best_pair(c, c->pairs[code]))
			break;
		c->used[code] = c->is_pair[code] = true;
		for (u32 i = 0; i < c->nr; i++)
			replace_pair(&c->names[i], c->pairs[code], code);
	}
}

static void expand_code(struct strbuf *out, const struct compressor *c, u8 code)
{
	if (c->is_pair[code]) {
		expand_code(out, c, c->pairs[code][0]);
		expand_code(out, c, c->pairs[code][1]);
	} else if (c->used[code]) {
		put_u8(out, code);
	}
}

static void put_names(struct strbuf *out, const struct compressor *c, bool long_lengths,
		      u32 *marks)
{
	size_t begin = out->len;

	for (u32 i = 0; i < c->nr; i++) {
		if (i % 256 == 0)
			marks[i / 256] = out->len - begin;
		if (long_lengths)
			put_uleb128(out, c->names[i].len);
		else
			put_u8(out, c->names[i].len);
		strbuf_add(out, c->names[i].bytes, c->names[i].len);
	}
}

static void put_markers(struct strbuf *out, const u32 *marks, u32 nr, u8 size)
{
	for (u32 i = 0; i < (nr + 255) / 256; i++) {
		put_u32(out, marks[i]);
		if (size == 8)
			put_u32(out, 0);
	}
}

/* Nobody reads the order by name; what matters is that it is there. */
static void put_seqs(struct strbuf *out, u32 nr, u8 size)
{
	for (u32 i = 0; i < nr && size; i++) {
		u8 bytes[4] = { i >> 16, i >> 8, i };

		strbuf_add(out, bytes, size);
	}
}

static void put_tokens(struct strbuf *out, const struct compressor *c, u8 align,
		       struct build_kallsyms_places *places)
{
	u16 index[256];

	put_align(out, align);
	places->token_table = out->len;
	for (int code = 0; code < 256; code++) {
		index[code] = out->len - places->token_table;
		expand_code(out, c, code);
		put_u8(out, 0);
	}
	put_align(out, align);
	places->token_index = out->len;
	for (int code = 0; code < 256; code++)
		put_u16(out, index[code]);
}

static void put_offset(struct strbuf *out, u64 start, enum kallsyms_addressing addressing,
		       const struct build_ksym *symbol)
{
	if (addressing == KALLSYMS_BASE_PERCPU)
		put_u32(out, symbol->absolute ? symbol->address : start - symbol->address - 1);
	else if (addressing == KALLSYMS_BASE)
		put_u32(out, symbol->address - start);
	else
		put_u32(out, symbol->address - (start + out->len));
}

static void put_addresses(struct strbuf *out, u64 start,
			  const struct build_kallsyms_format *format,
			  const struct build_ksym *symbols, u32 nr,
			  struct build_kallsyms_places *places)
{
	enum kallsyms_addressing addressing = format->addressing;

	put_align(out, align_of(format));
	places->addresses = out->len;
	for (u32 i = 0; i < nr; i++) {
		if (addressing == KALLSYMS_ABSOLUTE)
			put_u64(out, symbols[i].address);
		else
			put_offset(out, start, addressing, &symbols[i]);
	}
	put_align(out, align_of(format));
	places->base = 0;
	if (addressing == KALLSYMS_ABSOLUTE || addressing == KALLSYMS_PLACE)
		return;
	places->base = out->len;
	if (format->narrow_base)
		put_u32(out, start);
	else
		put_u64(out, start);
}

static void put_tables(struct strbuf *out, const struct build_kallsyms_format *format,
		       const struct compressor *c, struct build_kallsyms_places *places)
{
	u32 *marks = calloc(c->nr / 256 + 1, sizeof(*marks));
	u8 align = align_of(format);

	if (!marks)
		abort();
	put_align(out, align);
	places->num_syms = out->len;
	put_u32(out, c->nr);
	put_align(out, align);
	places->names = out->len;
	put_names(out, c, format->long_lengths, marks);
	put_align(out, align);
	places->markers = out->len;
	put_markers(out, marks, c->nr, format->marker_size);
	put_align(out, align);
	if (!format->addresses_last)
		put_seqs(out, c->nr, format->seq_size);
	put_tokens(out, c, align, places);
	free(marks);
}

void build_kallsyms(struct strbuf *out, u64 start, const struct build_kallsyms_format *format,
		    const struct build_ksym *symbols, u32 nr, struct build_kallsyms_places *ret)
{
	struct build_kallsyms_places places = { 0 };
	struct compressor c = { 0 };

	init_names(&c, symbols, nr);
	compress(&c, format->max_tokens ? format->max_tokens : 256);
	put_align(out, align_of(format));
	places.begin = out->len;
	if (!format->addresses_last)
		put_addresses(out, start, format, symbols, nr, &places);
	put_tables(out, format, &c, &places);
	if (format->addresses_last) {
		put_addresses(out, start, format, symbols, nr, &places);
		put_seqs(out, nr, format->seq_size);
		put_align(out, 8);
	}
	places.end = out->len;
	free(c.names);
	if (ret)
		*ret = places;
}
