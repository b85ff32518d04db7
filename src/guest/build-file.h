/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel build as bytes, for the cache's folder. This machine's byte order: not to be carried. */
#ifndef GUEST_BUILD_FILE_H
#define GUEST_BUILD_FILE_H

#include "base/strbuf.h"
#include "guest/fingerprint.h"
#include "guest/kernel-build.h"

/* What is looked at before the rest is read. Raw at the file's start. */
struct build_file_header {
	char magic[8];
	u32 version;
	u32 build_id_size;
	u8 build_id[24];
	u64 build_id_offset;		/* in the image */
	struct fingerprint fingerprint;	/* of the build's spans */
	u64 payload_size;
	u64 payload_hash;		/* finds damage, not malice */
};

#define BUILD_FILE_MAX (64U << 20)

/* Appends header and payload. */
int build_file_write(const struct kernel_build *build, const struct fingerprint *fingerprint,
		     struct strbuf *out);

/* -ENODATA, -EBADMSG or -EOPNOTSUPP (another version) when it is not a header of ours. */
int build_file_read_header(const void *data, size_t size, struct build_file_header *ret);

/* The whole file. The same errors; nothing in it is trusted to be in range. */
int build_file_read(const void *data, size_t size, struct kernel_build **ret);

#endif
