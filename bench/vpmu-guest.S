/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest of bench-vpmu-kvm, in real mode: routines that the VMM starts by setting IP, with the
 * number of rounds in ESI. Each ends with an OUT to GUEST_DONE. It is loaded at GUEST_BASE.
 */
#include "vpmu-guest.h"

#define AT(symbol) (symbol - vpmu_guest + GUEST_BASE)

	.section .rodata
	.code16
	.globl vpmu_guest, vpmu_guest_end
vpmu_guest:

/* ECX: the register. */
	.globl vpmu_guest_rdmsr
vpmu_guest_rdmsr:
	rdmsr
	decl	%esi
	jnz	vpmu_guest_rdmsr
	outb	%al, $GUEST_DONE
	hlt

	.globl vpmu_guest_wrmsr
vpmu_guest_wrmsr:
	wrmsr
	decl	%esi
	jnz	vpmu_guest_wrmsr
	outb	%al, $GUEST_DONE
	hlt

/* Each OUT is an exit to the VMM. */
	.globl vpmu_guest_exits
vpmu_guest_exits:
	outb	%al, $GUEST_NOTHING
	decl	%esi
	jnz	vpmu_guest_exits
	outb	%al, $GUEST_DONE
	hlt

/* Without a local APIC of KVM's HLT is one, too. */
	.globl vpmu_guest_halts
vpmu_guest_halts:
	hlt
	decl	%esi
	jnz	vpmu_guest_halts
	outb	%al, $GUEST_DONE
	hlt

/* Until an NMI comes. */
	.globl vpmu_guest_waits
vpmu_guest_waits:
	movw	$0, AT(had_nmi)
1:	cmpw	$0, AT(had_nmi)
	je	1b
	outb	%al, $GUEST_DONE
	hlt

/* First of all it tells the VMM that it is there. */
	.globl vpmu_guest_nmi
vpmu_guest_nmi:
	outb	%al, $GUEST_NMI
	movw	$1, AT(had_nmi)
	iretw

	.balign	2
had_nmi:
	.word	0
vpmu_guest_end:

	.section .note.GNU-stack, "", @progbits
