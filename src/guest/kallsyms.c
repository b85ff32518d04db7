/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kallsyms in a kernel image. scripts/kallsyms.c writes the parts in this order, each of them at a
 * multiple of 8, or of 4 from 7.0 on:
 *
 *	to 6.3		addresses, or offsets and their base;
 *			num_syms, names, markers, [seqs_of_names,] token_table, token_index
 *	from 6.4	num_syms, names, markers, token_table, token_index;
 *			addresses, or offsets and their base; seqs_of_names
 *			(404bad70fcf7 "scripts/kallsyms: change the output order")
 *
 * and what is in them changed too:
 *
 *	4.6	2213e9a66bb8 "kallsyms: add support for relative offsets in kallsyms address table"
 *	4.20	80ffbaa5b1bd "kallsyms: reduce size a little on 64-bit": markers, num_syms 32 bits
 *	6.1	73bbb94466fd "kallsyms: support "big" kernel symbols": lengths in ULEB128
 *	6.2	60443c88f3a8 "kallsyms: Improve the performance of kallsyms_lookup_name()":
 *		seqs_of_names, 4 bytes each, 3 in the release
 *	6.11	64e166099b69 "kallsyms: get rid of code for absolute kallsyms"
 *	6.15	01157ddc58dc "kallsyms: Remove KALLSYMS_ABSOLUTE_PERCPU"
 *	7.0	a081b5789255 "kallsyms: Get rid of kallsyms relative base": offsets from the
 *		entry's own place
 *
 * No version is asked. The token table is recognised by the ten digits that every kernel's symbols
 * use; its index, which has to match byte for byte, gives its start. The count of symbols is where
 * walking that many names ends at markers that match the walk. The addresses are where one of the
 * four encodings makes an ascending list whose _text is the image's start.
 */
#include "guest/kallsyms.h"

#include <string.h>

#include "base/cursor.h"
#include "base/strbuf.h"

#define NR_TOKENS 256
#define MARKER_STEP 256		/* symbols a marker */
#define MAX_TOKEN_TABLE 65536	/* the index is 16 bits wide */
#define MAX_NAMES_DISTANCE (64U << 20)
#define MAX_TABLES 64		/* candidates of token tables */

#define MAX_STRINGS (128U << 20)

/* Kernels of 32 bits begin here at the earliest (PAGE_OFFSET), those of 64 bits are below. */
#define LOWEST_32 0xffffffffc0000000ULL

/*
 * Places that may be looked at and names stepped over, for all candidates together. A kernel of
 * 200,000 symbols takes a million; hostile bytes get some hundred milliseconds.
 */
#define WALK_BUDGET (32U << 20)

/* Without _text in the table (no KALLSYMS_ALL), _stext is this near. */
#define STEXT_DISTANCE (2U << 20)

/* Where the parts are, as offsets into the image. */
struct layout {
	size_t token_table;
	size_t token_index;
	size_t num_syms;
	size_t names;
	size_t markers;
	size_t addresses;
	u64 base;
	u32 nr;
	enum kallsyms_addressing addressing;
	u8 align;	/* of each part */
	u8 marker_size;
	bool long_lengths;
	bool addresses_last;
};

struct parser {
	const u8 *image;
	size_t size;
	u64 start;
	u32 budget;
	struct layout at;
	const char *tokens[NR_TOKENS];
	u16 token_len[NR_TOKENS];
};

static u16 image_u16(const struct parser *p, size_t offset)
{
	u16 v;

	memcpy(&v, p->image + offset, sizeof(v));
	return v;
}

static u32 image_u32(const struct parser *p, size_t offset)
{
	u32 v;

	memcpy(&v, p->image + offset, sizeof(v));
	return v;
}

static u64 image_u64(const struct parser *p, size_t offset)
{
	u64 v;

	memcpy(&v, p->image + offset, sizeof(v));
	return v;
}

static bool in_image(const struct parser *p, size_t offset, size_t size)
{
	return offset <= p->size && size <= p->size - offset;
}

