/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests rest on: faults are caught, ring 3 is ring 3, interrupts come. Needs no PMU. */
#include "guest.h"
#include "model.h"

#define NON_CANONICAL (1UL << 62)
#define UD 6
#define ICR_NMI 0x400
#define WAIT_TURNS 1000000

static unsigned int user_fault;
static uint16_t user_cs;

static void look_in_ring3(void)
{
	uint64_t value;

	__asm__ volatile("movw %%cs, %0" : "=r"(user_cs));
	user_fault = try_rdmsr(0x10, &value);
}

static void wait_for(const volatile unsigned int *what)
{
	for (unsigned int i = 0; i < WAIT_TURNS && !*what; i++)
		__builtin_ia32_pause();
}

static void check_faults(void)
{
	uint64_t value;

	EXPECT(try_rdmsr(0xc0000080, &value), 0);
	this_cpu()->fault = 0;
	__asm__ volatile(GUARDED("movb $0, (%0)") : : "r"(NON_CANONICAL) : "memory");
	EXPECT(this_cpu()->fault, GP);
	this_cpu()->fault = 0;
	__asm__ volatile(GUARDED("ud2") : : : "memory");
	EXPECT(this_cpu()->fault, UD);
}

static void check_interrupts(void)
{
	send_self(ICR_NMI);
	wait_for(&this_cpu()->nmis);
	EXPECT(this_cpu()->nmis, 1);
	send_self(PMI_VECTOR);
	EXPECT(this_cpu()->vectors, 0);
	set_interrupts(true);
	wait_for(&this_cpu()->vectors);
	set_interrupts(false);
	EXPECT(this_cpu()->vectors, 1);
	EXPECT(this_cpu()->others, 0);
}

void test_machine(void)
{
	begin("the guest catches faults");
	check_faults();
	end();
	begin("the guest has a ring 3");
	in_ring3(look_in_ring3);
	EXPECT(user_cs & 3, 3);
	EXPECT(user_fault, GP);
	end();
	begin("the guest gets interrupts");
	check_interrupts();
	end();
}

static unsigned int second_id, second_fault;

static void look_on_second(void)
{
	uint64_t value;

	second_id = this_cpu()->id;
	in_ring3(look_in_ring3);
	second_fault = try_rdmsr(0xc0000080, &value);
}

void test_processors(void)
{
	if (!on_second(look_on_second)) {
		skip_point("the guest has a second processor", "there is none");
		return;
	}
	begin("the guest has a second processor");
	EXPECT(second_id, 1);
	EXPECT(second_fault, 0);
	EXPECT(user_cs & 3, 3);
	EXPECT(this_cpu()->id, 0);
	end();
}
