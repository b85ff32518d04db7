/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ELF files with call frame information and nothing else, as a linker would leave them: one segment
 * of code, .eh_frame, .eh_frame_hdr, .sframe, no section headers.
 */
#ifndef BUILD_BUILD_CFI_H
#define BUILD_BUILD_CFI_H

#include "build.h"
#include "objfile/file-image.h"

#define BUILD_CFI_TEXT 0x10000ULL	/* functions are here */
#define BUILD_CFI_TEXT_SIZE 0x10000ULL
#define BUILD_CFI_FRAME 0x200U		/* offset and address of .eh_frame */
#define BUILD_CFI_SFRAME 0x1000U	/* the same of .sframe, if there is one */
#define BUILD_CFI_MAX_FDES 64

struct build_cfi {
	struct strbuf frame;		/* .eh_frame */
	u32 cie;			/* offset in it of the last CIE */
	unsigned int nr;
	struct {
		u64 start;
		u32 fde;
	} fdes[BUILD_CFI_MAX_FDES];
	bool no_hdr;			/* it has no table of functions */
	bool is_32;			/* of i386; set before anything is added */
	bool is_arm64;			/* the same */
	struct strbuf sframe;		/* .sframe, made for its place; empty: none */
};

/* Instructions, as `CFI(DW_CFA_nop, 0)`: two arguments of build_cfi_cie() and build_cfi_fde(). */
#define CFI(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })

/* What every compiler begins with: CFA is RSP + 8, the return address below it. */
#define BUILD_CFI_START CFI(0x0c, 7, 8, 0x90, 1)
#define BUILD_CFI_START_32 CFI(0x0c, 4, 4, 0x88, 1)	/* ESP + 4 */
#define BUILD_CFI_START_ARM64 CFI(0x0c, 31, 0)		/* SP */

/* "zR", "zRS" or hostile; factors 1 (arm64: 4) and -8, or -4. Later FDEs are of this CIE. */
void build_cfi_cie(struct build_cfi *build, const char *augmentation, const u8 *program,
		   size_t size);
void build_cfi_fde(struct build_cfi *build, u64 start, u64 length, const u8 *program, size_t size);

/* The whole file. */
void build_cfi_file(const struct build_cfi *build, struct strbuf *out);
/* Of the first @size bytes of @file, all known. */
int build_cfi_image(const struct strbuf *file, size_t size, struct file_image **ret);
void build_cfi_deinit(struct build_cfi *build);

#endif
