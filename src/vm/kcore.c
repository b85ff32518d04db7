/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel memory through /proc/kcore: an ELF core file whose segments say which file offset shows
 * which virtual range. What is not mapped in such a range reads as zeros.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "base/vec.h"
#include "vm/kernel.h"


struct segment {
	u64 addr;
	u64 size;
	u64 offset;
};

struct kcore {
	struct kernel_mem kernel;
	int fd;
	VEC(struct segment) segments;
};

static int read_at(int fd, void *out, size_t size, u64 offset)
{
	ssize_t n = pread(fd, out, size, offset);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EFAULT;
}

static int kcore_read(struct kernel_mem *kernel, u64 addr, void *out, size_t size)
{
	struct kcore *kcore = container_of(kernel, struct kcore, kernel);

	vec_for_each(&kcore->segments, segment) {
		u64 inside = addr - segment->addr;

		if (addr < segment->addr || inside >= segment->size)
			continue;
		if (size > segment->size - inside)
			return -EFAULT;
		return read_at(kcore->fd, out, size, segment->offset + inside);
	}
	return -EFAULT;
}

static void kcore_close(struct kernel_mem *kernel)
{
	struct kcore *kcore = container_of(kernel, struct kcore, kernel);

	if (kcore->fd >= 0)
		close(kcore->fd);
	vec_deinit(&kcore->segments);
	free(kcore);
}

static int read_header(int fd, Elf64_Ehdr *header)
{
	int err = read_at(fd, header, sizeof(*header), 0);

	if (err)
		return err == -EFAULT ? -EBADMSG : err;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_type != ET_CORE ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	return 0;
}

static int load_segments(struct kcore *kcore)
{
	Elf64_Ehdr header;
	int err = read_header(kcore->fd, &header);

	if (err)
		return err;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		struct segment segment;
		Elf64_Phdr phdr;

		err = read_at(kcore->fd, &phdr, sizeof(phdr), header.e_phoff + i * sizeof(phdr));
		if (err)
			return err == -EFAULT ? -EBADMSG : err;
		if (phdr.p_type != PT_LOAD || phdr.p_vaddr + phdr.p_memsz < phdr.p_vaddr)
			continue;
		segment = (struct segment){ phdr.p_vaddr, phdr.p_memsz, phdr.p_offset };
		err = vec_push(&kcore->segments, segment);
		if (err)
			return err;
	}
	return 0;
}

int kernel_open_kcore(const char *path, struct kernel_mem **ret)
{
	struct kcore *kcore = calloc(1, sizeof(*kcore));
	int err;

	if (!kcore)
		return -ENOMEM;
	kcore->kernel.read = kcore_read;
	kcore->kernel.close = kcore_close;
	kcore->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = kcore->fd < 0 ? -errno : load_segments(kcore);
	if (err) {
		kcore_close(&kcore->kernel);
		return err;
	}
	*ret = &kcore->kernel;
	return 0;
}
