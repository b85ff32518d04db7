/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is fixed about perf.data beyond linux/perf_event.h: the file header, perf's own record
 * types and the feature sections. Facts from tools/perf/Documentation/perf.data-file-format.txt
 * and tools/perf/util/header.h of Linux 6.1.
 */
#ifndef PERFDATA_FORMAT_H
#define PERFDATA_FORMAT_H

#include "base/types.h"

/* Eight bytes each; a file of the other byte order has PERFILE2 reversed. */
#define PERFDATA_MAGIC "PERFILE2"
#define PERFDATA_MAGIC_SWAPPED "2ELIFREP"
#define PERFDATA_MAGIC_OLD "PERFFILE"

#define PERFDATA_HEADER_SIZE 104	/* with the 256 feature bits */
#define PERFDATA_HEADER_SIZE_OLD 72	/* without them: before Linux 2.6.32 */
#define PERFDATA_PIPE_HEADER_SIZE 16
#define PERFDATA_FEATURE_BITS 256

/* Features, in the order of their sections. */
enum perfdata_feature {
	PERFDATA_FEATURE_TRACING_DATA = 1,
	PERFDATA_FEATURE_BUILD_ID = 2,
	PERFDATA_FEATURE_HOSTNAME = 3,
	PERFDATA_FEATURE_OSRELEASE = 4,
	PERFDATA_FEATURE_VERSION = 5,
	PERFDATA_FEATURE_ARCH = 6,
	PERFDATA_FEATURE_NRCPUS = 7,
	PERFDATA_FEATURE_CPUDESC = 8,
	PERFDATA_FEATURE_CPUID = 9,
	PERFDATA_FEATURE_TOTAL_MEM = 10,
	PERFDATA_FEATURE_CMDLINE = 11,
	PERFDATA_FEATURE_EVENT_DESC = 12,
	PERFDATA_FEATURE_SAMPLE_TIME = 21,
	PERFDATA_FEATURE_CLOCKID = 23,
	PERFDATA_FEATURE_DIR_FORMAT = 24,
	PERFDATA_FEATURE_COMPRESSED = 27,
	PERFDATA_FEATURE_CLOCK_DATA = 29,

	/*
	 * kvmprof's own: what became of every event of the recording. A perf_header_string of
	 * lines "what: number\n". Stock perf visits only the sections whose bit is below its
	 * HEADER_LAST_FEATURE (32 in 6.1) and says nothing about others, whereas a record type
	 * that it does not know ends its reading. The last bit is the farthest from those that
	 * perf will add.
	 */
	PERFDATA_FEATURE_ACCOUNTING = 255,
};

/* Records that perf itself puts into the stream; linux/perf_event.h has the kernel's. */
enum perfdata_user_type {
	PERFDATA_RECORD_USER_START = 64,
	PERFDATA_RECORD_HEADER_ATTR = 64,
	PERFDATA_RECORD_HEADER_EVENT_TYPE = 65,
	PERFDATA_RECORD_HEADER_TRACING_DATA = 66,
	PERFDATA_RECORD_HEADER_BUILD_ID = 67,
	PERFDATA_RECORD_FINISHED_ROUND = 68,
	PERFDATA_RECORD_ID_INDEX = 69,
	PERFDATA_RECORD_AUXTRACE = 71,
	PERFDATA_RECORD_EVENT_UPDATE = 78,
	PERFDATA_RECORD_HEADER_FEATURE = 80,
	PERFDATA_RECORD_COMPRESSED = 81,
	PERFDATA_RECORD_FINISHED_INIT = 82,
	PERFDATA_RECORD_COMPRESSED2 = 83,	/* its size before the data, padded to 8 bytes */
};

/* In the misc field of a build-id record: the size byte after the 20 bytes of the id is valid. */
#define PERFDATA_MISC_BUILD_ID_SIZE (1 << 15)

#endif
