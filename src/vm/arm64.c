/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of an arm64 vCPU: KVM's own memory has them, all of them when the vCPU is put. */
#include "arch/arm64-kvm.h"
#include "vm/kvm.h"

/*
 * HCR_EL2.E2H: EL2 is a host kernel's. KVM sets it for guests when it runs there itself
 * (vcpu_reset_hcr(), arch/arm64/include/asm/kvm_emulate.h).
 */
#define HCR_E2H (1ULL << 34)

static bool layout_known(const struct vm_layout *l)
{
	for (int i = 0; i < LAYOUT_NR_SYSREGS; i++)
		if (l->sysregs[i] == LAYOUT_ABSENT)
			return false;
	return l->vcpu_ctxt_regs != LAYOUT_ABSENT && l->vcpu_sys_regs != LAYOUT_ABSENT;
}

/*
 * Between the first and the last of those that are read. Since 6.9 the number of one that a nested
 * hypervisor keeps in memory tells its place in a page there (VNCR() in asm/kvm_host.h).
 */
#define MAX_SYSREG_SPAN 1024

/* In one go: a thread may stand still for it. */
static int read_sysregs(const struct kvm_reader *reader, u64 kvm_vcpu,
			struct arm64_system_regs *sys)
{
	const struct vm_layout *l = reader->layout;
	const struct {
		enum layout_sysreg nr;
		u64 *value;
	} wanted[] = {
		{ LAYOUT_SCTLR_EL1, &sys->sctlr },	   { LAYOUT_TTBR0_EL1, &sys->ttbr0 },
		{ LAYOUT_TTBR1_EL1, &sys->ttbr1 },	   { LAYOUT_TCR_EL1, &sys->tcr },
		{ LAYOUT_VBAR_EL1, &sys->vbar },	   { LAYOUT_TPIDR_EL0, &sys->tpidr_el0 },
		{ LAYOUT_TPIDR_EL1, &sys->tpidr_el1 },	   { LAYOUT_SP_EL1, &sys->sp_el1 },
		{ LAYOUT_ELR_EL1, &sys->elr_el1 },
		{ LAYOUT_TPIDRRO_EL0, &sys->tpidrro_el0 },
	};
	u64 values[MAX_SYSREG_SPAN];
	u32 first = UINT32_MAX, last = 0;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		first = MIN(first, l->sysregs[wanted[i].nr]);
		last = MAX(last, l->sysregs[wanted[i].nr]);
	}
	if (last - first >= MAX_SYSREG_SPAN)
		return -EOPNOTSUPP;
	err = kernel_read(reader->kernel, kvm_vcpu + l->vcpu_sys_regs + first * sizeof(u64), values,
			  (last - first + 1) * sizeof(u64));
	for (size_t i = 0; !err && i < ARRAY_SIZE(wanted); i++)
		*wanted[i].value = values[l->sysregs[wanted[i].nr] - first];
	return err;
}

int kvm_peek_arm64(const struct kvm_reader *reader, u64 kvm_vcpu, struct vcpu_regs *ret)
{
	struct vcpu_regs regs = { .arch = VCPU_ARCH_ARM64 };
	struct regs_arm64 general;
	int err;

	if (!layout_known(reader->layout))
		return -EOPNOTSUPP;
	err = kernel_read(reader->kernel, kvm_vcpu + reader->layout->vcpu_ctxt_regs, &general,
			  sizeof(general));
	err = err ?: read_sysregs(reader, kvm_vcpu, &regs.arm64);
	if (err)
		return err;
	regs_set_arm64(&regs, &general);
	*ret = regs;
	return 0;
}

int kvm_arm64_lazy(const struct kvm_reader *reader, u64 kvm_vcpu, bool *ret)
{
	u64 hcr;
	int err;

	if (reader->layout->vcpu_hcr == LAYOUT_ABSENT)
		return -EOPNOTSUPP;
	err = kernel_read_u64(reader->kernel, kvm_vcpu + reader->layout->vcpu_hcr, &hcr);
	if (!err)
		*ret = hcr & HCR_E2H;
	return err;
}
