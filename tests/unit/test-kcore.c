/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel memory through an ELF core file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "build.h"
#include "vm/kernel.h"

#define DIRECT_MAP 0xffff888000000000ULL
#define MODULES 0xffffffffc0000000ULL

static char path[64];

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/kvmprof-kcore-XXXXXX");
	fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void put_segment(struct strbuf *sb, u32 type, u64 addr, u64 size, u64 offset)
{
	Elf64_Phdr phdr = {
		.p_type = type,
		.p_vaddr = addr,
		.p_memsz = size,
		.p_filesz = size,
		.p_offset = offset,
	};

	strbuf_add(sb, &phdr, sizeof(phdr));
}

/* A note, the direct map and the modules' range, as /proc/kcore has them. */
static void build(struct strbuf *sb)
{
	Elf64_Ehdr header = {
		.e_ident = ELFMAG,
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 4,
	};

	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	strbuf_add(sb, &header, sizeof(header));
	put_segment(sb, PT_NOTE, 0, 16, 0x400);
	put_segment(sb, PT_LOAD, MODULES, 16, 0x420);
	put_segment(sb, PT_LOAD, DIRECT_MAP, 32, 0x440);
	put_segment(sb, PT_LOAD, UINT64_MAX - 7, 32, 0x440);	/* wraps: no segment */
	put_align(sb, 0x400);
	strbuf_add_zeros(sb, 0x20);
	strbuf_adds(sb, "module's bytes !");
	put_align(sb, 0x20);
	strbuf_adds(sb, "0123456789abcdef0123456789abcdef");
}

static void test_reads(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	struct kernel_mem *kernel = NULL;
	char out[64];
	u64 word = 0;

	(void)state;
	build(&sb);
	assert_int_equal(file_write_atomic(path, sb.data, sb.len), 0);
	assert_int_equal(kernel_open_kcore(path, &kernel), 0);
	assert_int_equal(kernel_read(kernel, MODULES, out, 16), 0);
	assert_memory_equal(out, "module's bytes !", 16);
	assert_int_equal(kernel_read(kernel, DIRECT_MAP + 8, out, 8), 0);
	assert_memory_equal(out, "89abcdef", 8);
	assert_int_equal(kernel_read_u64(kernel, DIRECT_MAP + 16, &word), 0);
	assert_memory_equal(&word, "01234567", 8);
	assert_int_equal(kernel_read(kernel, DIRECT_MAP + 16, out, 17), -EFAULT);
	assert_int_equal(kernel_read(kernel, DIRECT_MAP - 1, out, 1), -EFAULT);
	assert_int_equal(kernel_read(kernel, MODULES + 16, out, 1), -EFAULT);
	assert_int_equal(kernel_read(kernel, UINT64_MAX - 7, out, 8), -EFAULT);
	assert_int_equal(kernel_read(kernel, 0, out, 8), -EFAULT);
	kernel_close(kernel);
}

static void test_truncated(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	const size_t headers = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr);
	char out[32];

	(void)state;
	build(&sb);
	for (size_t cut = 0; cut < sb.len; cut++) {
		struct kernel_mem *kernel = NULL;
		int err;

		assert_int_equal(file_write_atomic(path, sb.data, cut), 0);
		err = kernel_open_kcore(path, &kernel);
		assert_int_equal(err, cut < headers ? -EBADMSG : 0);
		if (!err) {
			assert_int_equal(kernel_read(kernel, DIRECT_MAP, out, 32), -EFAULT);
			kernel_close(kernel);
		}
	}
}

static void test_not_a_core(void **state)
{
	struct kernel_mem *kernel = NULL;

	(void)state;
	assert_int_equal(kernel_open_kcore("/proc/self/exe", &kernel), -EBADMSG);
	assert_int_equal(kernel_open_kcore("/nowhere", &kernel), -ENOENT);
	assert_null(kernel);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_reads),
		TEST(test_truncated),
		TEST(test_not_a_core),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
