// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code in a segment of its own, which begins elsewhere than at 0 (modify_ldt()): the addresses that
 * the processor has and pushes there are offsets. Of 32 bits only.
 *
 *	_start
 *	  main
 *	    segment_enter ══ segment_entry ── inside ── inside_leaf		60 %
 *	                                            ── (the kernel)		every round
 *	    outside ── outside_leaf						40 %
 *
 * One piece of work is one round of both.
 */
#include <asm/ldt.h>

#include "rt.h"

#define UNIT 20000ul
#define BASE 0x1230000u
#define SELECTOR 7	/* entry 0 of the LDT, of user mode */

struct far_pointer {
	uint32_t offset;
	uint16_t selector;
} __attribute__((packed));

static volatile unsigned long sink;
struct far_pointer segment_far = { .selector = SELECTOR };

/* Calls through segment_far, and is called so: by the far call's own return. */
void segment_enter(unsigned long n);
void segment_entry(void);

asm(".text\n"
    ".globl segment_enter\n"
    ".type segment_enter, @function\n"
    "segment_enter:\n"
    "	.cfi_startproc\n"
    "	pushl	%ebp\n"
    "	.cfi_def_cfa_offset 8\n"
    "	.cfi_offset ebp, -8\n"
    "	movl	%esp, %ebp\n"
    "	.cfi_def_cfa_register ebp\n"
    "	movl	8(%ebp), %eax\n"
    "	lcall	*segment_far\n"
    "	popl	%ebp\n"
    "	.cfi_restore ebp\n"
    "	.cfi_def_cfa esp, 4\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size segment_enter, . - segment_enter\n"
    ".globl segment_entry\n"
    ".type segment_entry, @function\n"
    "segment_entry:\n"
    "	.cfi_startproc\n"
    "	.cfi_def_cfa_offset 8\n"
    "	.cfi_offset eip, -8\n"
    "	pushl	%ebp\n"
    "	.cfi_def_cfa_offset 12\n"
    "	.cfi_offset ebp, -12\n"
    "	movl	%esp, %ebp\n"
    "	.cfi_def_cfa_register ebp\n"
    "	subl	$8, %esp\n"
    "	pushl	%eax\n"
    "	call	inside\n"
    "	leave\n"
    "	.cfi_restore ebp\n"
    "	.cfi_def_cfa esp, 8\n"
    "	lret\n"
    "	.cfi_endproc\n"
    ".size segment_entry, . - segment_entry\n");

TREE static void inside_leaf(unsigned long n)
{
	sink = burn(n);
}

/* The vDSO's address is none in this segment. */
void inside(unsigned long n);

TREE void inside(unsigned long n)
{
	long ret;

	inside_leaf(n);
	asm volatile("int $0x80" : "=a"(ret) : "a"(__NR_getppid) : "memory");
	sink = ret;
}

TREE static void outside_leaf(unsigned long n)
{
	sink = burn(n);
}

TREE static void outside(unsigned long n)
{
	outside_leaf(n);
	sink = n;
}

static void segment_make(void)
{
	struct user_desc desc = {
		.entry_number = 0,
		.base_addr = BASE,
		.limit = 0xfffff,
		.seg_32bit = 1,
		.contents = MODIFY_LDT_CONTENTS_CODE,
		.limit_in_pages = 1,
		.useable = 1,
	};

	must("modify_ldt", sys(modify_ldt, 1, &desc, sizeof(desc)));
	segment_far.offset = (uint32_t)segment_entry - BASE;
}

int main(int argc, char **argv)
{
	work_start(argc, argv);
	segment_make();
	for (;;) {
		segment_enter(6 * UNIT);
		outside(4 * UNIT);
		work_done(1);
	}
}
