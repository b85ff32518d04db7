/* SPDX-License-Identifier: GPL-2.0-only */
/* The mappings of a perf.data: the kernel, its modules, users' files; and their build ids. */
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/hashmap.h"
#include "perfdata/writer-private.h"
#include "perfdata/writer.h"

#define MAX_FILENAME 4095
#define MAX_KSYMBOL 255

#define KERNEL_NAME "[kernel.kallsyms]"	/* the guest kernel's name to perf */
#define MAX_REF_NAME 15

#define MAX_BUILD_IDS 16384	/* of one recording */

static u64 hash_build_id(const struct perfdata_writer *writer, const struct writer_build_id *id,
			 const char *filename)
{
	u64 hash = hash_bytes_seeded(writer->seed, filename, strlen(filename));

	return hash_combine(hash, hash_bytes_seeded(writer->seed, id->id, id->size));
}

/*
 * Whether that file is there with that build id; if not, *@ret is the place for its index + 1.
 * Hashes that collide are each other's next; the seed keeps a guest from making many.
 */
static int find_build_id(struct perfdata_writer *writer, const struct writer_build_id *id,
			 const char *filename, u64 **ret)
{
	u64 hash = hash_build_id(writer, id, filename);

	for (;; hash++) {
		u64 *place = hashmap_put(&writer->build_ids_by_hash, hash, NULL);
		const struct writer_build_id *other;

		if (!place)
			return -ENOMEM;
		if (!*place) {
			*ret = place;
			return 0;
		}
		other = &writer->build_ids.data[*place - 1];
		if (other->size == id->size && !memcmp(other->id, id->id, id->size) &&
		    !strcmp(other->filename, filename))
			return -EEXIST;
	}
}

/* Once for each file and build id. */
static int add_build_id(struct perfdata_writer *writer, const struct perfdata_mmap *mmap,
			const char *filename)
{
	struct writer_build_id id = {
		.misc = mmap->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		.size = mmap->build_id_size,
	};
	u64 *place;
	int err;

	if (writer->build_ids.nr >= MAX_BUILD_IDS)
		return 0;	/* the mapping's own record has it, too */
	memcpy(id.id, mmap->build_id, id.size);
	err = find_build_id(writer, &id, filename, &place);
	if (err)
		return err == -EEXIST ? 0 : err;
	id.filename = strdup(filename);
	err = id.filename ? vec_push(&writer->build_ids, id) : -ENOMEM;
	if (err)
		free(id.filename);
	else
		*place = writer->build_ids.nr;
	return err;
}

/* What PERF_RECORD_MMAP and PERF_RECORD_MMAP2 begin with. */
static u8 *put_range(u8 *p, const struct perfdata_mmap *mmap)
{
	p = writer_put_u32(p, mmap->pid);
	p = writer_put_u32(p, mmap->tid);
	p = writer_put_u64(p, mmap->start);
	p = writer_put_u64(p, mmap->len);
	return writer_put_u64(p, mmap->pgoff);
}

/* The kernel and its modules: PERF_RECORD_MMAP, the only form in which all of perf knows them. */
static int write_kernel_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap,
			     const char *filename)
{
	size_t text = writer_text_size(filename);
	size_t size = sizeof(struct perf_event_header) + 4 * sizeof(u64) + text +
		      sizeof(struct writer_sample_id);
	u8 *p = writer_start_record(writer, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, size,
				    mmap->time);

	if (!p)
		return writer->error;
	p = put_range(p, mmap);
	p = writer_put_text(p, filename, text);
	writer_end_record(p, writer, mmap->pid, mmap->tid, mmap->time);
	return 0;
}

/* With a build id in the place of device and inode: PERF_RECORD_MMAP2 since Linux 5.12. */
static int write_user_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap,
			   const char *filename)
{
	size_t text = writer_text_size(filename);
	size_t size = sizeof(struct perf_event_header) + 8 * sizeof(u64) + text +
		      sizeof(struct writer_sample_id);
	u8 identity[24] = { mmap->build_id_size };
	u16 misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID;
	u8 *p;

	memcpy(identity + 4, mmap->build_id, mmap->build_id_size);
	p = writer_start_record(writer, PERF_RECORD_MMAP2, misc, size, mmap->time);
	if (!p)
		return writer->error;
	p = put_range(p, mmap);
	p = writer_put_bytes(p, identity, sizeof(identity));
	p = writer_put_u32(p, mmap->prot);
	p = writer_put_u32(p, mmap->flags);
	p = writer_put_text(p, filename, text);
	writer_end_record(p, writer, mmap->pid, mmap->tid, mmap->time);
	return 0;
}

