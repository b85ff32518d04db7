/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A million random steps against a second model, which is written from the manuals in another way:
 * one list of registers, counters that just add, no events of a host. VPMU_SEED and VPMU_STEPS
 * in the environment choose others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build-vpmu.h"

#define STEPS 1000000
#define MAX_REGISTERS 128

enum kind {
	LOW,		/* a counter; writes extend bit 31 */
	WIDE,		/* a counter; writes of too many bits fault */
	LOOSE,		/* a counter; too many bits are dropped (AMD) */
	SELECT,		/* bits that are not valid fault; AMD drops them */
	FIXED_CONTROL,
	GLOBAL_CONTROL,
	GLOBAL_STATUS,
	STATUS_CLEAR,
	STATUS_SET,
	INUSE,
	CAPABILITIES,
	DEBUGCTL,
	NOTHING,	/* an address where none is */
};

struct reg {
	uint32_t msr;
	enum kind kind;
	unsigned int slot;
	uint64_t valid;
};

struct oracle {
	int model;
	bool amd, global, freezes;
	unsigned int available, nr_slots;
	struct reg regs[MAX_REGISTERS];
	unsigned int nr_regs;
	struct { uint64_t value, select, mask; bool there; } slot[48];
	uint64_t fixed_control, control, status, debugctl, slots;
	bool pmi;
	/* The filter: a list as it was given. */
	bool filtered, deny, masked;
	uint32_t bitmap, nr_entries;
	uint64_t entries[8];
};

static uint64_t random_state;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static unsigned int below(unsigned int n)
{
	return (rnd() >> 33) % n;
}

static uint64_t ones(unsigned int n)
{
	return n >= 64 ? ~0ULL : (1ULL << n) - 1;
}

/* ------------------------------------------------------------- registers */

static void add(struct oracle *o, uint32_t msr, enum kind kind, unsigned int slot, uint64_t valid)
{
	assert_true(o->nr_regs < MAX_REGISTERS);
	o->regs[o->nr_regs++] = (struct reg){ msr, kind, slot, valid };
}

static void list_intel(struct oracle *o, const struct vpmu_geometry *g)
{
	bool any = g->model == VPMU_INTEL_V3 || g->model == VPMU_INTEL_V4;
	bool v4 = g->model >= VPMU_INTEL_V4;
	uint64_t fixed_valid = 0, status;

	for (unsigned int i = 0; i < g->nr_gp; i++) {
		add(o, 0xc1 + i, LOW, i, ones(g->gp_width));
		add(o, 0x186 + i, SELECT, i, any ? 0xffffffff : 0xffdfffff);
		if (g->flags & VPMU_FULL_WIDTH)
			add(o, 0x4c1 + i, WIDE, i, ones(g->gp_width));
	}
	for (unsigned int i = 0; i < 16; i++) {
		if (!(g->fixed_mask & 1U << i))
			continue;
		add(o, 0x309 + i, WIDE, 32 + i, ones(g->fixed_width));
		fixed_valid |= (any ? 0xfULL : 0xbULL) << 4 * i;
	}
	if (g->flags & VPMU_FULL_WIDTH)
		add(o, 0x345, CAPABILITIES, 0, 0);
	if (!o->global)
		return;
	status = o->slots | 3ULL << 62 | (v4 ? 1ULL << 59 : 0);
	add(o, 0x38d, FIXED_CONTROL, 0, fixed_valid);
	add(o, 0x38e, GLOBAL_STATUS, 0, 0);
	add(o, 0x38f, GLOBAL_CONTROL, 0, o->slots);
	add(o, 0x390, STATUS_CLEAR, 0, status);
	if (v4) {
		add(o, 0x391, STATUS_SET, 0, status & ~(1ULL << 63));
		add(o, 0x392, INUSE, 0, 0);
	}
}

