/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters of tracepoints in the kernel's language (Documentation/trace/events.rst). The kernel
 * applies them to perf's own buffer, but not before a BPF program: for that they are compiled here.
 */
#ifndef CAPTURE_TRACE_FILTER_H
#define CAPTURE_TRACE_FILTER_H

#include "capture/trace-format.h"

struct bpf_insn;

#define TRACE_FILTER_MAX_INSNS 2048

/*
 * Compiles @text to the instructions of a program for the tracepoint: one that lets a hit pass
 * calls, as a tail call, what is at index 0 of the array of programs @programs (a descriptor), and
 * all others end with 1. @ret has room for TRACE_FILTER_MAX_INSNS. -EBADMSG: not the kernel's
 * language; -ENOENT: no such field; -EOPNOTSUPP: a comparison that is not to be had here, of text;
 * -E2BIG: too long. *@ret_why is a constant then.
 */
int trace_filter_compile(const struct trace_format *format, const char *text, int programs,
			 struct bpf_insn *ret, size_t *ret_nr, const char **ret_why);

/*
 * Whether the kernel takes @text for the tracepoint @name ("SUBSYSTEM:NAME") of that @id. If not,
 * *@ret_said (to be freed, or NULL) is what it says about it.
 */
int trace_filter_check(const char *tracefs, const char *name, u64 id, const char *text,
		       char **ret_said);

#endif
