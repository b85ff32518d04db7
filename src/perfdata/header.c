/* SPDX-License-Identifier: GPL-2.0-only */
/* The header of a perf.data file: attributes, features, build ids. */
#include "perfdata/header.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "perfdata/names.h"

#define MAX_ATTRS_BYTES (16UL << 20)
#define MAX_FEATURE_BYTES (64UL << 20)
#define MAX_ATTRS (1UL << 16)
#define MAX_IDS (1UL << 20)		/* of all attributes together */
#define MAX_BUILD_IDS (1UL << 20)
#define MAX_STRING (64UL << 10)
#define MAX_FILENAME 4096
#define SECTION_SIZE 16			/* offset, size */
#define ATTR_SIZE_VER0 64
#define ATTR_SIZE_VER3 96	/* with sample_stack_user */

struct section {
	u64 offset, size;
};

/* A file that is read at given places; reads past its end are -ENODATA before any allocation. */
struct image {
	int fd;
	u64 size;
	bool swap;
};

static int image_read(const struct image *image, u64 offset, u64 size, u64 max, u8 **ret_data)
{
	_cleanup_free_ u8 *data = NULL;
	size_t done = 0;

	if (size > max)
		return -E2BIG;
	if (offset > image->size || size > image->size - offset)
		return -ENODATA;
	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	while (done < size) {
		ssize_t n = pread(image->fd, data + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		done += n;
	}
	*ret_data = TAKE_PTR(data);
	return 0;
}

static int image_cursor(const struct image *image, const struct section *section, u64 max,
			u8 **ret_data, struct cursor *ret_c)
{
	int err = image_read(image, section->offset, section->size, max, ret_data);

	if (err)
		return err;
	cursor_init(ret_c, *ret_data, section->size);
	ret_c->swap = image->swap;
	return 0;
}

static struct section read_section(struct cursor *c)
{
	u64 offset = cursor_u64(c);

	return (struct section){ .offset = offset, .size = cursor_u64(c) };
}

static u8 reverse_bits(u8 b)
{
	b = b >> 4 | b << 4;
	b = (b & 0xcc) >> 2 | (b & 0x33) << 2;
	return (b & 0xaa) >> 1 | (b & 0x55) << 1;
}

/*
 * The attribute's flags are C bit fields. The first is the lowest bit of the first byte on a
 * little-endian machine and the highest bit of the first byte on a big-endian one.
 */
static u64 read_bit_fields(struct cursor *c)
{
	u8 bytes[8] = { 0 };
	u64 flags;

	cursor_copy(c, bytes, sizeof(bytes));
	if (c->swap)
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = reverse_bits(bytes[i]);
	memcpy(&flags, bytes, sizeof(flags));
	return flags;
}

/* Reads a struct perf_event_attr that may use @room bytes; *@ret_size is what it does use. */
static int read_attr(struct cursor *c, size_t room, struct perfdata_attr *attr, u32 *ret_size)
{
	struct cursor a;
	u32 size;

	if (room < ATTR_SIZE_VER0 || cursor_sub(c, cursor_offset(c), room, &a))
		return -ENODATA;
	attr->type = cursor_u32(&a);
	size = cursor_u32(&a);
	attr->config = cursor_u64(&a);
	attr->sample_period = cursor_u64(&a);
	attr->sample_type = cursor_u64(&a);
	attr->read_format = cursor_u64(&a);
	attr->flags = read_bit_fields(&a);
	if (!size)
		size = ATTR_SIZE_VER0;
	if (size >= ATTR_SIZE_VER3 && size <= room) {
		/* wakeup, bp_type, config1, config2 */
		cursor_skip(&a, 2 * sizeof(u32) + 2 * sizeof(u64));
		attr->branch_sample_type = cursor_u64(&a);
		attr->sample_regs_user = cursor_u64(&a);
	}
	if (size < ATTR_SIZE_VER0 || size > room)
		return -EBADMSG;
	cursor_skip(c, size);
	perfdata_event_name(attr->type, attr->config, attr->name, sizeof(attr->name));
	*ret_size = size;
	return 0;
}

/* Adds @attr with the ids that fill the rest of @ids. */
static int add_attr(struct perfdata_header *header, const struct perfdata_attr *attr,
		    struct cursor *ids)
{
	size_t nr = cursor_left(ids) / sizeof(u64);
	struct perfdata_attr *new;
	u64 *copy;

	if (nr > MAX_IDS - header->nr_ids || header->attrs.nr == MAX_ATTRS)
		return -E2BIG;
	if (vec_push(&header->attrs, *attr))
		return -ENOMEM;
	new = &header->attrs.data[header->attrs.nr - 1];
	copy = malloc(nr ? nr * sizeof(u64) : 1);
	if (!copy)
		return -ENOMEM;
	new->ids = copy;
	new->nr_ids = nr;
	header->nr_ids += nr;
	for (size_t i = 0; i < nr; i++) {
		u64 *value;

		copy[i] = cursor_u64(ids);
		value = hashmap_put(&header->id_to_attr, copy[i], NULL);
		if (!value)
			return -ENOMEM;
		*value = header->attrs.nr - 1;
	}
	return 0;
}

int perfdata_header_add_attr(struct perfdata_header *header, struct cursor *c)
{
	struct perfdata_attr attr = { 0 };
	u32 size;
	int err = read_attr(c, cursor_left(c), &attr, &size);

	return err ? err : add_attr(header, &attr, c);
}

size_t perfdata_header_attr_of_id(const struct perfdata_header *header, u64 id)
{
	const u64 *attr = hashmap_get(&header->id_to_attr, id);

	return attr ? *attr : SIZE_MAX;
}

/* One entry of the attribute section: the attribute, then where its ids are. */
static int read_file_attr(struct perfdata_header *header, const struct image *image,
			  struct cursor *entry)
{
	_cleanup_free_ u8 *data = NULL;
	struct perfdata_attr attr = { 0 };
	struct section ids;
	struct cursor c;
	u32 size;
	int err = read_attr(entry, cursor_left(entry) - SECTION_SIZE, &attr, &size);

	if (err)
		return err;
	ids = read_section(entry);
	err = image_cursor(image, &ids, MAX_IDS * sizeof(u64), &data, &c);
	return err ? err : add_attr(header, &attr, &c);
}

static int read_attrs(struct perfdata_header *header, const struct image *image,
		      const struct section *section, u64 entry_size)
{
	_cleanup_free_ u8 *data = NULL;
	struct cursor c;
	int err;

	if (entry_size < ATTR_SIZE_VER0 + SECTION_SIZE || entry_size > MAX_ATTRS_BYTES)
		return -EBADMSG;
	err = image_cursor(image, section, MAX_ATTRS_BYTES, &data, &c);
	for (u64 i = 0; !err && i < section->size / entry_size; i++) {
		struct cursor entry;

		err = cursor_sub(&c, i * entry_size, entry_size, &entry);
		if (!err)
			err = read_file_attr(header, image, &entry);
	}
	return err;
}

/* A u32 length that counts padding too, then the string. NULL when it does not fit. */
static const char *read_string(struct cursor *c, size_t *ret_len)
{
	u32 len = cursor_u32(c);
	const char *s = cursor_bytes(c, len);

	if (s)
		*ret_len = strnlen(s, len);
	return s;
}

static int set_string(struct perfdata_header *header, unsigned int feature, const char *s,
		      size_t len)
{
	char *copy = strndup(s, MIN(len, MAX_STRING));

	if (!copy)
		return -ENOMEM;
	free(header->strings[feature]);
	header->strings[feature] = copy;
	return 0;
}

/* A list of strings, kept as one with blanks between. */
static int read_string_list(struct perfdata_header *header, unsigned int feature,
			    struct cursor *c)
{
	_cleanup_strbuf_ struct strbuf joined = STRBUF_INIT;
	u32 nr = cursor_u32(c);

	for (u32 i = 0; i < nr && joined.len < MAX_STRING; i++) {
		size_t len;
		const char *s = read_string(c, &len);

		if (!s)
			return cursor_error(c);
		if (i)
			strbuf_addc(&joined, ' ');
		strbuf_add(&joined, s, len);
	}
	if (strbuf_error(&joined))
		return strbuf_error(&joined);
	return set_string(header, feature, strbuf_cstr(&joined), joined.len);
}

/* Attributes again, this time with names. */
static int read_event_desc(struct perfdata_header *header, struct cursor *c)
{
	u32 nr = cursor_u32(c), attr_size = cursor_u32(c);

	for (u32 i = 0; i < nr && i < header->attrs.nr; i++) {
		struct perfdata_attr *attr = &header->attrs.data[i];
		const char *name;
		size_t len = 0;
		u32 nr_ids;

		cursor_skip(c, attr_size);
		nr_ids = cursor_u32(c);
		name = read_string(c, &len);
		cursor_skip(c, (size_t)nr_ids * sizeof(u64));
		if (cursor_error(c))
			return cursor_error(c);
		snprintf(attr->name, sizeof(attr->name), "%.*s", (int)MIN(len, MAX_STRING), name);
	}
	return cursor_error(c);
}

int perfdata_header_add_build_id(struct perfdata_header *header, const struct cursor *record)
{
	struct perfdata_build_id entry = { 0 };
	struct cursor c = *record;
	const char *filename;
	u8 size;

	if (header->build_ids.nr == MAX_BUILD_IDS)
		return -E2BIG;
	cursor_skip(&c, sizeof(u32));
	entry.misc = cursor_u16(&c);
	cursor_skip(&c, sizeof(u16));
	entry.pid = cursor_u32(&c);
	cursor_copy(&c, entry.id, sizeof(entry.id));
	size = cursor_u8(&c);
	cursor_skip(&c, 3);
	filename = cursor_string(&c, MAX_FILENAME, NULL);
	if (!filename)
		return cursor_error(&c);
	entry.size = entry.misc & PERFDATA_MISC_BUILD_ID_SIZE ? size : sizeof(entry.id);
	if (entry.size > sizeof(entry.id))
		return -EBADMSG;
	filename = strdup(filename);
	if (!filename)
		return -ENOMEM;
	entry.filename = filename;
	if (vec_push(&header->build_ids, entry)) {
		free((char *)filename);
		return -ENOMEM;
	}
	return 0;
}

static int read_build_ids(struct perfdata_header *header, struct cursor *c)
{
	while (cursor_left(c)) {
		size_t start = cursor_offset(c);
		struct cursor record;
		u16 size;
		int err;

		cursor_skip(c, sizeof(u32) + sizeof(u16));
		size = cursor_u16(c);
		if (cursor_error(c))
			return cursor_error(c);
		if (size < 8)
			return -EBADMSG;
		err = cursor_sub(c, start, size, &record);
		if (!err)
			err = perfdata_header_add_build_id(header, &record);
		if (!err)
			err = cursor_seek(c, start + size);
		if (err)
			return err;
	}
	return 0;
}

int perfdata_header_add_feature(struct perfdata_header *header, unsigned int feature,
				struct cursor *c)
{
	const char *s;
	size_t len;

	switch (feature) {
	case PERFDATA_FEATURE_BUILD_ID:
		return read_build_ids(header, c);
	case PERFDATA_FEATURE_EVENT_DESC:
		return read_event_desc(header, c);
	case PERFDATA_FEATURE_CMDLINE:
		return read_string_list(header, feature, c);
	case PERFDATA_FEATURE_HOSTNAME:
	case PERFDATA_FEATURE_OSRELEASE:
	case PERFDATA_FEATURE_VERSION:
	case PERFDATA_FEATURE_ARCH:
	case PERFDATA_FEATURE_CPUDESC:
	case PERFDATA_FEATURE_CPUID:
	case PERFDATA_FEATURE_ACCOUNTING:
		s = read_string(c, &len);
		return s ? set_string(header, feature, s, len) : cursor_error(c);
	default:
		return 0;
	}
}

int perfdata_header_update_event(struct perfdata_header *header, struct cursor *c)
{
	enum { UPDATE_NAME = 2 };
	u64 type = cursor_u64(c), id = cursor_u64(c);
	size_t attr = perfdata_header_attr_of_id(header, id);
	const char *name;

	if (cursor_error(c) || type != UPDATE_NAME || attr == SIZE_MAX)
		return cursor_error(c);
	name = cursor_string(c, MAX_FILENAME, NULL);
	if (!name)
		return cursor_error(c);
	snprintf(header->attrs.data[attr].name, sizeof(header->attrs.data[attr].name), "%s", name);
	return 0;
}

static bool feature_bit(const u8 *bits, unsigned int feature)
{
	return bits[feature / 8] >> feature % 8 & 1;
}

/* The bitmap in words of @word bytes, as bytes whose bit 0 is the first. */
static void decode_bitmap(const u8 *raw, unsigned int word, bool big_endian, u8 *bits)
{
	for (unsigned int i = 0; i < PERFDATA_FEATURE_BITS / 8; i++) {
		unsigned int in_word = i % word;

		bits[i] = raw[i - in_word + (big_endian ? word - 1 - in_word : in_word)];
	}
}

/*
 * The bitmap is an array of unsigned long, whose size the file does not tell. Every perf since
 * 2.6.37 writes the host name, so the word size under which that bit is set is right.
 */
static void read_bitmap(struct cursor *c, u8 *bits)
{
	u8 raw[PERFDATA_FEATURE_BITS / 8] = { 0 };
	bool big_endian = c->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	cursor_copy(c, raw, sizeof(raw));
	decode_bitmap(raw, 8, big_endian, bits);
	if (!feature_bit(bits, PERFDATA_FEATURE_HOSTNAME))
		decode_bitmap(raw, 4, big_endian, bits);
}

/* A section that is cut off or broken costs what it would have told, no more. */
static int read_feature(struct perfdata_header *header, const struct image *image,
			unsigned int feature, const struct section *section)
{
	_cleanup_free_ u8 *data = NULL;
	struct cursor c;
	int err = image_cursor(image, section, MAX_FEATURE_BYTES, &data, &c);

	if (!err)
		err = perfdata_header_add_feature(header, feature, &c);
	if (err == -ENODATA)
		header->truncated = true;
	return err == -ENOMEM ? err : 0;
}

static int read_features(struct perfdata_header *header, const struct image *image,
			 const u8 *bits)
{
	struct section table = { .offset = header->data_offset + header->data_size };
	_cleanup_free_ u8 *data = NULL;
	struct cursor c;
	int err;

	for (unsigned int i = 0; i < PERFDATA_FEATURE_BITS; i++)
		table.size += feature_bit(bits, i) * SECTION_SIZE;
	err = image_cursor(image, &table, PERFDATA_FEATURE_BITS * SECTION_SIZE, &data, &c);
	if (err) {
		header->truncated |= err == -ENODATA;
		return err == -ENODATA ? 0 : err;
	}
	for (unsigned int i = 0; i < PERFDATA_FEATURE_BITS; i++) {
		struct section section;

		if (!feature_bit(bits, i))
			continue;
		section = read_section(&c);
		err = read_feature(header, image, i, &section);
		if (err)
			return err;
	}
	return 0;
}

static int read_file_header(struct perfdata_header *header, const struct image *image,
			    struct cursor *c, const char **ret_why)
{
	u64 size = cursor_u64(c), attr_size = cursor_u64(c);
	struct section attrs = read_section(c), data = read_section(c);
	u8 bits[PERFDATA_FEATURE_BITS / 8] = { 0 };
	int err;

	if (size != PERFDATA_HEADER_SIZE && size != PERFDATA_HEADER_SIZE_OLD) {
		*ret_why = "its header has a size that perf.data files do not have";
		return -EBADMSG;
	}
	cursor_skip(c, SECTION_SIZE);	/* event types: unused since Linux 3.10 */
	if (size == PERFDATA_HEADER_SIZE)
		read_bitmap(c, bits);
	if (cursor_error(c)) {
		*ret_why = "it ends inside its header";
		return cursor_error(c);
	}
	header->data_offset = data.offset;
	header->data_size = data.size;
	err = read_attrs(header, image, &attrs, attr_size);
	if (err) {
		*ret_why = "its event attributes cannot be read";
		return err;
	}
	if (!data.size || data.offset > image->size || data.size > image->size - data.offset) {
		/* perf fills in the size last: what is there goes to the end of the file. */
		header->truncated = true;
		header->data_size = UINT64_MAX - data.offset;
		return 0;
	}
	return read_features(header, image, bits);
}

/* Version 1 has one magic for both byte orders; the small attribute size tells them apart. */
static int decode_magic(const u8 *start, bool *ret_swap, const char **ret_why)
{
	struct cursor c;

	if (!memcmp(start, PERFDATA_MAGIC, 8)) {
		*ret_swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		return 0;
	}
	if (!memcmp(start, PERFDATA_MAGIC_SWAPPED, 8)) {
		*ret_swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
		return 0;
	}
	if (memcmp(start, PERFDATA_MAGIC_OLD, 8)) {
		*ret_why = "it is not a perf.data file";
		return -EBADMSG;
	}
	cursor_init(&c, start + 8, 8);
	*ret_swap = cursor_u64(&c) > UINT32_MAX;
	return 0;
}

static ssize_t read_start(int fd, bool seekable, u8 *out, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = seekable ? pread(fd, out + done, size - done, (off_t)done) :
				       read(fd, out + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += n;
	}
	return done;
}

static int read_at_start(struct perfdata_header *header, int fd, bool seekable,
			 const char **ret_why)
{
	size_t want = seekable ? PERFDATA_HEADER_SIZE : PERFDATA_PIPE_HEADER_SIZE;
	u8 start[PERFDATA_HEADER_SIZE];
	struct image image = { .fd = fd };
	struct cursor c;
	struct stat st;
	ssize_t n = read_start(fd, seekable, start, want);
	int err;

	if (n < 0)
		return n;
	if (n < PERFDATA_PIPE_HEADER_SIZE) {
		*ret_why = n ? "it ends inside its header" : "it is empty";
		return -ENODATA;
	}
	err = decode_magic(start, &header->swap, ret_why);
	if (err)
		return err;
	cursor_init(&c, start + 8, n - 8);
	c.swap = image.swap = header->swap;
	header->pipe = cursor_u64(&c) == PERFDATA_PIPE_HEADER_SIZE;
	if (header->pipe) {
		header->data_offset = PERFDATA_PIPE_HEADER_SIZE;
		header->data_size = UINT64_MAX - PERFDATA_PIPE_HEADER_SIZE;
		return 0;
	}
	if (!seekable) {
		*ret_why = "a pipe carries only what `perf record -o -` writes; save this to a "
			   "file and give that with -i FILE or <FILE";
		return -EOPNOTSUPP;
	}
	if (fstat(fd, &st) < 0)
		return -errno;
	image.size = st.st_size;
	cursor_seek(&c, 0);
	return read_file_header(header, &image, &c, ret_why);
}

int perfdata_header_read(struct perfdata_header *header, int fd, bool seekable,
			 const char **ret_why)
{
	const char *why = NULL;
	int err;

	*header = (struct perfdata_header){ 0 };
	err = read_at_start(header, fd, seekable, &why);
	if (err && ret_why)
		*ret_why = why;
	if (err)
		perfdata_header_deinit(header);
	return err;
}

void perfdata_header_deinit(struct perfdata_header *header)
{
	vec_for_each(&header->attrs, attr)
		free((u64 *)attr->ids);
	vec_for_each(&header->build_ids, build_id)
		free((char *)build_id->filename);
	vec_deinit(&header->attrs);
	vec_deinit(&header->build_ids);
	hashmap_deinit(&header->id_to_attr);
	for (unsigned int i = 0; i < PERFDATA_FEATURE_BITS; i++)
		free(header->strings[i]);
	*header = (struct perfdata_header){ 0 };
}