static void list_amd(struct oracle *o, const struct vpmu_geometry *g)
{
	uint64_t select = ones(36) & ~(1ULL << 19) & ~(1ULL << 21);

	for (unsigned int i = 0; i < 4; i++) {
		add(o, 0xc0010000 + i, SELECT, i, select);
		add(o, 0xc0010004 + i, LOOSE, i, ones(48));
	}
	for (unsigned int i = 0; g->model != VPMU_AMD_K7 && i < g->nr_gp; i++) {
		add(o, 0xc0010200 + 2 * i, SELECT, i, select);
		add(o, 0xc0010201 + 2 * i, LOOSE, i, ones(48));
	}
	if (!o->global)
		return;
	add(o, 0xc0000300, GLOBAL_STATUS, 0, 0);
	add(o, 0xc0000301, GLOBAL_CONTROL, 0, o->slots);
	add(o, 0xc0000302, STATUS_CLEAR, 0, ~0ULL);
	add(o, 0xc0000303, STATUS_SET, 0,
	    o->slots | (g->flags & VPMU_DEBUGCTL ? 1ULL << 59 : 0));
}

static void oracle_init(struct oracle *o, const struct vpmu_geometry *g)
{
	memset(o, 0, sizeof(*o));
	o->model = g->model;
	o->amd = g->model >= VPMU_AMD_K7;
	o->global = g->model != VPMU_INTEL_V1 && g->model != VPMU_AMD_K7 &&
		    g->model != VPMU_AMD_CORE;
	o->available = g->arch_events;
	for (unsigned int i = 0; i < 48; i++) {
		o->slot[i].there = i < 32 ? i < g->nr_gp : g->fixed_mask >> (i - 32) & 1;
		o->slot[i].mask = ones(i < 32 ? g->gp_width : g->fixed_width);
		o->slots |= (uint64_t)o->slot[i].there << i;
	}
	o->control = o->global ? ones(g->nr_gp) : 0;
	if (o->amd)
		list_amd(o, g);
	else
		list_intel(o, g);
	if (g->flags & VPMU_DEBUGCTL)
		add(o, 0x1d9, DEBUGCTL, 0, 1 << 12);
	for (uint32_t msr = 0x180; msr < 0x186; msr++)
		add(o, msr, NOTHING, 0, 0);
}

static uint64_t in_use(const struct oracle *o)
{
	uint64_t used = 0;

	for (unsigned int i = 0; i < 32; i++) {
		used |= (uint64_t)!!(o->slot[i].select & 0xff) << i;
		used |= (o->slot[i].select >> 20 & 1) << 63;
	}
	for (unsigned int i = 0; i < 16; i++) {
		used |= (uint64_t)!!(o->fixed_control >> 4 * i & 3) << (32 + i);
		used |= (o->fixed_control >> (4 * i + 3) & 1) << 63;
	}
	return used;
}

static enum vpmu_access oracle_read(const struct oracle *o, const struct reg *reg, uint64_t *ret)
{
	switch (reg->kind) {
	case LOW: case WIDE: case LOOSE: *ret = o->slot[reg->slot].value; break;
	case SELECT: *ret = o->slot[reg->slot].select; break;
	case FIXED_CONTROL: *ret = o->fixed_control; break;
	case GLOBAL_CONTROL: *ret = o->control; break;
	case GLOBAL_STATUS: *ret = o->status; break;
	case STATUS_CLEAR: case STATUS_SET: *ret = 0; break;
	case INUSE: *ret = in_use(o); break;
	case CAPABILITIES: *ret = 0x2000; break;
	case DEBUGCTL: *ret = o->debugctl; break;
	case NOTHING: return VPMU_UNKNOWN;
	}
	return VPMU_OK;
}

static enum vpmu_access oracle_write(struct oracle *o, const struct reg *reg, uint64_t value)
{
	bool strict = !o->amd || reg->kind == DEBUGCTL;