/* Whether the index at .token_index describes the table at .token_table; fills in the tokens. */
static bool check_tokens(struct parser *p)
{
	size_t offset = 0, end = p->at.token_index;

	for (unsigned int i = 0; i < NR_TOKENS; i++) {
		size_t at = p->at.token_table + offset, len;

		if (at >= end || image_u16(p, p->at.token_index + 2 * i) != offset)
			return false;
		len = strnlen((const char *)p->image + at, end - at);
		if (len == end - at)
			return false;
		p->tokens[i] = (const char *)p->image + at;
		p->token_len[i] = len;
		offset += len + 1;
	}
	return ALIGN_UP(p->at.token_table + offset, p->at.align) == end;
}

/*
 * @digits is where the tokens "0" to "9" lie, which are numbers 0x30 to 0x39: from there to the
 * table's end, then back to its start by what the index says.
 */
static bool locate_tokens(struct parser *p, size_t digits)
{
	size_t at = digits, limit = MIN(p->size, digits + MAX_TOKEN_TABLE), before;

	for (unsigned int i = '0'; i < NR_TOKENS; i++) {
		const u8 *nul = memchr(p->image + at, '\0', limit - at);

		if (!nul)
			return false;
		at = nul - p->image + 1;
	}
	p->at.token_index = ALIGN_UP(at, p->at.align);
	if (!in_image(p, p->at.token_index, NR_TOKENS * sizeof(u16)))
		return false;
	before = image_u16(p, p->at.token_index + '0' * sizeof(u16));
	if (before > digits)
		return false;
	p->at.token_table = digits - before;
	return p->at.token_table % p->at.align == 0 && check_tokens(p);
}

/* The length of the compressed name at *@at, which moves behind it. 0: there is none. */
static size_t name_length(const struct parser *p, size_t *at, size_t end, bool long_lengths)
{
	size_t len;

	if (*at >= end)
		return 0;
	len = p->image[(*at)++];
	if (long_lengths && len >= 0x80) {
		if (*at >= end || p->image[*at] >= 0x80)
			return 0;
		len = (len & 0x7f) | (size_t)p->image[(*at)++] << 7;
	}
	return len;
}

static bool spend(struct parser *p, u32 steps)
{
	if (p->budget < steps)
		return false;
	p->budget -= steps;
	return true;
}

/* Steps over all names and notes where each 256th is. 0 when they do not fit, else their end. */
static size_t walk_names(struct parser *p, u32 nr, bool long_lengths, u32 *marks)
{
	size_t at = p->at.names, end = p->at.token_table;

	for (u32 i = 0; i < nr; i++) {
		size_t len;

		if (i % MARKER_STEP == 0)
			marks[i / MARKER_STEP] = at - p->at.names;
		if (!spend(p, 1))
			return 0;
		len = name_length(p, &at, end, long_lengths);
		if (!len || len > end - at)
			return 0;
		at += len;
	}
	return at;
}

static bool markers_match(const struct parser *p, const u32 *marks, u32 nr_marks, u8 size)
{
	for (u32 i = 0; i < nr_marks; i++) {
		size_t at = p->at.markers + (size_t)i * size;
		u64 marker = size == 4 ? image_u32(p, at) : image_u64(p, at);

		if (marker != marks[i])
			return false;
	}
	return true;
}

/*
 * The place of the markers when they are @size bytes each: before the token table, or before
 * seqs_of_names, @seq bytes each, which are in between in 6.2 and 6.3. They begin with 0 and
 * another number: hardly anything else has to be walked to see that it does not fit.
 */
static bool place_markers(struct parser *p, u32 nr, u8 size, u8 seq)
{
	size_t nr_marks = (nr + MARKER_STEP - 1) / MARKER_STEP;
	size_t length = ALIGN_UP(nr_marks * size, p->at.align) +
			ALIGN_UP((size_t)nr * seq, p->at.align);
	size_t at = p->at.token_table - length;

	if (length > p->at.token_table - p->at.names)
		return false;
	p->at.markers = at;
	p->at.marker_size = size;
	return (size == 4 ? image_u32(p, at) : image_u64(p, at)) == 0 &&
	       (nr_marks == 1 || image_u32(p, at + size));
}

