/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make-addresses [-c] FILE OBJECT…: a recording with a sample at each of many addresses of ELF
 * files: where their functions start, go on, end and have ended; in tables of stubs; and in even
 * steps through all that is executable. Each object has a process of its own. With -c samples have
 * chains: of the addresses of the samples before.
 */
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/errors.h"
#include "perfdata/writer.h"
#include "symbols/elf-file.h"

#define BASE (4ULL << 30)	/* of an object whose segments count from 0 */
#define MAX_FUNCTIONS 1500	/* looked at in one table, in even steps; four samples each */
#define MAX_STEPS 2000		/* through one section */
#define SECOND 1000000000ULL	/* between objects */
#define STUB 8			/* half a table entry of x86 */

struct maker {
	struct perfdata_writer *writer;
	Elf *elf;
	struct build_id build_id;
	const char *path;
	u32 pid;
	u64 time, bias;
	u64 last[2];	/* addresses, for -c */
	bool chains;
};

static int add_sample(struct maker *m, u64 address)
{
	const u64 ips[] = { PERF_CONTEXT_USER, address + m->bias, m->last[0], m->last[1] };
	const struct perfdata_sample sample = {
		.pid = m->pid, .tid = m->pid, .time = ++m->time, .period = 1,
		.ip = ips[1], .user = true, .ips = ips, .nr_ips = m->chains && m->last[1] ? 4 : 2,
	};

	m->last[1] = m->last[0];
	m->last[0] = ips[1];

	return perfdata_writer_sample(m->writer, &sample);
}

/* The executable segments; samples outside of them are of nothing. */
static int map_segments(struct maker *m)
{
	int err = 0;
	size_t nr;

	if (elf_getphdrnum(m->elf, &nr))
		return -EBADMSG;
	for (size_t i = 0; i < nr && !err; i++) {
		struct perfdata_mmap mmap = {
			.pid = m->pid, .tid = m->pid, .prot = 5, .flags = 2,
			.build_id = m->build_id.data, .build_id_size = m->build_id.size,
			.filename = m->path, .time = ++m->time,
		};
		GElf_Phdr segment;
		u64 in_page;

		if (!gelf_getphdr(m->elf, i, &segment))
			return -EBADMSG;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		in_page = segment.p_vaddr % 4096;
		mmap.start = segment.p_vaddr - in_page + m->bias;
		mmap.pgoff = segment.p_offset - in_page;
		mmap.len = ALIGN_UP(segment.p_filesz + in_page, 4096);
		err = perfdata_writer_mmap(m->writer, &mmap);
	}
	return err;
}

static int add_function(struct maker *m, const GElf_Sym *sym)
{
	const u64 places[] = { 0, sym->st_size / 2, sym->st_size - !!sym->st_size, sym->st_size };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !err; i++)
		err = add_sample(m, sym->st_value + places[i]);
	return err;
}

/* Of whatever type: labels and functions that choose one at run time are among them. */
static bool is_code(const struct maker *m, const GElf_Sym *sym)
{
	Elf_Scn *section = sym->st_shndx < SHN_LORESERVE ? elf_getscn(m->elf, sym->st_shndx) : NULL;
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

static int add_table(struct maker *m, Elf_Scn *section, const GElf_Shdr *header)
{
	size_t nr = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	size_t step = nr / MAX_FUNCTIONS + 1;
	Elf_Data *data = elf_getdata(section, NULL);
	int err = 0;

	for (size_t i = 1; data && i < nr && !err; i += step) {
		GElf_Sym sym;

		if (gelf_getsym(data, i, &sym) && is_code(m, &sym))
			err = add_function(m, &sym);
	}
	return err;
}

static int add_steps(struct maker *m, const GElf_Shdr *header)
{
	u64 step = MAX(header->sh_size / MAX_STEPS, (u64)STUB);
	int err = 0;

	for (u64 at = 0; at < header->sh_size && !err; at += step)
		err = add_sample(m, header->sh_addr + at);
	return err;
}

static int add_samples(struct maker *m)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && (section = elf_nextscn(m->elf, section))) {
		if (!gelf_getshdr(section, &header))
			return -EBADMSG;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			err = add_table(m, section, &header);
		else if (header.sh_flags & SHF_EXECINSTR)
			err = add_steps(m, &header);
	}
	return err;
}

static int add_object(struct perfdata_writer *writer, const char *path, u32 pid, bool chains)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	struct maker m = { .writer = writer, .path = path, .pid = pid, .time = pid * SECOND,
			   .chains = chains };
	const char *name = strrchr(path, '/');
	GElf_Ehdr header;
	int err = elf_file_open(path, &file);

	if (!err)
		err = elf_file_build_id(file, &m.build_id);
	if (err)
		return err;
	m.elf = elf_file_elf(file);
	if (!gelf_getehdr(m.elf, &header))
		return -EBADMSG;
	m.bias = header.e_type == ET_DYN ? BASE : 0;
	err = perfdata_writer_comm(writer, pid, pid, name ? name + 1 : path, true, m.time);
	if (!err)
		err = map_segments(&m);
	return err ? err : add_samples(&m);
}

int main(int argc, char **argv)
{
	static const char *const cmdline[] = { "make-addresses", NULL };
	static const struct perfdata_writer_event event = {
		.name = "cpu-clock", .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .period_or_freq = 1,
	};
	const struct perfdata_writer_options options = {
		.hostname = "host", .os_release = "6.1", .arch = "x86_64", .cmdline = cmdline,
		.nr_cpus = 1, .events = &event, .nr_events = 1,
	};
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	bool chains = argc > 1 && !strcmp(argv[1], "-c");
	int err;

	argc -= chains;
	argv += chains;
	if (argc < 3) {
		fprintf(stderr, "usage: make-addresses [-c] FILE OBJECT…\n");
		return 2;
	}
	err = perfdata_writer_create(argv[1], &options, &writer);
	for (int i = 2; i < argc && !err; i++) {
		err = add_object(writer, argv[i], i, chains);
		if (err)
			fprintf(stderr, "%s: %s\n", argv[i], error_text(err));
	}
	if (!err)
		err = perfdata_writer_finish(writer);
	return err ? 1 : 0;
}
