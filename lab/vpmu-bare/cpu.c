/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptor tables, traps, the local APIC, ring 3, the second processor. */
#include "guest.h"

#include "model.h"

#define NR_CPUS 2
#define DPL3_GATE 0xee00
#define GATE 0x8e00
#define CODE64 0x08
#define TSS 0x28
#define RING3_DONE 0x80
#define SPURIOUS 0xff
#define TRAMPOLINE 0x8000
#define MSR_GS_BASE 0xc0000101
#define MSR_APIC_BASE 0x1b
#define X2APIC_ON BIT(10)
#define APIC_AT 0xfee00000
#define APIC_EOI 0xb
#define APIC_SPURIOUS 0xf
#define APIC_ICR 0x30
#define APIC_ICR_HIGH 0x31
#define APIC_LVTPC 0x34
#define ICR_ASSERT 0x4000
#define ICR_INIT 0x500
#define ICR_STARTUP 0x600
#define PIC_MASK 0x21
#define PIC2_MASK 0xa1
#define WAIT_TURNS 10000000
#define NR_STARTUPS 10

struct frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	uint64_t vector, error, rip, cs, rflags, rsp, ss;
};

struct gate {
	uint16_t low, selector, flags, middle;
	uint32_t high, zero;
};

/* The I/O bitmap has ports 0 to 3FH, of which ring 3 may use those of the PMU. */
struct tss {
	uint32_t reserved;
	uint64_t rsp[3], reserved2, ist[7], reserved3;
	uint16_t reserved4, io_offset;
	uint8_t io[9];
} __attribute__((packed));

extern uint64_t gdt[];
extern char trap_stubs[], trampoline[];
extern const uint32_t trampoline_size;
void ring3_enter(void (*function)(void), void *stack, unsigned long *saved_rsp);
void __attribute__((noreturn)) ring3_leave(unsigned long saved_rsp);
int main(const char *cmdline);
void second_main(void);
void trap(struct frame *frame);

static struct cpu cpus[NR_CPUS];
static struct gate idt[256];
static struct tss tsses[NR_CPUS];
static char trap_stacks[NR_CPUS][8192] __attribute__((aligned(16)));
static char user_stacks[NR_CPUS][8192] __attribute__((aligned(16)));
static bool x2apic;
static void (*volatile second_work)(void);
static volatile bool second_up;
static bool have_second, second_started;

struct cpu *this_cpu(void)
{
	struct cpu *cpu;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
	return cpu;
}

unsigned int try_rdmsr(uint32_t msr, uint64_t *ret)
{
	uint32_t low = 0, high = 0;

	this_cpu()->fault = 0;
	__asm__ volatile(GUARDED("rdmsr") : "+a"(low), "+d"(high) : "c"(msr) : "memory");
	*ret = (uint64_t)high << 32 | low;
	return this_cpu()->fault;
}

unsigned int try_wrmsr(uint32_t msr, uint64_t value)
{
	this_cpu()->fault = 0;
	__asm__ volatile(GUARDED("wrmsr")
			 : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
			 : "memory");
	return this_cpu()->fault;
}

/* As Linux' compiles, for this is what the VMM looks for. */
unsigned int try_rdpmc(uint32_t ecx, uint64_t *ret)
{
	uint64_t low = 0, high = 0;

	this_cpu()->fault = 0;
	__asm__ volatile(GUARDED("rdpmc\n\tshl $32, %%rdx")
			 : "+a"(low), "+d"(high) : "c"(ecx) : "memory");
	*ret = high | (uint32_t)low;
	return this_cpu()->fault;
}

void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
	__asm__ volatile("cpuid" : "=a"(regs[0]), "=b"(regs[1]), "=c"(regs[2]), "=d"(regs[3])
				 : "a"(leaf), "c"(subleaf));
}

void set_interrupts(bool on)
{
	if (on)
		__asm__ volatile("sti; nop" : : : "memory");
	else
		__asm__ volatile("cli" : : : "memory");
}

uint64_t ask(enum pmu_command command, uint64_t rbx, uint64_t rcx, uint64_t rdx)
{
	uint64_t rax = command;

	__asm__ volatile("out %%eax, %1" : "+a"(rax)
					 : "i"(PMU_TEST_PORT), "b"(rbx), "c"(rcx), "d"(rdx)
					 : "memory");
	return rax;
}

bool has_x2apic(void)
{
	return x2apic;
}

static uint64_t read_apic(unsigned int reg)
{
	uint64_t value = 0;

	if (!x2apic)
		return *(volatile uint32_t *)(uintptr_t)(APIC_AT + reg * 16);
	try_rdmsr(0x800 + reg, &value);
	return value;
}

static void write_apic(unsigned int reg, uint32_t value)
{
	if (x2apic)
		try_wrmsr(0x800 + reg, value);
	else
		*(volatile uint32_t *)(uintptr_t)(APIC_AT + reg * 16) = value;
}

static void send(unsigned int target, uint32_t icr)
{
	if (x2apic) {
		try_wrmsr(0x800 + APIC_ICR, (uint64_t)target << 32 | icr);
		return;
	}
	write_apic(APIC_ICR_HIGH, target << 24);
	write_apic(APIC_ICR, icr);
}

void send_self(uint32_t icr)
{
	send(this_cpu()->id, ICR_ASSERT | icr);
}

uint32_t get_lvtpc(void)
{
	return read_apic(APIC_LVTPC);
}

void set_lvtpc(uint32_t value)
{
	this_cpu()->lvtpc = value;
	write_apic(APIC_LVTPC, value);
}

static void note_pmi(struct cpu *cpu, const struct frame *frame)
{
	unsigned int n = cpu->nmis + cpu->vectors;

	if (n < PMI_LOG)
		cpu->pmi_status[n] = read_status();
	cpu->pmi_ring = frame->cs & 3;
	if (cpu->lvtpc)
		write_apic(APIC_LVTPC, cpu->lvtpc);
}

