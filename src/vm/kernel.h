/* SPDX-License-Identifier: GPL-2.0-only */
/* The host kernel's memory, read only, whatever lets us read it. */
#ifndef VM_KERNEL_H
#define VM_KERNEL_H

#include "base/types.h"

struct kernel_mem {
	/* 0, or -EFAULT when not all of it can be read, or the system's error. */
	int (*read)(struct kernel_mem *kernel, u64 addr, void *out, size_t size);
	void (*close)(struct kernel_mem *kernel);
};

static inline int kernel_read(struct kernel_mem *kernel, u64 addr, void *out, size_t size)
{
	return kernel->read(kernel, addr, out, size);
}

#define KERNEL_DEFINE_READ(bits)                                                        \
	static inline int kernel_read_u##bits(struct kernel_mem *kernel, u64 addr,     \
					      u##bits *ret)                             \
	{                                                                               \
		u##bits value;                                                          \
		int err = kernel_read(kernel, addr, &value, sizeof(value));             \
                                                                                        \
		if (!err)                                                               \
			*ret = value;                                                   \
		return err;                                                             \
	}
KERNEL_DEFINE_READ(8)
KERNEL_DEFINE_READ(16)
KERNEL_DEFINE_READ(32)
KERNEL_DEFINE_READ(64)
#undef KERNEL_DEFINE_READ

static inline void kernel_close(struct kernel_mem *kernel)
{
	if (kernel)
		kernel->close(kernel);
}

/*
 * Memory through the ELF core file @path, /proc/kcore. -EBADMSG when it is no such file; -EPERM
 * where the kernel is locked down.
 */
int kernel_open_kcore(const char *path, struct kernel_mem **ret);

#endif