/* All zero is none, to perf too. */
static bool has_build_id(const struct perfdata_mmap *mmap)
{
	static const u8 zero[WRITER_BUILD_ID_MAX];

	return mmap->build_id && mmap->build_id_size &&
	       mmap->build_id_size <= WRITER_BUILD_ID_MAX &&
	       memcmp(mmap->build_id, zero, mmap->build_id_size);
}

/*
 * What has no build id gets one that nothing else has. perf takes an object without one for the
 * object of that name on the machine where it reads the file: the running kernel, the host's libc.
 */
static void ensure_build_id(struct perfdata_mmap *mmap, const char *filename,
			    u8 room[WRITER_BUILD_ID_MAX])
{
	static const char prefix[12] = "no build id";
	u64 hash = hash_bytes(filename, strlen(filename));

	if (has_build_id(mmap))
		return;
	memcpy(room, prefix, sizeof(prefix));
	memcpy(room + sizeof(prefix), &hash, sizeof(hash));
	mmap->build_id = room;
	mmap->build_id_size = WRITER_BUILD_ID_MAX;
}

int perfdata_writer_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap)
{
	struct perfdata_mmap checked = *mmap;
	u8 room[WRITER_BUILD_ID_MAX];
	char safe[MAX_FILENAME + 1];
	int err;

	if (writer->error)
		return writer->error;
	escape_terminal(mmap->filename, safe, sizeof(safe));
	ensure_build_id(&checked, safe, room);
	err = add_build_id(writer, &checked, safe);
	if (err)
		return err;
	return mmap->kernel ? write_kernel_mmap(writer, &checked, safe) :
			      write_user_mmap(writer, &checked, safe);
}

/* The map's name carries the reference symbol's, the build id goes by the name without it. */
int perfdata_writer_kernel(struct perfdata_writer *writer, const struct perfdata_kernel *kernel)
{
	struct perfdata_mmap mmap = {
		.pid = -1,
		.start = kernel->start,
		.len = kernel->end - kernel->start,
		.pgoff = kernel->ref,
		.kernel = true,
		.build_id = kernel->build_id,
		.build_id_size = kernel->build_id_size,
	};
	char name[sizeof(KERNEL_NAME) + MAX_REF_NAME];
	u8 room[WRITER_BUILD_ID_MAX];
	int err;

	if (kernel->end <= kernel->start || strlen(kernel->ref_name) > MAX_REF_NAME)
		return -EINVAL;
	if (writer->error)
		return writer->error;
	ensure_build_id(&mmap, KERNEL_NAME, room);
	err = add_build_id(writer, &mmap, KERNEL_NAME);
	if (err)
		return err;
	snprintf(name, sizeof(name), KERNEL_NAME "%s", kernel->ref_name);
	return write_kernel_mmap(writer, &mmap, name);
}

int perfdata_writer_ksymbol(struct perfdata_writer *writer, const struct perfdata_ksymbol *ksymbol)
{
	char safe[MAX_KSYMBOL + 1];
	size_t text, size;
	u16 type[2] = {
		ksymbol->bpf ? PERF_RECORD_KSYMBOL_TYPE_BPF : PERF_RECORD_KSYMBOL_TYPE_OOL,
		ksymbol->gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0,
	};
	u8 *p;

	escape_terminal(ksymbol->name, safe, sizeof(safe));
	text = writer_text_size(safe);
	size = sizeof(struct perf_event_header) + 2 * sizeof(u64) + text +
	       sizeof(struct writer_sample_id);
	p = writer_start_record(writer, PERF_RECORD_KSYMBOL, 0, size, ksymbol->time);
	if (!p)
		return writer->error;
	p = writer_put_u64(p, ksymbol->start);
	p = writer_put_u32(p, ksymbol->len);
	p = writer_put_bytes(p, type, sizeof(type));
	p = writer_put_text(p, safe, text);
	writer_end_record(p, writer, 0, 0, ksymbol->time);
	return 0;
}

/*
 * Named as a file, as perf in the guest would do. perf shows it as "[name]" all the same; but of an
 * object without a path it believes that it is the kernel, and looks for its kallsyms.
 */
int perfdata_writer_module(struct perfdata_writer *writer, const char *name, u64 start, u64 size,
			   const u8 *build_id, u8 build_id_size, u64 time)
{
	const char *release = writer->texts.os_release;
	char part[128], safe_release[128], filename[sizeof(part) + sizeof(safe_release) + 32];
	struct perfdata_mmap mmap = {
		.pid = -1,
		.start = start,
		.len = size,
		.kernel = true,
		.build_id = build_id,
		.build_id_size = build_id_size,
		.filename = filename,
		.time = time,
	};

	escape_path_component(name, part, sizeof(part));
	escape_path_component(release ? release : "unknown", safe_release, sizeof(safe_release));
	snprintf(filename, sizeof(filename), "/lib/modules/%s/%s.ko", safe_release, part);
	return perfdata_writer_mmap(writer, &mmap);
}
