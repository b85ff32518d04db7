/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A 32-bit program that uses libc, without frame pointers: chains through libc and the vDSO.
 *
 *	main ── sort_all ── qsort (libc) ── compare
 *	     ── ask_kernel ── getppid (libc) ── __kernel_vsyscall (vDSO) ── the kernel
 *	     ── look_at_clock ── clock_gettime (libc) ── __vdso_clock_gettime (vDSO)
 *
 * Made without the headers and start files of a 32-bit libc: there is just the library.
 */
#define TREE __attribute__((noinline, noclone, used))
#define NR 512
#define CLOCK_MONOTONIC 1

struct timespec_32 {
	int sec, nsec;
};

extern int puts(const char *text);
extern int getppid(void);
extern int clock_gettime(int clock, struct timespec_32 *ts);
extern void qsort(void *base, unsigned int nr, unsigned int size,
		  int (*compare)(const void *, const void *));

static int numbers[NR];
static volatile unsigned int sink;

/* What the psABI and libc want: the outermost frame, and a stack at a multiple of 16. */
__asm__(".text\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined eip\n"
	"	xorl	%ebp, %ebp\n"
	"	popl	%esi\n"
	"	movl	%esp, %ecx\n"
	"	andl	$-16, %esp\n"
	"	pushl	%eax\n"
	"	pushl	%esp\n"
	"	pushl	%edx\n"
	"	pushl	$0\n"
	"	pushl	$0\n"
	"	pushl	%ecx\n"
	"	pushl	%esi\n"
	"	pushl	$main\n"
	"	call	__libc_start_main\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size _start, . - _start\n");

TREE static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	for (int i = 0; i < 50; i++)
		sink += i;
	return *x < *y ? -1 : *x > *y;
}

TREE static void sort_all(void)
{
	unsigned int x = sink;

	for (int i = 0; i < NR; i++) {
		x = x * 69069 + 12345;
		numbers[i] = x >> 1;
	}
	qsort(numbers, NR, sizeof(numbers[0]), compare);
	sink += numbers[0];
}

TREE static void ask_kernel(void)
{
	for (int i = 0; i < 200; i++)
		sink += getppid();
}

TREE static void look_at_clock(void)
{
	struct timespec_32 ts = { 0, 0 };

	for (int i = 0; i < 200; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		sink += ts.nsec;
	}
}

TREE int main(void)
{
	puts("libc-32: started");
	for (;;) {
		sort_all();
		ask_kernel();
		look_at_clock();
	}
}
