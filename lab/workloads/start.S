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

	.section .note.GNU-stack, "", @progbits
