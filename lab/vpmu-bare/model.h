/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each model of PMU has, by the manuals: what the tests hold the guest's against. Counters are
 * numbered as the bits of the global registers are: general ones from 0, fixed ones from 32.
 */
#ifndef VPMU_BARE_MODEL_H
#define VPMU_BARE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "vmm/pmu-port.h"

#define FIXED 32
#define NR_SLOTS 48

/* Registers. */
#define PMC 0xc1
#define PERFEVTSEL 0x186
#define FIXED_CTR 0x309
#define CAPABILITIES 0x345
#define FIXED_CTRL 0x38d
#define GLOBAL_STATUS 0x38e
#define GLOBAL_CTRL 0x38f
#define STATUS_RESET 0x390	/* before version 4: OVF_CTRL */
#define STATUS_SET 0x391
#define INUSE 0x392
#define A_PMC 0x4c1
#define DEBUGCTL 0x1d9
#define K7_SELECT 0xc0010000
#define K7_COUNTER 0xc0010004
#define CORE_SELECT 0xc0010200	/* every other one is a counter */
#define V2_STATUS 0xc0000300
#define V2_CTRL 0xc0000301
#define V2_CLEAR 0xc0000302
#define V2_SET 0xc0000303

/* Event select registers. */
#define SEL_USER BIT(16)
#define SEL_KERNEL BIT(17)
#define SEL_EDGE BIT(18)
#define SEL_PMI BIT(20)
#define SEL_ANY BIT(21)
#define SEL_ENABLE BIT(22)
#define SEL_INVERT BIT(23)
#define SEL_CMASK(n) ((uint64_t)(n) << 24)

#define FROZEN BIT(59)
#define BUFFER BIT(62)
#define CHANGED BIT(63)
#define FREEZE_ON_PMI BIT(12)

/* In libvpmu's order, which the port takes. */
enum event {
	CYCLES, INSTRUCTIONS, REF_CYCLES, LLC_REFERENCES, LLC_MISSES, BRANCHES, BRANCH_MISSES,
	SLOTS, REF_TSC, RAW,
};
#define NR_CODES REF_TSC	/* those that have a number */

/* struct vpmu_stats */
enum stat {
	STAT_DENIED = 4, STAT_OVERFLOWS = 11, STAT_PMIS = 12, STAT_DELIVERED = 13, STAT_MASKED = 14,
	STAT_INVALID = 15,
};

struct model {
	const char *name;
	bool intel;
	unsigned int version;	/* Intel's; AMD: 0, and 2 with global registers */
	unsigned int nr, width;	/* general counters, and of all counters the bits */
	unsigned int fixed;	/* a bit each */
	unsigned int events;	/* Intel: those that CPUID has */
	bool k7;		/* no core registers */
};

extern const struct model *model;

/* Of which the VMM may leave out what @time does not tell. False: no such model. */
bool model_choose(const char *name, bool time);

/* What the model has. */
bool has_global(void);
bool has_full_width(void);
bool has_any_thread(void);
uint64_t all_slots(void);
uint64_t counter_mask(void);

/* Is there such a counter? Loops go over 0 to NR_SLOTS. */
bool has_slot(unsigned int slot);

/* Registers; the counter's is the one that takes its full width, if there is one. */
uint32_t select_msr(unsigned int n);
uint32_t counter_msr(unsigned int slot);
uint32_t status_msr(void);
uint32_t control_msr(void);
uint32_t clear_msr(void);

/* The event's number on this model; negative: it has none. */
int event_code(enum event event);

/* What a fixed counter counts. */
enum event fixed_event(unsigned int slot);

/* Accesses that are to succeed: a fault ends all. */
uint64_t rd(uint32_t msr);
void wr(uint32_t msr, uint64_t value);

uint64_t counter(unsigned int slot);

/* Any value, also where the register takes 32 bits only; the counter is off then. */
void set_counter(unsigned int slot, uint64_t value);

/* The global status; 0 where there is none. */
uint64_t read_status(void);

/* Modes and interrupt of a counter. */
#define ON_USER 1U
#define ON_KERNEL 2U
#define ON_PMI 4U

/* The counter counts @event from now on, a fixed one what it can. 0: it is off. */
void program(unsigned int slot, enum event event, unsigned int on);

/* An event that some counter of each kind counts. */
enum event usual_event(unsigned int slot);

/* All as after RESET, but the counters enabled globally; LVTPC an NMI; no interrupt counted. */
void clean(void);

/* The VMM's port: cpu.c. */
uint64_t ask(enum pmu_command command, uint64_t rbx, uint64_t rcx, uint64_t rdx);

/* A stay in the guest with @n of @event, in the mode that the guest is in. */
void run(enum event event, uint64_t n);
void run_raw(uint64_t raw, uint64_t n);

uint64_t statistic(enum stat which);

/* The tests, by subject. */
void test_machine(void);
void test_processors(void);
void test_cpuid(void);
void test_registers(void);
void test_counting(void);
void test_overflow(void);
void test_interrupt(void);
void test_freeze(void);
void test_rdpmc(void);
void test_filter(void);
void test_state(void);
void test_second(void);
void test_time(void);

/* Those from counting to second, in this order: they take a backend whose counts are known. */
void test_simulated(void);

#endif