	if (reg->kind == NOTHING)
		return VPMU_UNKNOWN;
	if (reg->kind == LOW)
		value = (uint64_t)(int32_t)value & reg->valid;
	/* Read-only registers have no valid bit, and fault with none set, too. */
	if (strict && ((value & ~reg->valid) || !reg->valid))
		return VPMU_GP;
	value &= reg->valid;
	switch (reg->kind) {
	case LOW: case WIDE: case LOOSE: o->slot[reg->slot].value = value; break;
	case SELECT: o->slot[reg->slot].select = value; break;
	case FIXED_CONTROL: o->fixed_control = value; break;
	case GLOBAL_CONTROL: o->control = value; break;
	case STATUS_CLEAR: o->status &= ~value; break;
	case STATUS_SET: o->status |= value; break;
	case DEBUGCTL: o->debugctl = value; break;
	default: break;
	}
	return VPMU_OK;
}

/* -------------------------------------------------------------- counting */

static const struct { uint32_t intel, amd; } codes[] = {
	{ 0x3c, 0x76 }, { 0xc0, 0xc0 }, { 0x13c, 0xffffff }, { 0x4f2e, 0xffffff },
	{ 0x412e, 0xffffff }, { 0xc4, 0xc2 }, { 0xc5, 0xc3 }, { 0x1a4, 0xffffff },
};

/* What a slot counts: an architectural event, or VPMU_EVENT_RAW with *@ret_raw. */
static unsigned int counts_what(const struct oracle *o, unsigned int slot, uint64_t *ret_raw)
{
	static const unsigned int fixed[] = { 1, 0, VPMU_EVENT_REF_TSC, 7 };
	uint64_t select = o->slot[slot].select;

	*ret_raw = 0;
	if (slot >= 32) {
		bool any = o->fixed_control >> 4 * (slot - 32) & 4;

		return slot - 32 < 4 && !any ? fixed[slot - 32] : VPMU_EVENT_RAW;
	}
	/* Without modes, enable, interrupt and pin control. */
	*ret_raw = select & ~0x5b0000ULL;
	for (unsigned int i = 0; i < 8; i++)
		if (*ret_raw == (o->amd ? codes[i].amd : codes[i].intel) &&
		    (o->amd || (o->available & 1U << i)))
			return i;
	return VPMU_EVENT_RAW;
}

static bool on(const struct oracle *o, unsigned int slot, bool user)
{
	uint64_t select = o->slot[slot].select;
	unsigned int fixed = slot < 32 ? 0 : o->fixed_control >> 4 * (slot - 32) & 0xf;

	if (!o->slot[slot].there)
		return false;
	if (o->global && (!(o->control >> slot & 1) || o->status >> 59 & 1))
		return false;
	if (slot >= 32)
		return fixed & (user ? 2 : 1);
	return (select & 1 << 22) && (select & (user ? 1 << 16 : 1 << 17));
}

/* Once more from the documentation of KVM_SET_PMU_EVENT_FILTER. */
static bool allowed(const struct oracle *o, unsigned int slot)
{
	uint64_t select = o->slot[slot].select;
	uint64_t event = (select & 0xff) | (o->amd ? select >> 24 & 0xf00 : 0);
	unsigned int umask = select >> 8 & 0xff;
	bool in = false, out = false;

	if (!o->filtered)
		return true;
	if (slot >= 32)
		return o->deny != (o->bitmap >> (slot - 32) & 1);
	for (uint32_t i = 0; i < o->nr_entries; i++) {
		uint64_t entry = o->entries[i];
		unsigned int mask = o->masked ? entry >> 56 : 0xff;

		if (((entry & 0xff) | (entry >> 24 & 0xf00)) != event)
			continue;
		if ((umask & mask) != (entry >> 8 & 0xff))
			continue;
		if (o->masked && (entry >> 55 & 1))
			out = true;
		else
			in = true;
	}
	return (in && !out) ? !o->deny : o->deny;
}

