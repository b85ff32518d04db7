/* SPDX-License-Identifier: GPL-2.0-only */
/* start.S for arm64. */
#include <asm/unistd.h>

	.text

	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	ldr	x0, [sp]			/* argc */
	add	x1, sp, #8			/* argv */
	add	x2, x1, x0, lsl #3
	add	x2, x2, #8			/* envp */
	bl	main
	mov	x8, #__NR_exit_group
	svc	#0
	brk	#0
	.cfi_endproc
	.size	_start, . - _start

/* Where rt_clone() lets a thread begin: its function and argument are on its stack. */
	.type	thread_entry, @function
thread_entry:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	ldp	x1, x0, [sp], #16
	blr	x1
	mov	x0, #0
	mov	x8, #__NR_exit
	svc	#0
	brk	#0
	.cfi_endproc
	.size	thread_entry, . - thread_entry

/* long rt_clone(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg, int *tid) */
	.globl	rt_clone
	.type	rt_clone, @function
rt_clone:
	.cfi_startproc
	and	x1, x1, #-16
	stp	x2, x3, [x1, #-16]!
	mov	x2, x4				/* parent's tid pointer */
	mov	x3, #0				/* TLS */
	mov	x8, #__NR_clone			/* child's tid pointer: x4 */
	svc	#0
	cbz	x0, thread_entry
	ret
	.cfi_endproc
	.size	rt_clone, . - rt_clone

/*
 * Where signal handlers return to. The interrupted registers are in the ucontext behind the siginfo
 * at the stack pointer: general register N at 312 + 8 * N, the stack pointer at 560, the pc at 568
 * (struct rt_sigframe, arch/arm64/kernel/signal.c). The pc's own column (32) is the return address,
 * for x30 has a value of its own. The nop is for unwinders, which look up the byte before a return
 * address.
 */
#define SAVED(reg, low, high)	.cfi_escape 0x10, reg, 3, 0x8f, low, high /* expression: sp + N */

	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_return_column 32
	.cfi_escape 0x0f, 4, 0x8f, 0xb0, 0x04, 0x06	/* CFA: the saved sp, at 560 */
	SAVED(19, 0xd0, 0x03)		/* 464 */
	SAVED(20, 0xd8, 0x03)
	SAVED(21, 0xe0, 0x03)
	SAVED(22, 0xe8, 0x03)
	SAVED(23, 0xf0, 0x03)
	SAVED(24, 0xf8, 0x03)
	SAVED(25, 0x80, 0x04)		/* 512 */
	SAVED(26, 0x88, 0x04)
	SAVED(27, 0x90, 0x04)
	SAVED(28, 0x98, 0x04)
	SAVED(29, 0xa0, 0x04)
	SAVED(30, 0xa8, 0x04)		/* 552 */
	SAVED(32, 0xb8, 0x04)		/* 568 */
	nop
	.globl	rt_restorer
	.type	rt_restorer, @function
rt_restorer:
	mov	x8, #__NR_rt_sigreturn
	svc	#0
	brk	#0
	.cfi_endproc
	.size	rt_restorer, . - rt_restorer

	.section .note.GNU-stack, "", @progbits
