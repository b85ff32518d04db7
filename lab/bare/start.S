/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest without an operating system: entered by PVH (Xen's boot protocol, which QEMU's -kernel
 * speaks) in 32-bit mode without paging, it goes to 64-bit mode on tables that map the first GiB
 * to itself, says "bare: up" on the first serial line, and runs main(), which does not return.
 */
	.section .note.Xen, "a", @note
	.long 4, 8, 18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.quad start32

	.text
	.code32
	.globl start32
	.type start32, @function
start32:
	cli
	movl $pml4, %edi
	movl $(pdpt + 3), %eax		/* present, writable */
	movl %eax, (%edi)
	movl $(pd + 3), %eax
	movl %eax, pdpt
	xorl %ecx, %ecx
	movl $0x83, %eax		/* 2 MiB pages */
1:	movl %eax, pd(, %ecx, 8)
	addl $0x200000, %eax
	incl %ecx
	cmpl $512, %ecx
	jne 1b
	movl $0x20, %eax		/* CR4.PAE */
	movl %eax, %cr4
	movl %edi, %cr3
	movl $0xc0000080, %ecx		/* EFER.LME */
	rdmsr
	orl $0x100, %eax
	wrmsr
	movl $0x80000001, %eax		/* CR0.PG, PE */
	movl %eax, %cr0
	lgdt descriptor
	ljmp $8, $start64
	.size start32, . - start32

	.code64
	.type start64, @function
start64:
	.cfi_startproc
	.cfi_undefined rip
	movl $16, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	leaq stack_end(%rip), %rsp
	xorl %ebp, %ebp			/* the outermost frame */
	leaq greeting(%rip), %rsi
	movw $0x3f8, %dx
2:	lodsb
	testb %al, %al
	jz 3f
	outb %al, %dx
	jmp 2b
3:	call main
	hlt
	.cfi_endproc
	.size start64, . - start64

	.section .rodata
greeting:
	.asciz "bare: up\r\n"
	.balign 8
gdt:
	.quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
descriptor:
	.word . - gdt - 1
	.long gdt

	.bss
	.balign 4096
pml4:	.skip 4096
pdpt:	.skip 4096
pd:	.skip 4096
	.skip 16384
stack_end:

	.section .note.GNU-stack, "", @progbits
