/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest of bench-vpmu-kvm: where it is, and its ports. Assembler reads this, too. */
#ifndef BENCH_VPMU_GUEST_H
#define BENCH_VPMU_GUEST_H

#define GUEST_BASE 0x1000
#define GUEST_NOTHING 0x10	/* an exit and no more */
#define GUEST_NMI 0x11		/* the NMI's handler has begun */
#define GUEST_DONE 0x12

#ifndef __ASSEMBLER__
extern const unsigned char vpmu_guest[], vpmu_guest_end[];
/* Its routines. */
extern const unsigned char vpmu_guest_rdmsr[], vpmu_guest_wrmsr[], vpmu_guest_exits[],
	vpmu_guest_halts[], vpmu_guest_waits[], vpmu_guest_nmi[];
#endif

#endif