static bool all_zero(const struct parser *p, size_t at, size_t end)
{
	while (at < end && !p->image[at])
		at++;
	return at == end;
}

/* Whether @nr names lie up to the markers. Lengths of 6.1 and of before differ over 127. */
static bool check_names(struct parser *p, u32 nr, u32 *marks)
{
	u32 nr_marks = (nr + MARKER_STEP - 1) / MARKER_STEP;

	for (int long_lengths = 1; long_lengths >= 0; long_lengths--) {
		size_t end = walk_names(p, nr, long_lengths, marks);

		if (!end || ALIGN_UP(end, p->at.align) != p->at.markers ||
		    !all_zero(p, end, p->at.markers) ||
		    !markers_match(p, marks, nr_marks, p->at.marker_size))
			continue;
		p->at.long_lengths = long_lengths;
		p->at.nr = nr;
		return true;
	}
	return false;
}

static int check_count(struct parser *p, u32 nr)
{
	static const u8 sizes[] = { 4, 8 }, seqs[] = { 0, 3, 4 };
	_cleanup_free_ u32 *marks = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(seqs); i++) {
		if (!place_markers(p, nr, sizes[i % ARRAY_SIZE(sizes)],
				   seqs[i / ARRAY_SIZE(sizes)]) || !spend(p, 32))
			continue;
		if (!marks)
			marks = malloc((nr / MARKER_STEP + 1) * sizeof(*marks));
		if (!marks)
			return -ENOMEM;
		if (check_names(p, nr, marks))
			return 0;
	}
	return -ENOENT;
}

/*
 * Searches num_syms backwards from the token table. It is a small number, with zeros up to the
 * names, which compressed names rarely look like; a name is at least a length and a type.
 */
