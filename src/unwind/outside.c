/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples that are not of the guest's system. */
#include "unwind/outside.h"

#include "mmu/walk.h"

#define X86_CR0_PE (1ULL << 0)

/* Where a PC's ROMs are: below 1 MiB since the first one, and what the reset vector is in. */
#define ROM_START 0xc0000ULL
#define ROM_END 0x100000ULL
#define FLASH_START 0xff000000ULL
#define FLASH_END 0x100000000ULL

/* Kernel addresses of 32 bits are sign-extended in a record. */
static bool in_rom(const struct vcpu_regs *regs)
{
	u64 pc = regs->bits == 64 ? regs->pc : (u32)regs->pc;

	return (pc >= ROM_START && pc < ROM_END) || (pc >= FLASH_START && pc < FLASH_END);
}

/* A kernel that is not known may run anywhere else. */
static enum stop_reason x86_stop(const struct wire_sample *wire)
{
	const struct x86_system_regs *x86 = &wire->regs.x86;

	if (!(x86->cr0 & X86_CR0_PE))
		return STOP_REAL_MODE;
	if (!(x86->cr0 & MMU_X86_CR0_PG) || (wire->flags & WIRE_F_FLAT && in_rom(&wire->regs)))
		return STOP_FIRMWARE;
	return STOP_NONE;
}

enum stop_reason outside_stop(const struct wire_sample *wire)
{
	if (wire->flags & WIRE_F_NESTED)
		return STOP_NESTED;
	if (wire->flags & WIRE_F_SMM)
		return STOP_SMM;
	if (wire->regs.arch == VCPU_ARCH_X86_64)
		return x86_stop(wire);
	if (wire->regs.arch == VCPU_ARCH_ARM64 && !(wire->regs.arm64.sctlr & MMU_ARM64_SCTLR_M))
		return STOP_FIRMWARE;
	return STOP_NONE;
}

bool outside_is_low(const struct wire_sample *wire)
{
	unsigned int half = wire->regs.arch == VCPU_ARCH_ARM64 ? 55 : 63;

	return !(wire->flags & WIRE_F_USER) && !(wire->regs.pc >> half & 1);
}
