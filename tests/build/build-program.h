/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest with a process that runs one function: of a library that it has mapped, whose file may be
 * in the page cache.
 */
#ifndef BUILD_PROGRAM_H
#define BUILD_PROGRAM_H

#include "base/strbuf.h"
#include "build-cfi.h"
#include "build-process.h"
#include "build-sample.h"

#define BUILD_PROGRAM_TEXT 0x555555554000ULL	/* the library's address 0 is mapped here */
#define BUILD_PROGRAM_JIT 0x7f0000000000ULL	/* a page of code without a file, one of data */
#define BUILD_PROGRAM_FUNCTION BUILD_CFI_TEXT	/* 64 bytes; the frame: 24 from the fourth on */
#define BUILD_PROGRAM_PATH "/usr/libx.so"

struct build_program {
	struct build_guest guest;
	struct build_process process;
	struct strbuf file;		/* the library */
	u64 mapped_file, inode;		/* its struct file and struct inode */
};

void build_program_init(struct build_program *program);
void build_program_deinit(struct build_program *program);

/* Puts page @index of the library into the page cache; all of them. */
void build_program_cache_page(struct build_program *program, u64 index);
void build_program_cache(struct build_program *program);

/* Maps another file, "/usr/NAME" of @bytes, all of it cached, at @start. Its struct inode. */
u64 build_program_map(struct build_program *program, const char *name, const struct strbuf *bytes,
		      u64 start);

/* A task of the process as a sample at the function's start has it, at @time. */
struct wire_sample build_program_wire(const struct build_program *program, u64 time);

/* A sample behind the function's fourth byte: with the rule its chain is one frame, complete. */
void build_program_sample(const struct build_program *program, u64 time,
			  struct build_sample *ret_build, struct sample *ret);

#endif