static bool matches(const struct oracle *o, unsigned int slot, unsigned int event, uint64_t raw,
		    bool user)
{
	uint64_t own_raw;
	unsigned int own = counts_what(o, slot, &own_raw);

	return on(o, slot, user) && allowed(o, slot) && own == event &&
	       (event != VPMU_EVENT_RAW || own_raw == raw);
}

/* Adds to all slots what they have counted, then what follows from overflows. */
static uint64_t settle(struct oracle *o, const uint64_t counted[48])
{
	uint64_t overflowed = 0;
	bool was = o->pmi;

	for (unsigned int i = 0; i < 48; i++) {
		unsigned __int128 sum = (unsigned __int128)o->slot[i].value + counted[i];
		bool interrupt = i < 32 ? o->slot[i].select >> 20 & 1 :
					  o->fixed_control >> (4 * (i - 32) + 3) & 1;

		if (!counted[i])
			continue;
		o->slot[i].value = (uint64_t)sum & o->slot[i].mask;
		if (sum <= o->slot[i].mask)
			continue;
		overflowed |= 1ULL << i;
		o->pmi |= interrupt;
	}
	if (o->global)
		o->status |= overflowed;
	if (!was && o->pmi && o->debugctl) {
		if (o->model == VPMU_INTEL_V2 || o->model == VPMU_INTEL_V3)
			o->control = 0;
		else
			o->status |= 1ULL << 59;
	}
	return overflowed;
}

/* ----------------------------------------------------------------- steps */

struct run {
	struct oracle oracle;
	struct build_vpmu a, b;
	struct build_vpmu *now;		/* one of them: the guest moves between both */
	uint64_t told;			/* overflows that the next exit has to tell of */
	uint64_t overflows, pmis, faults;
};

static uint64_t random_event(const struct oracle *o)
{
	static const uint64_t raws[] = { 0x12d0, 0x10c0, 0x1000000c0, 0x4003c, 0x100003c,
		0x80003c, 0x20003c };
	unsigned int n = below(24);

	if (n < 8)
		return o->amd ? codes[n].amd : codes[n].intel;
	if (n < 14)
		return o->amd ? codes[n & 1 ? 0 : 1].amd : codes[n & 1 ? 0 : 1].intel;
	return raws[n % ARRAY_SIZE(raws)];
}

static uint64_t random_value(struct run *run, const struct reg *reg)
{
	const struct oracle *o = &run->oracle;

	switch (below(8)) {
	case 0:
		return rnd();
	case 1:
		return 1ULL << below(64);
	case 2:
		return rnd() & reg->valid;
	}
	switch (reg->kind) {
	case LOW: case WIDE: case LOOSE:
		return (0 - (rnd() & ones(below(20)))) & reg->valid;
	case SELECT:
		return random_event(o) | (rnd() & (1 << 20 | 3 << 16)) | (below(4) ? 1 << 22 : 0);
	case GLOBAL_CONTROL:
		return below(3) ? o->slots : rnd() & o->slots;
	case STATUS_CLEAR:
		return below(2) ? o->status : rnd() & reg->valid;
	case DEBUGCTL:
		return below(2) << 12;
	default:
		return rnd() & reg->valid;
	}
}

static void step_write(struct run *run)
{
	struct oracle *o = &run->oracle;
	const struct reg *reg = &o->regs[below(o->nr_regs)];
	uint64_t value = random_value(run, reg);
	enum vpmu_access want = oracle_write(o, reg, value);

	assert_int_equal(vpmu_wrmsr(run->now->vpmu, reg->msr, value), want);
	run->faults += want == VPMU_GP;
}

static void compare(struct run *run, const struct reg *reg)
{
	uint64_t got = 0x5555, want = 0x5555;

	assert_int_equal(vpmu_rdmsr(run->now->vpmu, reg->msr, &got),
			 oracle_read(&run->oracle, reg, &want));
	if (got != want)
		print_error("register %x: %llx, not %llx\n", reg->msr, (unsigned long long)got,
			    (unsigned long long)want);
	assert_int_equal(got, want);
}

