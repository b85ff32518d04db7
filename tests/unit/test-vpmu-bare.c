/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tests of the guest in lab/vpmu-bare, without the guest: here is the machine that they run on,
 * and it goes to libvpmu right away. What is of KVM, VMM and processor only the lab's test sees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab/vpmu-bare/guest.h"
#include "lab/vpmu-bare/model.h"
#include "vpmu/backend-sim.h"
#include "vpmu/vpmu.h"

#define NR_CPUS 2

/* A processor beyond what the tests see of it. */
struct machine_cpu {
	struct cpu cpu;
	struct vpmu *vpmu;
	uint32_t lvtpc;
	bool waiting;		/* a vector, until interrupts are on */
};

static struct {
	struct vpmu_vm *vm;
	struct vpmu_sim *sim;
	struct machine_cpu cpus[NR_CPUS];
	unsigned int current;
	bool user, interrupts, pce;
} machine;

static struct machine_cpu *current(void)
{
	return &machine.cpus[machine.current];
}

struct cpu *this_cpu(void)
{
	return &current()->cpu;
}

/* What the guest's handler does. */
static void take_interrupt(bool nmi)
{
	struct cpu *cpu = this_cpu();
	bool user = machine.user;
	unsigned int n = pmis();

	machine.user = false;
	if (n < PMI_LOG)
		cpu->pmi_status[n] = read_status();
	machine.user = user;
	cpu->pmi_ring = user ? 3 : 0;
	if (cpu->lvtpc)
		current()->lvtpc = cpu->lvtpc;
	if (nmi)
		cpu->nmis++;
	else
		cpu->vectors++;
}

static void leave(void)
{
	struct machine_cpu *cpu = current();
	struct vpmu_exit left;
	struct vpmu_pmi pmi;

	vpmu_exit(cpu->vpmu, &left);
	if (!left.pmi)
		return;
	vpmu_pmi(cpu->vpmu, cpu->lvtpc, &pmi);
	cpu->lvtpc = pmi.lvtpc;
	if (pmi.kind == VPMU_PMI_NMI)
		take_interrupt(true);
	else if (pmi.kind == VPMU_PMI_VECTOR && machine.interrupts)
		take_interrupt(false);
	else if (pmi.kind == VPMU_PMI_VECTOR)
		cpu->waiting = true;
}

/* Each access comes out of a stay in the guest. */
static void stay(void)
{
	assert_int_equal(vpmu_enter(current()->vpmu, NULL), 0);
	leave();
}

unsigned int try_rdmsr(uint32_t msr, uint64_t *ret)
{
	stay();
	return vpmu_rdmsr(current()->vpmu, msr, ret) == VPMU_OK ? 0 : GP;
}

unsigned int try_wrmsr(uint32_t msr, uint64_t value)
{
	stay();
	return vpmu_wrmsr(current()->vpmu, msr, value) == VPMU_OK ? 0 : GP;
}

unsigned int try_rdpmc(uint32_t ecx, uint64_t *ret)
{
	bool allowed = !machine.user || machine.pce;

	stay();
	return vpmu_rdpmc(current()->vpmu, ecx, allowed, ret) == VPMU_OK ? 0 : GP;
}

void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
	memset(regs, 0, 4 * sizeof(*regs));
	if (leaf == 0 || leaf == 0x80000000)
		regs[0] = leaf | 0x22;
	vpmu_vm_cpuid(machine.vm, leaf, subleaf, regs);
}

void set_interrupts(bool on)
{
	machine.interrupts = on;
	if (!on || !current()->waiting)
		return;
	current()->waiting = false;
	take_interrupt(false);
}

void in_ring3(void (*function)(void))
{
	machine.user = true;
	function();
	machine.user = false;
}

void set_pce(bool on)
{
	machine.pce = on;
}

bool has_x2apic(void)
{
	return true;
}

uint32_t get_lvtpc(void)
{
	return current()->lvtpc;
}

void set_lvtpc(uint32_t value)
{
	current()->lvtpc = this_cpu()->lvtpc = value;
}

bool on_second(void (*function)(void))
{
	machine.current = 1;
	function();
	machine.current = 0;
	return true;
}

void restart_second(void)
{
	machine.cpus[1].lvtpc = LVT_MASKED;
}

static int move(void)
{
	struct machine_cpu *cpu = current();
	uint8_t state[VPMU_STATE_MAX];
	int size = vpmu_save(cpu->vpmu, state, sizeof(state));

	assert_true(size > 0);
	vpmu_destroy(cpu->vpmu);
	assert_int_equal(vpmu_create(machine.vm, machine.current, &cpu->vpmu), 0);
	return vpmu_restore(cpu->vpmu, state, size);
}