/* One may come between a guarded instruction and the look at what became of it. */
static void interrupt(struct cpu *cpu, const struct frame *frame)
{
	unsigned long fixup = cpu->fixup;
	unsigned int fault = cpu->fault;

	if (frame->vector == 2 || frame->vector == PMI_VECTOR)
		note_pmi(cpu, frame);
	if (frame->vector == 2)
		cpu->nmis++;
	else if (frame->vector == PMI_VECTOR)
		cpu->vectors++;
	else
		cpu->others++;
	if (frame->vector != 2 && frame->vector != SPURIOUS)
		write_apic(APIC_EOI, 0);
	cpu->fixup = fixup;
	cpu->fault = fault;
}

void trap(struct frame *frame)
{
	struct cpu *cpu = this_cpu();

	if (frame->vector == RING3_DONE)
		ring3_leave(cpu->saved_rsp);
	if (frame->vector == 2 || frame->vector >= 32) {
		interrupt(cpu, frame);
		return;
	}
	if (!cpu->fixup)
		bail_out("trap at", frame->vector, frame->rip);
	cpu->fault = frame->vector;
	frame->rip = cpu->fixup;
	cpu->fixup = 0;
}

static void set_gates(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uintptr_t stub = (uintptr_t)trap_stubs + i * 16;

		idt[i] = (struct gate){
			.low = stub, .selector = CODE64, .middle = stub >> 16, .high = stub >> 32,
			.flags = i == RING3_DONE ? DPL3_GATE : GATE };
	}
}

static void set_task(unsigned int id)
{
	struct tss *tss = &tsses[id];
	uint64_t base = (uintptr_t)tss, limit = sizeof(*tss) - 1;

	tss->rsp[0] = (uintptr_t)trap_stacks[id + 1];
	tss->io_offset = __builtin_offsetof(struct tss, io);
	for (unsigned int i = 0; i < sizeof(tss->io); i++)
		tss->io[i] = 0xff;
	tss->io[6] = 0x07;		/* 33H and 34H, of 32 bits each */
	gdt[TSS / 8 + 2 * id] = limit | (base & 0xffffff) << 16 | 0x89ULL << 40 |
				(base >> 24 & 0xff) << 56;
	gdt[TSS / 8 + 2 * id + 1] = base >> 32;
	__asm__ volatile("ltr %w0" : : "r"(TSS + 16 * id));
}

static void set_up(unsigned int id)
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) idtr = { sizeof(idt) - 1, (uintptr_t)idt };
	uint64_t base = (uintptr_t)&cpus[id], apic = 0;

	cpus[id].self = &cpus[id];
	cpus[id].id = id;
	/* There is no GS yet for a guarded one. */
	__asm__ volatile("wrmsr" : : "c"(MSR_GS_BASE), "a"((uint32_t)base),
				     "d"((uint32_t)(base >> 32)));
	__asm__ volatile("lidt %0" : : "m"(idtr));
	set_task(id);
	if (x2apic && !try_rdmsr(MSR_APIC_BASE, &apic))
		try_wrmsr(MSR_APIC_BASE, apic | X2APIC_ON);
	write_apic(APIC_SPURIOUS, 0x100 | SPURIOUS);
}

void cpu_init(bool second)
{
	uint32_t regs[4];

	have_second = second;
	set_gates();
	outb(PIC_MASK, 0xff);
	outb(PIC2_MASK, 0xff);
	cpuid(1, 0, regs);
	x2apic = regs[2] >> 21 & 1;
	set_up(0);
}

void in_ring3(void (*function)(void))
{
	struct cpu *cpu = this_cpu();

	ring3_enter(function, user_stacks[cpu->id + 1], &cpu->saved_rsp);
}

void set_pce(bool on)
{
	uint64_t cr4;

	__asm__ volatile("movq %%cr4, %0" : "=r"(cr4));
	cr4 = on ? cr4 | BIT(8) : cr4 & ~BIT(8);
	__asm__ volatile("movq %0, %%cr4" : : "r"(cr4));
}

void second_main(void)
{
	set_up(1);
	second_up = true;
	for (;;) {
		if (second_work) {
			second_work();
			second_work = NULL;
		}
		__builtin_ia32_pause();
	}
}

void restart_second(void)
{
	second_up = false;
	send(1, ICR_ASSERT | ICR_INIT);
}

/*
 * It waits for a startup since its INIT. There must not be a second INIT right behind the first:
 * KVM may take the startup for the first one's, and wait after the second. A startup too many is
 * ignored.
 */
static void start_second(void)
{
	char *to = (char *)TRAMPOLINE;

	for (uint32_t i = 0; i < trampoline_size; i++)
		to[i] = trampoline[i];
	for (unsigned int i = 0; i < NR_STARTUPS && !second_up; i++) {
		send(1, ICR_ASSERT | ICR_STARTUP | TRAMPOLINE >> 12);
		for (unsigned int turn = 0; turn < WAIT_TURNS && !second_up; turn++)
			__builtin_ia32_pause();
	}
	if (!second_up)
		bail_out("the second processor does not start", 0, 0);
}

bool on_second(void (*function)(void))
{
	if (!have_second)
		return false;
	if (!second_started)
		restart_second();
	second_started = true;
	if (!second_up)
		start_second();
	second_work = function;
	while (second_work)
		__builtin_ia32_pause();
	return true;
}

/* A trap without a table for it: three faults are a shutdown. */
void machine_off(void)
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none = { 0, 0 };

	__asm__ volatile("lidt %0; int3" : : "m"(none));
	for (;;)
		__asm__ volatile("hlt");
}
