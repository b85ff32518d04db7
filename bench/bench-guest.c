/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-guest VMLINUX [CACHE-DIR]: how long it takes from a guest's memory to the first address
 * with a name. VMLINUX is the ELF that a kernel package's vmlinuz holds compressed (see
 * scripts/extract-vmlinux of Linux; a dbg package's vmlinux does too). It is laid out in fake guest
 * memory at its link address, in 2 MiB pages as the kernel maps itself.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cursor.h"
#include "base/errors.h"
#include "base/file.h"
#include "build-pagetable.h"
#include "guest/guest.h"
#include "guest/image.h"
#include "mem/fake.h"
#include "mmu/walk.h"

#define PAGE_2M (2ULL << 20)
#define MAX_ELF (2ULL << 30)
#define GUEST_PHYSICAL (1ULL << 30)	/* where the image's first page is */
#define TABLES (512ULL << 20)

struct vmlinux {
	struct mem_fake *mem;
	struct build_pagetable pages;
	u64 end;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* The per-CPU template has link address 0; its place in the image is by physical address. */
static u64 load_address(const Elf64_Phdr *segment)
{
	return segment->p_vaddr >= IMAGE_X86_BASE ? segment->p_vaddr :
						    IMAGE_X86_BASE + segment->p_paddr;
}

static int load_segment(struct vmlinux *v, const struct cursor *elf, const Elf64_Phdr *segment)
{
	u64 start = load_address(segment), end = start + segment->p_memsz;
	struct cursor bytes;
	int err;

	err = cursor_sub(elf, segment->p_offset, segment->p_filesz, &bytes);
	for (u64 page = ALIGN_DOWN(start, PAGE_2M); page < end && !err; page += PAGE_2M) {
		u64 gpa = GUEST_PHYSICAL + page - IMAGE_X86_BASE;

		err = build_pagetable_map(&v->pages, page, gpa, PAGE_2M, MMU_EXEC | MMU_WRITE);
		for (u64 i = 0; i < PAGE_2M; i += MEM_FAKE_PAGE)
			if (!mem_fake_page(v->mem, GPA(gpa + i)))
				return -ENOMEM;
	}
	v->end = MAX(v->end, end);
	return err ?: mem_fake_set(v->mem, GPA(GUEST_PHYSICAL + start - IMAGE_X86_BASE),
				   bytes.start, segment->p_filesz);
}

static int load_vmlinux(struct vmlinux *v, const char *path)
{
	_cleanup_free_ char *data = NULL;
	struct cursor elf;
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	size_t size;
	int err;

	v->mem = mem_fake_create();
	if (!v->mem)
		return -ENOMEM;
	err = build_pagetable_init(&v->pages, v->mem, MMU_MODE_X86_4LEVEL, GPA(TABLES));
	if (!err)
		err = file_read(AT_FDCWD, path, MAX_ELF, &data, &size);
	if (err)
		return err;
	cursor_init(&elf, data, size);
	cursor_copy(&elf, &header, sizeof(header));
	cursor_seek(&elf, header.e_phoff);
	for (unsigned int i = 0; i < header.e_phnum && !cursor_error(&elf) && !err; i++) {
		cursor_copy(&elf, &segment, sizeof(segment));
		if (segment.p_type == PT_LOAD)
			err = load_segment(v, &elf, &segment);
	}
	return err ?: cursor_error(&elf);
}

static int identify(const struct vmlinux *v, struct guest_cache *cache, const char *what)
{
	_cleanup_(guest_destroy) struct guest *guest = NULL;
	struct vcpu_regs regs = build_pagetable_regs(&v->pages);
	const struct guest_kernel *kernel;
	const struct guest_module *module;
	const struct symtab *symtab;
	const struct symbol *symbol;
	const char *why = "";
	double begin = now_ms(), end;
	u64 address;
	int err;

	regs.pc = IMAGE_X86_BASE + (16 << 20);
	err = guest_create(mem_fake_reader(v->mem), cache, &guest);
	if (!err)
		err = guest_identify(guest, &regs, &why);
	if (err) {
		fprintf(stderr, "bench-guest: %s: %s\n", why, error_text(err));
		return err;
	}
	kernel = guest_kernel(guest);
	address = kernel->start.addr + 0x123456;
	symtab = guest_find_symbols(guest, GVA(address), &module);
	symbol = symtab ? symtab_find(symtab, address) : NULL;
	end = now_ms();
	printf("%-28s %7.1f ms  %s, %zu symbols, BTF %d, ORC %d, %#llx is %s+%#llx\n", what,
	       end - begin, kernel->release, symtab ? symtab_nr(symtab) : 0, kernel->has_btf,
	       kernel->has_orc, (unsigned long long)address,
	       symbol ? symtab_name(symtab, symbol) : "?",
	       symbol ? (unsigned long long)(address - symbol->start) : 0);
	return 0;
}

static int run(const struct vmlinux *v, const char *dir)
{
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL, *later = NULL;
	int err;

	err = identify(v, NULL, "no cache");
	if (!err)
		err = guest_cache_create(dir, &cache);
	if (!err)
		err = identify(v, cache, "first guest of a kernel");
	if (!err)
		err = identify(v, cache, "second guest, in memory");
	if (!err && dir)
		err = guest_cache_create(dir, &later);
	return err || !dir ? err : identify(v, later, "later, from the folder");
}

int main(int argc, char **argv)
{
	struct vmlinux v = { 0 };
	int err;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bench-guest VMLINUX [CACHE-DIR]\n");
		return 2;
	}
	err = load_vmlinux(&v, argv[1]);
	if (err)
		fprintf(stderr, "bench-guest: %s: %s\n", argv[1], error_text(err));
	else
		err = run(&v, argv[2]);
	mem_fake_destroy(v.mem);
	return err ? 1 : 0;
}
