/* SPDX-License-Identifier: GPL-2.0-only */
/* The setup sectors of a bzImage, of which a 64-bit boot loader reads the header only. */
	.section .setup, "a"
setup:
	.org setup + 0x1f1
	.byte 1				/* setup sectors behind the first */
	.org setup + 0x1fe
	.word 0xaa55
	.byte 0xeb, header_end - header
header:
	.ascii "HdrS"
	.word 0x20f			/* boot protocol */
	.org setup + 0x211
	.byte 1				/* loaded high */
	.org setup + 0x22c
	.long 0x7fffffff		/* highest address of an initrd */
	.org setup + 0x236
	.word 1				/* has a 64-bit entry */
	.long 2047			/* command line */
	.org setup + 0x258
	.quad 0x400000			/* where it wants to be */
	.long 0x200000			/* what it takes there */
	.org setup + 0x268
header_end:
	.org setup + 0x400
