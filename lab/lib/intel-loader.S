/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Boots an unpacked kernel from a disk without a file system, by the kernel's PVH entry (Xen's
 * public/arch-x86/hvm/start_info.h): in an emulator that interprets, to read a kernel that is three
 * times as large is far quicker than to unpack it. boot-disk.py makes such disks and fills in what
 * is at `params`.
 */
#define SECTORS		6		/* of this loader */
#define BUFFER		0x10000
#define CHUNK		120		/* sectors that the firmware reads at once, below 64 KiB */
#define SIZEOF_MEMMAP	24		/* struct hvm_memmap_table_entry */

	.code16
	.globl	_start
_start:
	ljmp	$0, $1f
1:	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movw	$_start, %sp
	sti
	cld
	movw	$rest, %si
	call	read
	call	memory_map
	inb	$0x92, %al		/* the gate of address line 20 */
	orb	$2, %al
	outb	%al, $0x92
	movw	$kernel, %bx
	call	load
	movw	$initrd, %bx
	call	load
	cli
	lgdt	gdt_pointer
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	ljmpl	$8, $protected

/* Reads what the packet at %si says. */
read:
	movb	$0x42, %ah
	movb	$0x80, %dl
	int	$0x13
	jc	fail
	ret

fail:
	movw	$0x0e21, %ax		/* '!' on the display */
	xorw	%bx, %bx
	int	$0x10
	cli
2:	hlt
	jmp	2b

/* What the firmware calls its memory. */
memory_map:
	xorl	%ebx, %ebx
	movw	$memmap, %di
3:	movl	$0xe820, %eax
	movl	$0x534d4150, %edx	/* "SMAP" */
	movl	$20, %ecx
	int	$0x15
	jc	4f
	incl	memmap_entries
	addw	$SIZEOF_MEMMAP, %di
	testl	%ebx, %ebx
	jz	4f
	cmpw	$memmap_end, %di
	jb	3b
4:	ret

/* Loads what %bx describes: first sector, number of sectors, address. */
load:
	movl	4(%bx), %ecx
	testl	%ecx, %ecx
	jz	6f
	cmpl	$CHUNK, %ecx
	jbe	5f
	movl	$CHUNK, %ecx
5:	movw	%cx, packet_count
	movl	(%bx), %eax
	movl	%eax, packet_sector
	addl	%ecx, (%bx)
	subl	%ecx, 4(%bx)
	pushl	%ecx
	pushw	%bx
	movw	$packet, %si
	call	read
	popw	%bx
	popl	%ecx
	shll	$7, %ecx		/* sectors to words of four bytes */
	movl	$BUFFER, %esi
	movl	8(%bx), %edi
	call	copy
	movl	%edi, 8(%bx)
	jmp	load
6:	ret

/* In protected mode, for real mode sees the first MiB only. */
copy:
	cli
	lgdt	gdt_pointer
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	movw	$16, %dx
	movw	%dx, %ds
	movw	%dx, %es
	addr32 rep movsl
	andb	$0xfe, %al
	movl	%eax, %cr0
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %es
	sti
	ret

	.code32
protected:
	movw	$16, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movl	$start_info, %ebx
	jmp	*entry

	.balign	4
/* The firmware's packets: size, sectors, where to, from which sector. */
rest:
	.word	16, SECTORS - 1, _start + 512, 0
	.quad	1
packet:
	.word	16
packet_count:
	.word	0, 0, BUFFER >> 4
packet_sector:
	.quad	0

	.balign	8
gdt:
	.quad	0, 0x00cf9b000000ffff, 0x00cf93000000ffff
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.org	510
	.word	0xaa55

/* Here begins the second sector, and what boot-disk.py fills in. */
params:
kernel:
	.long	0, 0, 0
initrd:
	.long	0, 0, 0
entry:
	.long	0
	.long	0
modules:			/* struct hvm_modlist_entry: address, size, command line, reserved */
	.quad	0, 0, 0, 0
start_info:
	.long	0x336ec578		/* magic */
	.long	1			/* version */
	.long	0			/* flags */
	.long	1			/* modules */
	.long	modules, 0, command_line, 0
	.quad	0			/* the kernel finds the ACPI tables itself */
	.long	memmap, 0
memmap_entries:
	.long	0, 0
memmap:
	.fill	20 * SIZEOF_MEMMAP
memmap_end:

	.org	1536
command_line:
	.org	SECTORS * 512
