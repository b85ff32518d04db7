/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files with call frame information and nothing else. */
#include "build-cfi.h"

#include <assert.h>
#include <dwarf.h>
#include <elf.h>

#define ENCODING (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define HDR_ENCODING (DW_EH_PE_datarel | DW_EH_PE_sdata4)
#define HDR_HEAD 12	/* bytes before its table */
#define PT_GNU_SFRAME 0x6474e554

static void set_u32(struct strbuf *sb, size_t at, u32 value)
{
	if (!strbuf_error(sb))
		memcpy(sb->data + at, &value, sizeof(value));
}

/* Pads the record at @start and sets its length. */
static void end_record(struct build_cfi *build, u32 start)
{
	while (build->frame.len % 8)
		put_u8(&build->frame, DW_CFA_nop);
	set_u32(&build->frame, start, build->frame.len - start - sizeof(u32));
}

void build_cfi_cie(struct build_cfi *build, const char *augmentation, const u8 *program,
		   size_t size)
{
	struct strbuf *frame = &build->frame;

	build->cie = frame->len;
	put_u32(frame, 0);
	put_u32(frame, 0);
	put_u8(frame, 1);
	strbuf_add(frame, augmentation, strlen(augmentation) + 1);
	put_uleb128(frame, build->is_arm64 ? 4 : 1);
	put_u8(frame, build->is_32 ? 0x7c : 0x78);	/* -4, -8 */
	put_u8(frame, build->is_arm64 ? 30 : build->is_32 ? 8 : 16);
	if (*augmentation == 'z') {
		put_uleb128(frame, 1);
		put_u8(frame, ENCODING);
	}
	strbuf_add(frame, program, size);
	end_record(build, build->cie);
}

void build_cfi_fde(struct build_cfi *build, u64 start, u64 length, const u8 *program, size_t size)
{
	struct strbuf *frame = &build->frame;
	u32 at = frame->len;

	assert(build->nr < BUILD_CFI_MAX_FDES);
	build->fdes[build->nr].start = start;
	build->fdes[build->nr++].fde = at;
	put_u32(frame, 0);
	put_u32(frame, at + sizeof(u32) - build->cie);
	put_u32(frame, start - (BUILD_CFI_FRAME + frame->len));
	put_u32(frame, length);
	put_uleb128(frame, 0);
	strbuf_add(frame, program, size);
	end_record(build, at);
}

static void add_headers(struct strbuf *out, u16 machine, u64 size, u64 hdr, u64 hdr_size,
			u64 sframe_size)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = sframe_size ? 3 : 2,
	};
	Elf64_Phdr segments[] = {
		{
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_filesz = size,
			.p_memsz = BUILD_CFI_TEXT + BUILD_CFI_TEXT_SIZE,
		},
		{
			.p_type = PT_GNU_EH_FRAME,
			.p_flags = PF_R,
			.p_offset = hdr,
			.p_vaddr = hdr,
			.p_filesz = hdr_size,
			.p_memsz = hdr_size,
		},
		{
			.p_type = PT_GNU_SFRAME,
			.p_flags = PF_R,
			.p_offset = BUILD_CFI_SFRAME,
			.p_vaddr = BUILD_CFI_SFRAME,
			.p_filesz = sframe_size,
			.p_memsz = sframe_size,
		},
	};

	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, segments, header.e_phnum * sizeof(segments[0]));
	strbuf_add_zeros(out, BUILD_CFI_FRAME - out->len);
}

/* The short form of the first two segments' headers. */
static void add_headers_32(struct strbuf *out, u64 size, u64 hdr, u64 hdr_size)
{
	const Elf32_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 2,
	};
	const Elf32_Phdr segments[] = {
		{
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_filesz = size,
			.p_memsz = BUILD_CFI_TEXT + BUILD_CFI_TEXT_SIZE,
		},
		{
			.p_type = PT_GNU_EH_FRAME,
			.p_flags = PF_R,
			.p_offset = hdr,
			.p_vaddr = hdr,
			.p_filesz = hdr_size,
			.p_memsz = hdr_size,
		},
	};

	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, segments, sizeof(segments));
	strbuf_add_zeros(out, BUILD_CFI_FRAME - out->len);
}

static void add_hdr(const struct build_cfi *build, struct strbuf *out)
{
	u32 hdr = out->len;

	put_u8(out, 1);
	put_u8(out, ENCODING);
	put_u8(out, build->no_hdr ? DW_EH_PE_omit : DW_EH_PE_udata4);
	put_u8(out, build->no_hdr ? DW_EH_PE_omit : HDR_ENCODING);
	put_u32(out, BUILD_CFI_FRAME - (hdr + 4));
	put_u32(out, build->no_hdr ? 0 : build->nr);
	for (unsigned int i = 0; i < build->nr && !build->no_hdr; i++) {
		put_u32(out, build->fdes[i].start - hdr);
		put_u32(out, BUILD_CFI_FRAME + build->fdes[i].fde - hdr);
	}
}

void build_cfi_file(const struct build_cfi *build, struct strbuf *out)
{
	u64 hdr = ALIGN_UP(BUILD_CFI_FRAME + build->frame.len + sizeof(u32), 8UL);
	u64 hdr_size = HDR_HEAD + (build->no_hdr ? 0 : build->nr * 8);
	u64 size = hdr + hdr_size;

	if (build->sframe.len) {
		assert(size <= BUILD_CFI_SFRAME);
		size = BUILD_CFI_SFRAME + build->sframe.len;
	}
	strbuf_reset(out);
	if (build->is_32)
		add_headers_32(out, size, hdr, hdr_size);
	else
		add_headers(out, build->is_arm64 ? EM_AARCH64 : EM_X86_64, size, hdr, hdr_size,
			    build->sframe.len);
	strbuf_add(out, build->frame.data, build->frame.len);
	put_u32(out, 0);
	put_align(out, 8);
	add_hdr(build, out);
	if (!build->sframe.len)
		return;
	strbuf_add_zeros(out, BUILD_CFI_SFRAME - out->len);
	strbuf_add(out, build->sframe.data, build->sframe.len);
}

int build_cfi_image(const struct strbuf *file, size_t size, struct file_image **ret)
{
	u8 page[FILE_IMAGE_PAGE];
	int err = file_image_create(size, ret);

	for (size_t at = 0; !err && at < size; at += sizeof(page)) {
		memset(page, 0, sizeof(page));
		memcpy(page, file->data + at, MIN(size - at, sizeof(page)));
		file_image_set_page(*ret, at, page);
	}
	return err;
}

void build_cfi_deinit(struct build_cfi *build)
{
	strbuf_deinit(&build->frame);
	strbuf_deinit(&build->sframe);
}
