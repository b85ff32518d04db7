/* SPDX-License-Identifier: GPL-2.0-only */
/* start.S for i386. */
#include <asm/unistd.h>

#define AT_SYSINFO 32	/* the vDSO's entry for system calls */

	.text

	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined eip
	xorl	%ebp, %ebp
	movl	(%esp), %edx			/* argc */
	leal	4(%esp), %ecx			/* argv */
	leal	4(%ecx, %edx, 4), %esi		/* envp, and behind its end the auxiliary vector */
1:	lodsl
	testl	%eax, %eax
	jnz	1b
2:	lodsl
	movl	%eax, %ebx
	lodsl
	testl	%ebx, %ebx
	jz	3f
	cmpl	$AT_SYSINFO, %ebx
	jne	2b
	movl	%eax, rt_vsyscall
3:	andl	$-16, %esp
	subl	$8, %esp
	pushl	%ecx
	pushl	%edx
	call	main
	movl	%eax, %ebx
	movl	$__NR_exit_group, %eax
	int	$0x80
	hlt
	.cfi_endproc
	.size	_start, . - _start

/* Where rt_clone() lets a thread begin: its function and argument are on its stack. */
	.type	thread_entry, @function
thread_entry:
	.cfi_startproc
	.cfi_undefined eip
	xorl	%ebp, %ebp
	popl	%eax
	call	*%eax
	xorl	%ebx, %ebx
	movl	$__NR_exit, %eax
	int	$0x80
	hlt
	.cfi_endproc
	.size	thread_entry, . - thread_entry

/* long rt_clone(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg, int *tid) */
	.globl	rt_clone
	.type	rt_clone, @function
rt_clone:
	.cfi_startproc
	pushl	%ebx
	.cfi_def_cfa_offset 8
	.cfi_offset ebx, -8
	pushl	%esi
	.cfi_def_cfa_offset 12
	.cfi_offset esi, -12
	pushl	%edi
	.cfi_def_cfa_offset 16
	.cfi_offset edi, -16
	movl	16(%esp), %ebx
	movl	20(%esp), %ecx
	andl	$-16, %ecx
	subl	$20, %ecx			/* aligned again when the function is called */
	movl	24(%esp), %eax
	movl	%eax, (%ecx)
	movl	28(%esp), %eax
	movl	%eax, 4(%ecx)
	movl	32(%esp), %edx			/* parent's tid pointer */
	movl	%edx, %edi			/* child's */
	xorl	%esi, %esi
	movl	$__NR_clone, %eax
	int	$0x80
	testl	%eax, %eax
	jz	thread_entry
	popl	%edi
	.cfi_restore edi
	.cfi_def_cfa_offset 12
	popl	%esi
	.cfi_restore esi
	.cfi_def_cfa_offset 8
	popl	%ebx
	.cfi_restore ebx
	.cfi_def_cfa_offset 4
	ret
	.cfi_endproc
	.size	rt_clone, . - rt_clone

/* A system call where there is no vDSO. */
	.type	rt_int80, @function
rt_int80:
	.cfi_startproc
	int	$0x80
	ret
	.cfi_endproc
	.size	rt_int80, . - rt_int80

	.data
	.globl	rt_vsyscall
	.type	rt_vsyscall, @object
	.align	4
rt_vsyscall:
	.long	rt_int80
	.size	rt_vsyscall, 4

	.section .note.GNU-stack, "", @progbits
