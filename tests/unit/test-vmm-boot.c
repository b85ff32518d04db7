/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading a kernel, by files that have what a bzImage and an initramfs have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <asm/bootparam.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "vmm/boot.h"

#define MIB (1 << 20)
#define SIZE (64 * MIB)
#define KERNEL_AT 0x1000000
#define SETUP_SIZE (3 * 512)
#define CODE_SIZE 4096

static char kernel[] = "/tmp/kvmprof-boot-XXXXXX", initrd[] = "/tmp/kvmprof-boot-XXXXXX";
static uint8_t image[SETUP_SIZE + CODE_SIZE];
static struct memory memory = { .nr = 2, .size = SIZE };

static struct setup_header *header(void)
{
	return (struct setup_header *)(image + 0x1f1);
}

static void build_image(void)
{
	memset(image, 0, SETUP_SIZE);
	memset(image + SETUP_SIZE, 0xcc, CODE_SIZE);
	image[0x201] = sizeof(struct setup_header) - (0x202 - 0x1f1);
	header()->setup_sects = SETUP_SIZE / 512 - 1;
	header()->header = 0x53726448;
	header()->version = 0x20f;
	header()->xloadflags = XLF_KERNEL_64;
	header()->pref_address = KERNEL_AT;
	header()->init_size = MIB;
	header()->initrd_addr_max = 0x7fffffff;
	header()->cmdline_size = 255;
	assert_int_equal(file_write_atomic(kernel, image, sizeof(image)), 0);
}

static int setup(void **state)
{
	(void)state;
	if (mkstemp(kernel) < 0 || mkstemp(initrd) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		memory.slots[i] = (struct memory_slot){
			.gpa = i * SIZE / 2, .size = SIZE / 2, .hva = calloc(1, SIZE / 2),
		};
	return memory.slots[0].hva && memory.slots[1].hva ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(memory.slots[0].hva);
	free(memory.slots[1].hva);
	return unlink(kernel) || unlink(initrd);
}

static const void *at(uint64_t gpa)
{
	return memory.slots[gpa >= SIZE / 2].hva + gpa % (SIZE / 2);
}

static int load(const char *initrd_path, const char *cmdline, uint64_t *ret_entry)
{
	struct boot_options options = {
		.kernel = kernel, .initrd = initrd_path, .cmdline = cmdline, .nr_cpus = 2,
	};
	const char *why = NULL;
	int err = boot_load(&memory, &options, ret_entry, &why);

	if (err)
		assert_non_null(why);
	return err;
}

static void test_load(void **state)
{
	static const char disk[] = "an initramfs";
	const struct boot_params *params = at(0x7000);
	uint64_t entry = 0;

	(void)state;
	build_image();
	assert_int_equal(file_write_atomic(initrd, disk, sizeof(disk)), 0);
	assert_int_equal(load(initrd, "console=ttyS0 x", &entry), 0);
	assert_int_equal(entry, KERNEL_AT + 0x200);
	assert_memory_equal(at(KERNEL_AT), image + SETUP_SIZE, CODE_SIZE);
	assert_string_equal(at(params->hdr.cmd_line_ptr), "console=ttyS0 x");
	assert_int_equal(params->hdr.ramdisk_size, sizeof(disk));
	assert_int_equal(params->hdr.ramdisk_image % 4096, 0);
	assert_memory_equal(at(params->hdr.ramdisk_image), disk, sizeof(disk));
	assert_int_equal(params->hdr.type_of_loader, 0xff);
	assert_int_equal(params->e820_entries, 2);
	assert_int_equal(params->e820_table[1].addr + params->e820_table[1].size, SIZE);
}

/* Page tables: every address below 4 GiB is itself. */
static void test_tables(void **state)
{
	const uint64_t *top = at(0x9000);

	(void)state;
	for (uint64_t address = 0; address < 4ULL << 30; address += 2 * MIB) {
		const uint64_t *middle = at(top[0] & ~0xfffULL);
		const uint64_t *low = at(middle[address >> 30] & ~0xfffULL);

		assert_int_equal(low[address >> 21 & 511], address | 0x83);
	}
}

static void test_refused(void **state)
{
	char cmdline[512];
	uint64_t entry;

	(void)state;
	memset(cmdline, 'x', sizeof(cmdline) - 1);
	cmdline[sizeof(cmdline) - 1] = '\0';
	assert_int_equal(load(NULL, cmdline, &entry), -E2BIG);
	assert_int_equal(load("/nothing/there", "", &entry), -ENOENT);
	build_image();
	image[0x202]++;		/* the magic */
	assert_int_equal(file_write_atomic(kernel, image, sizeof(image)), 0);
	assert_int_equal(load(NULL, "", &entry), -ENOEXEC);
	build_image();
	header()->pref_address = SIZE - CODE_SIZE + 1;
	header()->init_size = CODE_SIZE - 1;
	assert_int_equal(file_write_atomic(kernel, image, sizeof(image)), 0);
	assert_int_equal(load(NULL, "", &entry), -EFAULT);
	build_image();
	header()->init_size = SIZE - KERNEL_AT;
	assert_int_equal(file_write_atomic(kernel, image, sizeof(image)), 0);
	assert_int_equal(load(NULL, "", &entry), 0);
	assert_int_equal(load(initrd, "", &entry), -ENOMEM);
	header()->init_size++;
	assert_int_equal(file_write_atomic(kernel, image, sizeof(image)), 0);
	assert_int_equal(load(NULL, "", &entry), -ENOMEM);
	header()->pref_address = UINT64_MAX;
	assert_int_equal(file_write_atomic(kernel, image, sizeof(image)), 0);
	assert_int_equal(load(NULL, "", &entry), -ENOMEM);
}

/* What is no file: a FIFO, of which there is no writer to wait for, too. */
static void test_no_file(void **state)
{
	char fifo[] = "/tmp/kvmprof-boot-XXXXXX";
	uint64_t entry;

	(void)state;
	build_image();
	assert_int_equal(load("/", "", &entry), -EISDIR);
	assert_int_equal(load("/dev/zero", "", &entry), -EINVAL);
	close(mkstemp(fifo));
	unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(load(fifo, "", &entry), -EINVAL);
	unlink(fifo);
}

static void test_truncated(void **state)
{
	uint64_t entry;

	(void)state;
	build_image();
	for (size_t size = 0; size <= SETUP_SIZE; size++) {
		assert_int_equal(file_write_atomic(kernel, image, size), 0);
		assert_int_equal(load(NULL, "", &entry), size ? -ENOEXEC : -ENODATA);
	}
	assert_int_equal(file_write_atomic(kernel, image, SETUP_SIZE + 1), 0);
	assert_int_equal(load(NULL, "", &entry), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