static void step_rdpmc(struct run *run)
{
	const struct oracle *o = &run->oracle;
	uint32_t ecx = below(20) | (below(2) ? 1U << 30 : 0) | (below(8) ? 0 : 1U << 31);
	unsigned int slot = ecx & 1U << 30 ? 32 + (ecx & 0xff) : ecx & 0xff;
	bool there = !(ecx & 1U << 31) && slot < 48 && o->slot[slot].there && !(o->amd &&
		slot >= 32);
	bool may = below(8);
	uint64_t value = 0;

	assert_int_equal(vpmu_rdpmc(run->now->vpmu, ecx, may, &value), there && may
		? VPMU_OK : VPMU_GP);
	if (there && may)
		assert_int_equal(value, o->slot[slot].value);
}

static void pick(struct run *run, unsigned int *event, uint64_t *raw)
{
	unsigned int slot;

	/* Mostly what some counter counts. */
	do
		slot = below(48);
	while (!run->oracle.slot[slot].there);
	*event = counts_what(&run->oracle, slot, raw);
	if (!below(4)) {
		*event = below(VPMU_NR_ARCH_EVENTS);
		*raw = 0;
	}
}

static void step_guest(struct run *run)
{
	struct oracle *o = &run->oracle;
	uint64_t counted[48] = { 0 };
	struct vpmu_exit left;

	assert_int_equal(vpmu_enter(run->now->vpmu, NULL), 0);
	for (unsigned int i = 1 + below(3); i; i--) {
		uint64_t raw, n = 1 + (below(200) ? rnd() & ones(below(20)) : rnd() & ones(50));
		bool user = below(2);
		unsigned int event;

		pick(run, &event, &raw);
		vpmu_sim_run(run->now->sim, 0, event, raw, user, n);
		for (unsigned int slot = 0; slot < 48; slot++)
			counted[slot] += matches(o, slot, event, raw, user) ? n : 0;
	}
	vpmu_exit(run->now->vpmu, &left);
	run->told |= settle(o, counted);
	assert_int_equal(left.overflowed, run->told);
	assert_int_equal(left.pmi, o->pmi);
	assert_int_equal(left.lost, 0);
	run->overflows += !!run->told;
	run->told = 0;
}

static void step_trigger(struct run *run)
{
	uint64_t counted[48] = { 0 }, raw, n = 1 + below(5000);
	bool user = below(2);
	unsigned int event;

	pick(run, &event, &raw);
	vpmu_trigger(run->now->vpmu, event, user, n);
	for (unsigned int slot = 0; event != VPMU_EVENT_RAW && slot < 48; slot++)
		counted[slot] = matches(&run->oracle, slot, event, raw, user) ? n : 0;
	run->told |= settle(&run->oracle, counted);
}

static void step_pmi(struct run *run)
{
	struct oracle *o = &run->oracle;
	bool masked = !below(4);
	struct vpmu_pmi pmi;

	vpmu_pmi(run->now->vpmu, 0x400 | (masked ? 1 << 16 : 0), &pmi);
	assert_int_equal(pmi.kind, o->pmi && !masked ? VPMU_PMI_NMI : VPMU_PMI_NONE);
	assert_int_equal(pmi.lvtpc >> 16 & 1, masked || (o->pmi && !o->amd));
	run->pmis += o->pmi;
	o->pmi = false;
}

static void step_move(struct run *run)
{
	struct build_vpmu *other = run->now == &run->a ? &run->b : &run->a;
	uint8_t saved[VPMU_STATE_MAX];
	int size;

	/* Which exit tells of an overflow is no part of the state. */
	if (run->told)
		return;
	size = vpmu_save(run->now->vpmu, saved, sizeof(saved));
	assert_true(size > 0);
	assert_int_equal(vpmu_restore(other->vpmu, saved, size), 0);
	if (below(2))
		vpmu_release_events(run->now->vpmu);
	run->now = other;
}

