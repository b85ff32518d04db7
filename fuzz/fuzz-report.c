/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a recording, all the way to text: reports, samples and folded chains. The first byte
 * chooses the form. Nothing of the host is looked at but the running kernel's files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/file.h"
#include "output/folded.h"
#include "output/report.h"
#include "output/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct resolver_options resolver_options = {
	.sources = { .cache_dir = "/nonexistent", .no_host_files = true },
};

static void make_report(const char *path, u8 choice, struct outbuf *out)
{
	const struct profile_options options = {
		.resolver = resolver_options,
		.details = PROFILE_DETAIL_THREAD | PROFILE_DETAIL_CPU,
		.max_stack = choice & 1 ? 0 : 3,
		.keep_outermost = choice & 2,
	};
	const struct report_options report = {
		.keys = { choice & 4 ? HIST_KEY_SYMBOL : HIST_KEY_DSO, HIST_KEY_PID, HIST_KEY_CPU },
		.nr_keys = 1 + choice % 3,
		.children = choice & 1,
		.caller = choice & 2,
		.graph = REPORT_GRAPH_NONE + (choice >> 3) % 5,
		.graph_percent = 0.5,
	};
	_cleanup_(profile_destroy) struct profile *profile = NULL;

	if (profile_load(path, &options, &profile, NULL))
		return;
	report_write(profile, &report, out);
	folded_write(profile, out);
}

static void make_script(const char *path, struct outbuf *out)
{
	const struct script_options options = {
		.fields = SCRIPT_DEFAULT_FIELDS | SCRIPT_PID | SCRIPT_STOP,
		.max_stack = 127,
	};
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	_cleanup_(resolver_destroy) struct resolver *resolver = NULL;

	if (perfdata_reader_open(path, &reader, NULL) ||
	    resolver_create(&resolver_options, &resolver))
		return;
	resolver_add_build_ids(resolver, reader);
	script_write(reader, resolver, &options, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int null = -1;
	_cleanup_close_ int fd = -1;
	struct outbuf out;
	char path[64];

	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (!size || fd < 0 || fd_write_all(fd, data + 1, size - 1) || outbuf_init(&out, null))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (data[0] & 0x80)
		make_script(path, &out);
	else
		make_report(path, data[0], &out);
	outbuf_flush(&out);
	outbuf_deinit(&out);
	return 0;
}
