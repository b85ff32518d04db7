/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a program and its threads begin, and so where their call chains end: the frame pointer
 * is 0 and the unwind tables say that there is no caller.
 */
#include <asm/unistd.h>

	.text

	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	movq	(%rsp), %rdi		/* argc */
	leaq	8(%rsp), %rsi		/* argv */
	leaq	8(%rsi, %rdi, 8), %rdx	/* envp */
	andq	$-16, %rsp
	call	main
	movl	%eax, %edi
	movl	$__NR_exit_group, %eax
	syscall
	hlt
	.cfi_endproc
	.size	_start, . - _start

/* Where rt_clone() lets a thread begin: its function and argument are on its stack. */
	.type	thread_entry, @function
thread_entry:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	popq	%rax
	popq	%rdi
	call	*%rax
	xorl	%edi, %edi
	movl	$__NR_exit, %eax
	syscall
	hlt
	.cfi_endproc
	.size	thread_entry, . - thread_entry

/* long rt_clone(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg, int *tid) */
	.globl	rt_clone
	.type	rt_clone, @function
rt_clone:
	.cfi_startproc
	andq	$-16, %rsi
	subq	$16, %rsi
	movq	%rdx, (%rsi)
	movq	%rcx, 8(%rsi)
	movq	%r8, %rdx		/* parent's tid pointer */
	movq	%r8, %r10		/* child's */
	movl	$__NR_clone, %eax
	syscall
	testq	%rax, %rax
	jz	thread_entry
	ret
	.cfi_endproc
	.size	rt_clone, . - rt_clone

/*
 * Where signal handlers return to. The interrupted registers are in the ucontext at the stack
 * pointer, general register N (in the kernel's order) at 40 + 8 * N. The nop is for unwinders,
 * which look up the byte before a return address.
 */
#define SAVED(reg, low, high)	.cfi_escape 0x10, reg, 3, 0x77, low, high /* expression: rsp + N */

	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	/* CFA: the saved rsp, at 160 */
	SAVED(3, 0x80, 0x01)		/* rbx at 128 */
	SAVED(6, 0xf8, 0x00)		/* rbp at 120 */
	SAVED(12, 0xc8, 0x00)		/* r12 at 72 */
	SAVED(13, 0xd0, 0x00)		/* r13 at 80 */
	SAVED(14, 0xd8, 0x00)		/* r14 at 88 */
	SAVED(15, 0xe0, 0x00)		/* r15 at 96 */
	SAVED(16, 0xa8, 0x01)		/* rip at 168 */
	nop
	.globl	rt_restorer
	.type	rt_restorer, @function
rt_restorer:
	movl	$__NR_rt_sigreturn, %eax
	syscall
	hlt
	.cfi_endproc
	.size	rt_restorer, . - rt_restorer

	.section .note.GNU-stack, "", @progbits