static void step_filter(struct run *run)
{
	struct oracle *o = &run->oracle;
	struct vpmu_filter filter = { .events = o->entries };

	o->filtered = below(3);
	o->deny = below(2);
	o->masked = below(2);
	o->bitmap = rnd();
	o->nr_entries = below(ARRAY_SIZE(o->entries) + 1);
	for (uint32_t i = 0; i < o->nr_entries; i++) {
		o->entries[i] = random_event(o) & (o->amd ? 0xf0000ffffULL : 0xffffULL);
		if (o->masked)
			o->entries[i] |= (rnd() & (below(2)
				? 0 : 0xffULL << 56)) | (uint64_t)!below(4) << 55;
	}
	filter.action = o->deny ? VPMU_FILTER_DENY : VPMU_FILTER_ALLOW;
	filter.flags = o->masked ? VPMU_FILTER_MASKED : 0;
	filter.fixed_bitmap = o->bitmap;
	filter.nr = o->nr_entries;
	assert_int_equal(vpmu_vm_set_filter(run->a.vm, o->filtered ? &filter : NULL), 0);
	assert_int_equal(vpmu_vm_set_filter(run->b.vm, o->filtered ? &filter : NULL), 0);
}

static void step(struct run *run)
{
	unsigned int n = below(1000);

	if (n < 420)
		step_write(run);
	else if (n < 520)
		step_rdpmc(run);
	else if (n < 880)
		step_guest(run);
	else if (n < 930)
		step_pmi(run);
	else if (n < 980)
		step_trigger(run);
	else if (n < 995)
		step_move(run);
	else
		step_filter(run);
}

static void random_program(int model, bool other, unsigned long steps)
{
	static struct run run;
	struct vpmu_vm_options options;

	memset(&run, 0, sizeof(run));
	for (unsigned int i = 0; i < 2; i++) {
		build_vpmu_options(i ? &run.b : &run.a, model, VPMU_SLOTS, &options);
		if (other && model < VPMU_AMD_K7) {
			options.geometry.nr_gp = 3;
			options.geometry.gp_width = 33;
			options.geometry.flags ^= VPMU_FULL_WIDTH;
			options.geometry.arch_events = 0x2b;
		}
		if (other && model == VPMU_INTEL_V5)
			options.geometry.fixed_mask = 0x8005;
		if (other && (model == VPMU_AMD_V2 || (model > VPMU_INTEL_V1 &&
			model < VPMU_AMD_K7)))
			options.geometry.flags |= VPMU_DEBUGCTL;
		build_vpmu_start(i ? &run.b : &run.a, &options);
	}
	run.now = &run.a;
	oracle_init(&run.oracle, &options.geometry);
	for (unsigned long i = 0; i < steps; i++) {
		step(&run);
		if (i % 8 == 0)
			for (unsigned int r = 0; r < run.oracle.nr_regs; r++)
				compare(&run, &run.oracle.regs[r]);
	}
	/* It went through what it is meant to. */
	if (steps > 10000) {
		assert_true(run.overflows > steps / 2000);
		assert_true(run.pmis > steps / 4000);
		assert_true(model >= VPMU_AMD_K7 || run.faults > steps / 100);
	}
	build_vpmu_deinit(&run.a);
	build_vpmu_deinit(&run.b);
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

static void test_random(void **state)
{
	unsigned long steps = from_environment("VPMU_STEPS", STEPS) / 16 + 1;

	(void)state;
	random_state = from_environment("VPMU_SEED", 0x9e3779b97f4a7c15);
	for (int model = 0; model < 32; model++) {
		if (!vpmu_model_name(model))
			continue;
		random_program(model, false, steps);
		random_program(model, true, steps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