static int find_names(struct parser *p)
{
	size_t farthest = MIN(p->at.token_table, MAX_NAMES_DISTANCE), step = p->at.align;

	for (size_t distance = 2 * step; distance <= farthest && spend(p, 1); distance += step) {
		size_t at = p->at.token_table - distance;
		u64 nr = step == 8 ? image_u64(p, at) : image_u32(p, at);
		int err;

		if (!nr || nr > KALLSYMS_MAX_SYMBOLS || nr > distance / 2)
			continue;
		if (distance / nr > KALLSYMS_NAME_MAX + 8)
			continue;
		p->at.num_syms = at;
		p->at.names = at + step;
		err = check_count(p, nr);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

static u64 decode_address(const struct parser *p, u32 i)
{
	size_t at = p->at.addresses + i * sizeof(u32);
	s32 offset;

	if (p->at.addressing == KALLSYMS_ABSOLUTE)
		return image_u64(p, p->at.addresses + i * sizeof(u64));
	offset = (s32)image_u32(p, at);
	switch (p->at.addressing) {
	case KALLSYMS_BASE:
		return p->at.base + (u32)offset;
	case KALLSYMS_BASE_PERCPU:
		return offset >= 0 ? (u64)offset : p->at.base - 1 - (s64)offset;
	default:
		return p->start + at + (s64)offset;
	}
}

static bool ascending(const struct parser *p)
{
	u64 last = 0;

	for (u32 i = 0; i < p->at.nr; i++) {
		u64 address = decode_address(p, i);

		if (address < last)
			return false;
		last = address;
	}
	return true;
}

/* The index of the symbol @name, or .nr. */
static u32 index_of(const struct parser *p, const struct kallsyms *k, const char *name)
{
	const struct ksym *ksym = kallsyms_find(k, name);

	return ksym ? (u32)(ksym - k->symbols) : p->at.nr;
}

static bool anchored(const struct parser *p, u32 text, u32 stext)
{
	if (text < p->at.nr)
		return decode_address(p, text) == p->start;
	if (stext < p->at.nr)
		return decode_address(p, stext) - p->start < STEXT_DISTANCE;
	return false;
}

/* Of a kernel of 32 bits it has 4 bytes, and is sign-extended as all its addresses are. */
static u64 read_base(const struct parser *p, size_t at, size_t size)
{
	if (size == sizeof(u64))
		return image_u64(p, at);
	return size == sizeof(u32) ? (u64)(s32)image_u32(p, at) : 0;
}

/* The places where addresses can be, and how they can be read there. */
static int find_addresses(struct parser *p, const struct kallsyms *k)
{
	size_t wide = (size_t)p->at.nr * sizeof(u64);
	size_t narrow = ALIGN_UP((size_t)p->at.nr * sizeof(u32), p->at.align);
	size_t first = p->at.num_syms, last = p->at.token_index + NR_TOKENS * sizeof(u16);
	const struct {
		enum kallsyms_addressing addressing;
		size_t addresses;	/* past the image's end when it would begin before it */
		size_t size;
		bool addresses_last;
	} forms[] = {
		{ KALLSYMS_BASE_PERCPU, first - narrow - 8, narrow + 8, false },
		{ KALLSYMS_BASE, first - narrow - 8, narrow + 8, false },
		{ KALLSYMS_BASE, first - narrow - 4, narrow + 4, false },
		{ KALLSYMS_ABSOLUTE, first - wide, wide, false },
		{ KALLSYMS_BASE_PERCPU, last, narrow + 8, true },
		{ KALLSYMS_BASE, last, narrow + 8, true },
		{ KALLSYMS_BASE, last, narrow + 4, true },
		{ KALLSYMS_ABSOLUTE, last, wide, true },
		{ KALLSYMS_PLACE, last, narrow, true },
	};
	u32 text = index_of(p, k, "_text"), stext = index_of(p, k, "_stext");

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (!in_image(p, forms[i].addresses, forms[i].size) ||
		    (forms[i].size == narrow + sizeof(u32) && p->start < LOWEST_32))
			continue;
		p->at.addresses = forms[i].addresses;
		p->at.addressing = forms[i].addressing;
		p->at.addresses_last = forms[i].addresses_last;
		p->at.base = read_base(p, forms[i].addresses + narrow,
				       forms[i].size - narrow);
		if (anchored(p, text, stext) && ascending(p))
			return 0;
	}
	return -ENOENT;
}

/* Appends the name at *@at and its type. Tokens are bytes: the first one of all is the type. */
static void expand_name(const struct parser *p, size_t *at, struct ksym *ksym, char *out,
			size_t *used)
{
	size_t len = name_length(p, at, p->at.token_table, p->at.long_lengths);
	size_t left = KALLSYMS_NAME_MAX + 1, to = *used;
	const u8 *data = p->image + *at;

	for (size_t i = 0; i < len && left; i++) {
		size_t part = MIN(p->token_len[data[i]], left);

		memcpy(out + to, p->tokens[data[i]], part);
		to += part;
		left -= part;
	}
	out[to] = '\0';
	ksym->type = out[*used];
	ksym->name = to > *used ? *used + 1 : *used;
	*used = to + 1;
	*at += len;
}

/* What the names take when expanded, each with its type, its NUL, and cut as expand_name() does. */
static size_t expanded_size(const struct parser *p)
{
	size_t at = p->at.names, total = 0;

	for (u32 i = 0; i < p->at.nr; i++) {
		size_t len = name_length(p, &at, p->at.token_table, p->at.long_lengths), sum = 0;

		for (size_t j = 0; j < len; j++)
			sum += p->token_len[p->image[at + j]];
		total += MIN(sum, (size_t)KALLSYMS_NAME_MAX + 1) + 1;
		at += len;
	}
	return total;
}

static int expand_names(const struct parser *p, struct kallsyms *k)
{
	size_t at = p->at.names, used = 0;

	k->strings_size = expanded_size(p);
	if (k->strings_size > MAX_STRINGS)
		return -E2BIG;
	k->strings = malloc(k->strings_size + KALLSYMS_SLACK);
	k->symbols = calloc(p->at.nr, sizeof(*k->symbols));
	if (!k->strings || !k->symbols)
		return -ENOMEM;
	memset(k->strings + k->strings_size, 0, KALLSYMS_SLACK);
	for (u32 i = 0; i < p->at.nr; i++)
		expand_name(p, &at, &k->symbols[i], k->strings, &used);
	k->nr = p->at.nr;
	return 0;
}

/* Kernel addresses are in the upper half; what is not is a per-CPU offset, which does not move. */
static void fill_values(const struct parser *p, struct kallsyms *k)
{
	for (u32 i = 0; i < k->nr; i++) {
		u64 address = decode_address(p, i);

		k->symbols[i].absolute = (s64)address >= 0;
		k->symbols[i].value = k->symbols[i].absolute ? address : address - p->start;
	}
	k->names_start = p->at.num_syms;
	k->names_end = p->at.token_index + NR_TOKENS * sizeof(u16);
	k->addresses_start = p->at.addresses;
	k->addresses_end = p->at.addresses +
			   (size_t)k->nr * (p->at.addressing == KALLSYMS_ABSOLUTE ? 8 : 4);
	k->addressing = p->at.addressing;
	k->addresses_last = p->at.addresses_last;
	k->marker_size = p->at.marker_size;
	k->long_lengths = p->at.long_lengths;
}

/* Everything that hangs on the token table with its digits there. */
static int parse_at_digits(struct parser *p, size_t digits, u8 align, struct kallsyms **ret)
{
	_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;
	int err;

	p->at = (struct layout){ .align = align };
	if (!locate_tokens(p, digits))
		return -ENOENT;
	err = find_names(p);
	if (err)
		return err;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	err = expand_names(p, k);
	if (!err)
		err = find_addresses(p, k);
	if (err)
		return err;
	fill_values(p, k);
	*ret = TAKE_PTR(k);
	return 0;
}

int kallsyms_parse(const void *image, size_t size, u64 start, struct kallsyms **ret)
{
	static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	struct parser p = { .image = image, .size = size, .start = start, .budget = WALK_BUDGET };
	size_t from = 0;

	for (unsigned int i = 0; i < MAX_TABLES && p.budget; i++) {
		const u8 *found = memmem(p.image + from, size - from, digits, sizeof(digits));
		int err;

		if (!found)
			break;
		from = found - p.image + 1;
		err = parse_at_digits(&p, from - 1, 8, ret);
		if (err == -ENOENT)
			err = parse_at_digits(&p, from - 1, 4, ret);
		if (err != -ENOENT && err != -E2BIG)
			return err;
	}
	return -ENOENT;
}

void kallsyms_destroy(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	free(kallsyms->symbols);
	free(kallsyms->strings);
	free(kallsyms);
}

static u32 prefix_of(const char *name)
{
	u32 prefix;

	memcpy(&prefix, name, sizeof(prefix));
	return prefix;
}

void kallsyms_find_many(const struct kallsyms *kallsyms, const char *const *names, size_t nr,
			const struct ksym **ret)
{
	u32 prefixes[KALLSYMS_FIND_MAX];

	for (size_t j = 0; j < nr; j++) {
		char padded[sizeof(u32)] = "";

		memcpy(padded, names[j], strnlen(names[j], sizeof(padded)));
		prefixes[j] = prefix_of(padded);
		ret[j] = NULL;
	}
	for (u32 i = 0; i < kallsyms->nr; i++) {
		const char *name = kallsyms_name(kallsyms, &kallsyms->symbols[i]);
		u32 prefix = prefix_of(name);

		for (size_t j = 0; j < nr; j++) {
			/* Names of up to 3 bytes: what follows their NUL is another name's. */
			if ((prefix == prefixes[j] || !(prefixes[j] >> 24)) && !ret[j] &&
			    !strcmp(name, names[j]))
				ret[j] = &kallsyms->symbols[i];
		}
	}
}

const struct ksym *kallsyms_find(const struct kallsyms *kallsyms, const char *name)
{
	const struct ksym *found;

	kallsyms_find_many(kallsyms, &name, 1, &found);
	return found;
}
