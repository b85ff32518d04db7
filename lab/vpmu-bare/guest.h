/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine as the tests see it: registers, traps, privilege levels, interrupts, a second CPU. */
#ifndef VPMU_BARE_GUEST_H
#define VPMU_BARE_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIT(n) (1ULL << (n))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define PMI_VECTOR 0x42
#define LVT_NMI 0x400
#define LVT_MASKED (1U << 16)
#define GP 13
#define PMI_LOG 8

/* What is known of a processor; GS points to it. */
struct cpu {
	struct cpu *self;	/* gs:0 */
	unsigned long fixup;	/* gs:8: where to go on after a fault; 0: there must be none */
	unsigned int fault;	/* the vector of the last one */
	unsigned int id;
	unsigned long saved_rsp;	/* of who entered ring 3 */
	uint32_t lvtpc;		/* what the PMI's handler writes to LVTPC; 0: it does not */
	/* Interrupts that have come, and of the last PMIs the global status and where they hit. */
	volatile unsigned int nmis, vectors, others;
	volatile uint64_t pmi_status[PMI_LOG];
	volatile unsigned int pmi_ring;
};

struct cpu *this_cpu(void);

static inline unsigned int pmis(void)
{
	return this_cpu()->nmis + this_cpu()->vectors;
}

/* Wraps an instruction: a fault in it is no end, but is in cpu->fault. */
#define GUARDED(instruction) "movq $1f, %%gs:8\n\t" instruction "\n1:\tmovq $0, %%gs:8\n\t"

/* 0, or the vector of the fault. */
unsigned int try_rdmsr(uint32_t msr, uint64_t *ret);
unsigned int try_wrmsr(uint32_t msr, uint64_t value);
unsigned int try_rdpmc(uint32_t ecx, uint64_t *ret);

void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t regs[4]);

static inline unsigned int count_bits(uint64_t value)
{
	unsigned int nr = 0;

	for (; value; value &= value - 1)
		nr++;
	return nr;
}

static inline void outb(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "d"(port));
}

void set_interrupts(bool on);

/* Before all else, on the first processor; there is another one or not. */
void cpu_init(bool second);

/* Calls @function in ring 3. */
void in_ring3(void (*function)(void));

/* CR4.PCE: RDPMC in ring 3. */
void set_pce(bool on);

bool has_x2apic(void);
uint32_t get_lvtpc(void);

/* Also what the handler of the PMI writes there when it is done. */
void set_lvtpc(uint32_t value);

/* An interrupt to this processor itself: delivery mode and vector, as in the ICR. */
void send_self(uint32_t icr);

/* Calls @function on the second processor, and waits until it is done. False: there is none. */
bool on_second(void (*function)(void));

/* INIT for the second processor; the next call starts it again. */
void restart_second(void);

/* Ends the machine. */
void __attribute__((noreturn)) machine_off(void);

/* tap.c: a test point is what is expected between the two. */
void begin(const char *name);
void end(void);
void skip_point(const char *name, const char *why);
void expect(uint64_t got, uint64_t want, const char *what, unsigned int line);
void say(const char *text);
void bail_out(const char *why, uint64_t first, uint64_t second);
void plan(void);

#define EXPECT(got, want) expect((uint64_t)(got), (uint64_t)(want), #got, __LINE__)

#endif