static int run_sim(enum vpmu_arch_event event, uint64_t raw, uint64_t n, bool then_move)
{
	int err = 0;

	assert_int_equal(vpmu_enter(current()->vpmu, NULL), 0);
	vpmu_sim_run(machine.sim, machine.current, event, raw, machine.user, n);
	if (then_move) {
		vpmu_exit(current()->vpmu, NULL);
		err = move();
	}
	leave();
	return err;
}

static int set_filter(const struct pmu_port_filter *from)
{
	struct vpmu_filter filter;

	if (!from)
		return vpmu_vm_set_filter(machine.vm, NULL);
	filter = (struct vpmu_filter){
		.action = from->action,
		.nr = from->nr,
		.fixed_bitmap = from->fixed_bitmap,
		.flags = from->flags,
		.events = (const uint64_t *)from->events,
	};
	return vpmu_vm_set_filter(machine.vm, &filter);
}

uint64_t ask(enum pmu_command command, uint64_t rbx, uint64_t rcx, uint64_t rdx)
{
	struct vpmu_stats stats;

	stay();
	switch (command) {
	case PMU_COMMAND_RUN:
	case PMU_COMMAND_RUN_AND_MOVE:
		return run_sim(rbx, rcx, rdx, command == PMU_COMMAND_RUN_AND_MOVE);
	case PMU_COMMAND_MOVE:
		return move();
	case PMU_COMMAND_FILTER:
		return set_filter((const struct pmu_port_filter *)(uintptr_t)rbx);
	case PMU_COMMAND_COUNTERS:
		vpmu_sim_set_counters(machine.sim, rbx);
		return 0;
	case PMU_COMMAND_STATS:
		vpmu_get_stats(current()->vpmu, &stats, sizeof(stats));
		return ((const uint64_t *)&stats)[rbx];
	}
	return -EINVAL;
}

/* What the guest says by TAP. */
static const char *point;
static unsigned int nr_failures;

void begin(const char *name)
{
	point = name;
}

void end(void)
{
}

void skip_point(const char *name, const char *why)
{
	print_message("%s: %s\n", name, why);
}

void expect(uint64_t got, uint64_t want, const char *what, unsigned int line)
{
	if (got == want)
		return;
	nr_failures++;
	print_error("%s, %s, line %u: %s is %#llx, not %#llx\n", model->name, point, line, what,
		    (unsigned long long)got, (unsigned long long)want);
}

void bail_out(const char *why, uint64_t first, uint64_t second)
{
	fail_msg("%s, %s: %s %#llx %#llx", model->name, point, why, (unsigned long long)first,
		 (unsigned long long)second);
	abort();
}

static void start(const char *name)
{
	struct vpmu_vm_options options = { .size = sizeof(options), .policy = VPMU_POLICY_EVICT };
	enum vpmu_model number;

	memset(&machine, 0, sizeof(machine));
	assert_int_equal(vpmu_model_by_name(name, &number), 0);
	assert_int_equal(vpmu_geometry_init(&options.geometry, number), 0);
	assert_true(model_choose(name, false));
	if (has_global())
		options.geometry.flags |= VPMU_DEBUGCTL;
	assert_int_equal(vpmu_backend_sim(VPMU_SLOTS, &machine.sim, &options.backend), 0);
	assert_int_equal(vpmu_vm_create(&options, &machine.vm), 0);
	for (unsigned int i = 0; i < NR_CPUS; i++) {
		machine.cpus[i].cpu.id = i;
		assert_int_equal(vpmu_create(machine.vm, i, &machine.cpus[i].vpmu), 0);
	}
}

static void stop(void)
{
	for (unsigned int i = 0; i < NR_CPUS; i++)
		vpmu_destroy(machine.cpus[i].vpmu);
	vpmu_vm_destroy(machine.vm);
}

static void test_model(void **state)
{
	nr_failures = 0;
	start(*state);
	test_cpuid();
	test_registers();
	test_simulated();
	stop();
	assert_int_equal(nr_failures, 0);
}

#define MODEL_TEST(name) { name, test_model, NULL, NULL, (void *)(uintptr_t)name }

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL_TEST("intel-v1"), MODEL_TEST("intel-v2"), MODEL_TEST("intel-v3"),
		MODEL_TEST("intel-v4"), MODEL_TEST("intel-v5"), MODEL_TEST("amd-k7"),
		MODEL_TEST("amd-core"), MODEL_TEST("amd-v2"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
