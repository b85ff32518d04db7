/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the boot loader to main(), in 64-bit mode with the first 4 GiB mapped to themselves for all
 * privilege levels; the way into ring 3 and back; the way of the second processor; traps.
 *
 * Two entries: PVH (Xen's boot protocol, which QEMU's -kernel speaks) in 32-bit mode, and Linux'
 * 64-bit one, 200H behind the start. main() gets the command line of either.
 */
#define CODE64 0x08
#define DATA 0x10
#define USER_DATA 0x1b
#define USER_CODE 0x23
#define CODE32 0x48
#define TRAMPOLINE 0x8000

	.section .note.Xen, "a", @note
	.long 4, 8, 18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.quad start32

	.section .text.start, "ax"
	.code32
	.globl start32
start32:
	cli
	movl 24(%ebx), %esi		/* hvm_start_info.cmdline_paddr */
	movl $stack0_end, %esp
	call tables
	call long_mode
	ljmp $CODE64, $start64

/* 4 GiB in pages of 2 MiB. */
tables:
	movl $(pdpt + 7), pml4
	movl $4, %ecx
	movl $(pd + 7), %eax
	movl $pdpt, %edi
1:	movl %eax, (%edi)
	addl $8, %edi
	addl $0x1000, %eax
	loop 1b
	movl $2048, %ecx
	movl $0x87, %eax
	movl $pd, %edi
2:	movl %eax, (%edi)
	addl $8, %edi
	addl $0x200000, %eax
	loop 2b
	ret

long_mode:
	movl $0x20, %eax		/* CR4.PAE */
	movl %eax, %cr4
	movl $pml4, %eax
	movl %eax, %cr3
	movl $0xc0000080, %ecx		/* EFER.LME */
	rdmsr
	orl $0x100, %eax
	wrmsr
	movl $0x80000001, %eax		/* CR0.PG, PE */
	movl %eax, %cr0
	lgdt descriptor
	ret

	.org 0x200
	.code64
	.globl start64_linux
start64_linux:
	cli
	movl 0x228(%rsi), %esi		/* boot_params.hdr.cmd_line_ptr */
	leaq stack0_end(%rip), %rsp
	call tables64
	leaq pml4(%rip), %rax
	movq %rax, %cr3
	lgdt descriptor
	pushq $CODE64
	leaq start64(%rip), %rax
	pushq %rax
	lretq

tables64:
	leaq (pdpt + 7)(%rip), %rax
	movq %rax, pml4(%rip)
	movl $4, %ecx
	leaq (pd + 7)(%rip), %rax
	leaq pdpt(%rip), %rdi
1:	movq %rax, (%rdi)
	addq $8, %rdi
	addq $0x1000, %rax
	loop 1b
	movl $2048, %ecx
	movl $0x87, %eax
	leaq pd(%rip), %rdi
2:	movq %rax, (%rdi)
	addq $8, %rdi
	addq $0x200000, %rax
	loop 2b
	ret

start64:
	movl $DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	xorl %eax, %eax
	movl %eax, %gs
	leaq stack0_end(%rip), %rsp
	xorl %ebp, %ebp
	movl %esi, %edi
	call main
1:	hlt
	jmp 1b

	.text
/* The second processor: copied to TRAMPOLINE, where it starts in real mode. */
	.globl trampoline, trampoline_size
	.code16
trampoline:
	cli
	xorw %ax, %ax
	movw %ax, %ds
	lgdtl TRAMPOLINE + trampoline_descriptor - trampoline
	movl %cr0, %eax
	orl $1, %eax
	movl %eax, %cr0
	ljmpl $CODE32, $second32
	.balign 4
trampoline_descriptor:
	.word gdt_end - gdt - 1
	.long gdt
trampoline_size:
	.long . - trampoline

	.code32
second32:
	movl $DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl $stack1_end, %esp
	call long_mode
	ljmp $CODE64, $second64

	.code64
second64:
	xorl %eax, %eax
	movl %eax, %gs
	leaq stack1_end(%rip), %rsp
	xorl %ebp, %ebp
	call second_main
1:	hlt
	jmp 1b

/*
 * void ring3_enter(void (*function)(void), void *stack, unsigned long *saved_rsp): calls the function
 * in ring 3, returns when it does.
 */
	.globl ring3_enter
ring3_enter:
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdx)
	pushfq
	popq %rax
	pushq $USER_DATA
	pushq %rsi
	pushq %rax
	pushq $USER_CODE
	leaq ring3(%rip), %rax
	pushq %rax
	iretq

ring3:	call *%rdi
	int $0x80

/* void ring3_leave(unsigned long saved_rsp): ring3_enter() returns. */
	.globl ring3_leave
ring3_leave:
	movq %rdi, %rsp
	movl $DATA, %eax
	movl %eax, %ss
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	ret

/* Traps: each pushes an error code, if the processor has not, and its number. */
	.balign 16
	.globl trap_stubs
trap_stubs:
	.set vector, 0
	.rept 256
	.balign 16
	.if vector != 8 && (vector < 10 || vector > 14) && vector != 17 && vector != 21
	pushq $0
	.endif
	pushq $vector
	jmp trap_common
	.set vector, vector + 1
	.endr

trap_common:
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rbx
	pushq %rbp
	pushq %rsi
	pushq %rdi
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, %rdi
	movq %rsp, %rbp
	andq $-16, %rsp
	cld
	call trap
	movq %rbp, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rdi
	popq %rsi
	popq %rbp
	popq %rbx
	popq %rdx
	popq %rcx
	popq %rax
	addq $16, %rsp
	iretq

	.data
	.balign 8
	.globl gdt
gdt:
	.quad 0
	.quad 0x00af9a000000ffff	/* code, ring 0 */
	.quad 0x00cf92000000ffff	/* data */
	.quad 0x00cff2000000ffff	/* data, ring 3 */
	.quad 0x00affa000000ffff	/* code, ring 3 */
	.quad 0, 0, 0, 0		/* the task state segments, by cpu.c */
	.quad 0x00cf9a000000ffff	/* code of 32 bits */
gdt_end:
descriptor:
	.word gdt_end - gdt - 1
	.quad gdt

	.bss
	.balign 4096
pml4:	.skip 4096
pdpt:	.skip 4096
pd:	.skip 4 * 4096
	.skip 16384
stack0_end:
	.skip 16384
stack1_end:

	.section .note.GNU-stack, "", @progbits
