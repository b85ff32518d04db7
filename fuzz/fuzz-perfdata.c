/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as perf.data: opened, read to the end, all that comes out touched. */
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "perfdata/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile u64 sink;

static void touch(const struct perfdata_record *record)
{
	switch (record->kind) {
	case PERFDATA_SAMPLE:
		for (u64 i = 0; i < record->sample.nr_ips; i++)
			sink += record->sample.ips[i];
		break;
	case PERFDATA_MMAP:
		sink += strlen(record->mmap.filename) + record->mmap.build_id_size;
		break;
	case PERFDATA_COMM:
		sink += strlen(record->comm.comm);
		break;
	default:
		sink += record->time;
	}
}

static void touch_header(const struct perfdata_reader *reader)
{
	for (size_t i = 0; i < perfdata_reader_nr_attrs(reader); i++) {
		const struct perfdata_attr *attr = perfdata_reader_attr(reader, i);

		sink += strlen(attr->name);
		for (u32 k = 0; k < attr->nr_ids; k++)
			sink += attr->ids[k];
	}
	for (size_t i = 0; i < perfdata_reader_nr_build_ids(reader); i++)
		sink += strlen(perfdata_reader_build_id(reader, i)->filename);
	for (unsigned int i = 0; i < 256; i++)
		if (perfdata_reader_string(reader, i))
			sink += strlen(perfdata_reader_string(reader, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perfdata_record record;

	if (fd < 0)
		return 0;
	if (fd_write_all(fd, data, size)) {
		close(fd);
		return 0;
	}
	lseek(fd, 0, SEEK_SET);
	if (perfdata_reader_open_fd(fd, &reader, NULL))
		return 0;
	while (perfdata_reader_next(reader, &record) == 1)
		touch(&record);
	touch_header(reader);
	return 0;
}
