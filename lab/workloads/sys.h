/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls without a libc, inlined: the caller's function is the one that enters the kernel. */
#ifndef LAB_WORKLOADS_SYS_H
#define LAB_WORKLOADS_SYS_H

#include <asm/unistd.h>

static inline __attribute__((always_inline)) long sys6(long nr, long a, long b, long c, long d,
						       long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return ret;
}

/* sys(read, fd, buf, len): up to six arguments of any scalar type; a negative errno on failure. */
#define sys(name, ...) sys_pad(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define sys_pad(nr, a, b, c, d, e, f, ...) \
	sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
