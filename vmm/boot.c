/* SPDX-License-Identifier: GPL-2.0-only */
/* What firmware and boot loader would have left in memory. */
#include "boot.h"

#include <asm/bootparam.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mptable.h"

/* Where things are, below the 640 KiB that the memory map has as RAM. */
#define GDT_AT 0x500
#define PARAMS_AT 0x7000
#define STACK_AT 0x8ff0
#define TABLES_AT 0x9000	/* six pages: 4 GiB, one to one */
#define CMDLINE_AT 0x20000
#define LOW_END 0x9fc00
#define HIGH_START 0x100000

#define MAGIC 0x53726448	/* "HdrS" */
#define ENTRY_64 0x200
#define PAGE 4096ULL

struct file {
	void *data;
	size_t size;
};

static int map_file(const char *path, struct file *ret)
{
	/* Without O_NONBLOCK a FIFO would have us wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	else if (!st.st_size)
		err = -ENODATA;
	if (!err) {
		ret->size = st.st_size;
		ret->data = mmap(NULL, ret->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (ret->data == MAP_FAILED)
			err = -errno;
	}
	close(fd);
	return err;
}

/* 2 MiB pages for the first 4 GiB, which are mapped where they are. */
static int write_tables(const struct memory *memory)
{
	uint64_t table[6][512] = { 0 };

	table[0][0] = (TABLES_AT + PAGE) | 3;
	for (uint64_t i = 0; i < 4; i++)
		table[1][i] = (TABLES_AT + (2 + i) * PAGE) | 3;
	for (uint64_t i = 0; i < 4 * 512; i++)
		table[2 + i / 512][i % 512] = i << 21 | 0x83;
	return memory_write(memory, TABLES_AT, table, sizeof(table));
}

static int write_gdt(const struct memory *memory)
{
	static const uint64_t gdt[] = { 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff };

	return memory_write(memory, GDT_AT, gdt, sizeof(gdt));
}

/* The setup header at its place in a bzImage; the kernel proper is behind the setup sectors. */
static int check_kernel(const struct file *kernel, struct setup_header *header, size_t *ret_offset)
{
	const uint8_t *data = kernel->data;
	size_t size, offset;

	if (kernel->size < 0x202)
		return -ENOEXEC;
	size = 0x202 + data[0x201] - 0x1f1;
	if (size > sizeof(*header))
		size = sizeof(*header);
	if (kernel->size < 0x1f1 + size)
		return -ENOEXEC;
	memset(header, 0, sizeof(*header));
	memcpy(header, data + 0x1f1, size);
	offset = ((header->setup_sects ?: 4) + 1) * 512;
	if (header->header != MAGIC || header->version < 0x20c ||
	    !(header->xloadflags & XLF_KERNEL_64) || kernel->size <= offset)
		return -ENOEXEC;
	*ret_offset = offset;
	return 0;
}

/* It unpacks itself there, which takes more than the file. */
static bool has_room(const struct memory *memory, const struct setup_header *header)
{
	return header->pref_address <= memory->size &&
	       header->init_size <= memory->size - header->pref_address;
}

static int load_kernel(const struct memory *memory, const char *path, struct setup_header *header)
{
	struct file file = { 0 };
	size_t offset;
	int err = map_file(path, &file);

	if (err)
		return err;
	err = check_kernel(&file, header, &offset);
	if (!err && !has_room(memory, header))
		err = -ENOMEM;
	if (!err)
		err = memory_write(memory, header->pref_address, (uint8_t *)file.data + offset,
				   file.size - offset);
	munmap(file.data, file.size);
	return err;
}

/* As high as may be, on a page of its own. */
static int load_initrd(const struct memory *memory, const char *path, struct setup_header *header)
{
	uint64_t end = memory->size, at;
	struct file file = { 0 };
	int err = map_file(path, &file);

	if (err)
		return err;
	if (end > header->initrd_addr_max + 1ULL)
		end = header->initrd_addr_max + 1ULL;
	at = file.size < end ? (end - file.size) & ~(PAGE - 1) : 0;
	if (at < header->pref_address + header->init_size)
		err = -ENOMEM;
	else
		err = memory_write(memory, at, file.data, file.size);
	header->ramdisk_image = at;
	header->ramdisk_size = file.size;
	munmap(file.data, file.size);
	return err;
}

static int write_params(const struct memory *memory, const struct setup_header *header)
{
	struct boot_params params = { .hdr = *header };

	params.hdr.type_of_loader = 0xff;
	params.hdr.loadflags |= LOADED_HIGH;
	params.hdr.cmd_line_ptr = CMDLINE_AT;
	params.e820_entries = 2;
	params.e820_table[0] = (struct boot_e820_entry){ 0, LOW_END, 1 };
	params.e820_table[1] =
		(struct boot_e820_entry){ HIGH_START, memory->size - HIGH_START, 1 };
	return memory_write(memory, PARAMS_AT, &params, sizeof(params));
}

int boot_load(const struct memory *memory, const struct boot_options *options, uint64_t *ret_entry,
	      const char **ret_why)
{
	struct setup_header header;
	int err;

	*ret_why = options->kernel;
	err = load_kernel(memory, options->kernel, &header);
	if (!err && options->initrd) {
		*ret_why = options->initrd;
		err = load_initrd(memory, options->initrd, &header);
	}
	if (err)
		return err;
	*ret_why = "the command line";
	if (strlen(options->cmdline) > header.cmdline_size ||
	    strlen(options->cmdline) >= LOW_END - CMDLINE_AT)
		return -E2BIG;
	*ret_why = "boot parameters";
	err = memory_write(memory, CMDLINE_AT, options->cmdline, strlen(options->cmdline) + 1);
	err = err ?: write_params(memory, &header);
	err = err ?: write_tables(memory);
	err = err ?: write_gdt(memory);
	err = err ?: mptable_write(memory, options->nr_cpus);
	*ret_entry = header.pref_address + ENTRY_64;
	return err;
}

static void set_segments(struct kvm_sregs *sregs)
{
	struct kvm_segment segment = {
		.limit = 0xffffffff, .selector = 0x10, .present = 1,
		.type = 11, .s = 1, .l = 1, .g = 1,
	};

	sregs->cs = segment;
	segment.type = 3;
	segment.l = 0;
	segment.db = 1;
	segment.selector = 0x18;
	sregs->ds = sregs->es = sregs->fs = sregs->gs = sregs->ss = segment;
	sregs->gdt.base = GDT_AT;
	sregs->gdt.limit = 31;
}

int boot_set_registers(int vcpu_fd, uint64_t entry)
{
	struct kvm_regs regs = { .rflags = 2, .rip = entry, .rsi = PARAMS_AT, .rsp = STACK_AT };
	struct kvm_sregs sregs;

	if (ioctl(vcpu_fd, KVM_GET_SREGS, &sregs))
		return -errno;
	set_segments(&sregs);
	sregs.cr3 = TABLES_AT;
	sregs.cr4 = 1 << 5;			/* PAE */
	sregs.cr0 = 0x80000011;			/* paging, protected mode */
	sregs.efer = 1 << 8 | 1 << 10;		/* long mode */
	if (ioctl(vcpu_fd, KVM_SET_SREGS, &sregs) || ioctl(vcpu_fd, KVM_SET_REGS, &regs))
		return -errno;
	return 0;
}
