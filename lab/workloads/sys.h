/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls without a libc, inlined: the caller's function is the one that enters the kernel. */
#ifndef LAB_WORKLOADS_SYS_H
#define LAB_WORKLOADS_SYS_H

#include <asm/unistd.h>

static inline __attribute__((always_inline)) long sys6(long nr, long a, long b, long c, long d,
						       long e, long f)
{
#ifdef __aarch64__
	register long x8 asm("x8") = nr;
	register long x0 asm("x0") = a;
	register long x1 asm("x1") = b;
	register long x2 asm("x2") = c;
	register long x3 asm("x3") = d;
	register long x4 asm("x4") = e;
	register long x5 asm("x5") = f;

	asm volatile("svc #0"
		     : "+r"(x0)
		     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
		     : "memory");
	return x0;
#elif defined(__i386__)
	/* Five arguments have registers. The one call here that has six takes them in memory. */
	const long all[] = { a, b, c, d, e, f };
	long first = nr == __NR_mmap ? (long)all : a, ret;

	asm volatile("call *rt_vsyscall"
		     : "=a"(ret)
		     : "a"(nr), "b"(first), "c"(b), "d"(c), "S"(d), "D"(e)
		     : "memory");
	return ret;
#else
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return ret;
#endif
}

#ifdef __i386__
extern const void *rt_vsyscall;	/* start-i386.S */
#endif

/* sys(read, fd, buf, len): up to six arguments of any scalar type; a negative errno on failure. */
#define sys(name, ...) sys_pad(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define sys_pad(nr, a, b, c, d, e, f, ...) \
	sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Newer architectures lack what later calls can do, too. */
#ifdef __NR_fork
#define sys_fork() sys(fork)
#define sys_readlink(path, out, size) sys(readlink, path, out, size)
#define sys_epoll_wait(fd, events, nr, ms) sys(epoll_wait, fd, events, nr, ms)
#else
#define sys_fork() sys(clone, 17 /* SIGCHLD */)
#define sys_readlink(path, out, size) sys(readlinkat, -100 /* AT_FDCWD */, path, out, size)
#define sys_epoll_wait(fd, events, nr, ms) sys(epoll_pwait, fd, events, nr, ms)
#endif

#endif
