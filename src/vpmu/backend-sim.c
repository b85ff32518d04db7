/* SPDX-License-Identifier: GPL-2.0-only */
#include "vpmu/backend-sim.h"

#include "base/types.h"
#include "vpmu/vpmu.h"

#define MAX_VCPUS 64

struct sim_event {
	struct vpmu_event event;
	uint64_t value, enabled, running;
	uint64_t left;		/* until it would tell of an overflow; 0: has told */
	bool open, paused, pinned, failed;
	int index;		/* the counter of the host; -1: none */
};

struct sim_vcpu {
	struct vpmu_sim *sim;
	unsigned int id;
	bool entered;
	struct sim_event events[VPMU_SLOTS];
};

struct vpmu_sim {
	unsigned int nr_counters;
	int error;
	struct sim_vcpu *vcpus[MAX_VCPUS];
};

static bool wants(const struct sim_event *event)
{
	return event->open && !event->paused && !event->failed;
}

static bool taken(const struct sim_vcpu *vcpu, int index)
{
	for (unsigned int i = 0; i < VPMU_SLOTS; i++)
		if (wants(&vcpu->events[i]) && vcpu->events[i].index == index)
			return true;
	return false;
}

/* The counter of the guest's number when that is free, else the first one. */
static int find_counter(const struct sim_vcpu *vcpu, unsigned int slot)
{
	int nr = (int)vcpu->sim->nr_counters;

	if ((int)slot < nr && !taken(vcpu, (int)slot))
		return (int)slot;
	for (int i = 0; i < nr; i++)
		if (!taken(vcpu, i))
			return i;
	return -1;
}

/*
 * Pinned events have counters of their own, and fail without one, as perf's do, until they are
 * closed. The others take turns on what these leave.
 */
static void schedule(struct sim_vcpu *vcpu)
{
	for (unsigned int i = 0; i < VPMU_SLOTS; i++) {
		struct sim_event *event = &vcpu->events[i];

		if (!wants(event) || !event->pinned)
			continue;
		if (event->index >= (int)vcpu->sim->nr_counters)
			event->index = -1;
		if (event->index < 0)
			event->index = find_counter(vcpu, i);
		if (event->index < 0)
			event->failed = true;
	}
}

static void sim_destroy(void *backend)
{
	free(backend);
}

static int sim_vcpu_create(void *backend, unsigned int id, void **ret)
{
	struct vpmu_sim *sim = backend;
	struct sim_vcpu *vcpu;

	if (id >= MAX_VCPUS || sim->vcpus[id])
		return -EINVAL;
	vcpu = calloc(1, sizeof(*vcpu));
	if (!vcpu)
		return -ENOMEM;
	vcpu->sim = sim;
	vcpu->id = id;
	sim->vcpus[id] = vcpu;
	*ret = vcpu;
	return 0;
}

static void sim_vcpu_destroy(void *self)
{
	struct sim_vcpu *vcpu = self;

	vcpu->sim->vcpus[vcpu->id] = NULL;
	free(vcpu);
}

static int sim_open(void *self, unsigned int slot, const struct vpmu_event *event, uint64_t left,
		    bool pinned)
{
	struct sim_vcpu *vcpu = self;

	if (vcpu->sim->error)
		return vcpu->sim->error;
	if (!left || vcpu->events[slot].open)
		return -EINVAL;
	vcpu->events[slot] = (struct sim_event){
		.event = *event, .left = left, .open = true, .pinned = pinned, .index = -1,
	};
	schedule(vcpu);
	return 0;
}

static void sim_close(void *self, unsigned int slot)
{
	struct sim_vcpu *vcpu = self;

	vcpu->events[slot] = (struct sim_event){ .index = -1 };
	schedule(vcpu);
}

static int sim_pause(void *self, unsigned int slot)
{
	struct sim_vcpu *vcpu = self;

	vcpu->events[slot].paused = true;
	vcpu->events[slot].index = -1;
	schedule(vcpu);
	return 0;
}

static int sim_resume(void *self, unsigned int slot)
{
	struct sim_vcpu *vcpu = self;

	vcpu->events[slot].paused = false;
	schedule(vcpu);
	return 0;
}

static int sim_arm(void *self, unsigned int slot, uint64_t left)
{
	struct sim_vcpu *vcpu = self;

	if (!left)
		return -EINVAL;
	vcpu->events[slot].left = left;
	return 0;
}

static int sim_read(void *self, unsigned int slot, struct vpmu_count *ret)
{
	struct sim_vcpu *vcpu = self;
	const struct sim_event *event = &vcpu->events[slot];

	if (event->failed)
		return -EBUSY;
	*ret = (struct vpmu_count){
		.value = event->value,
		.enabled = event->enabled,
		.running = event->running,
		.mapped = event->index >= 0,
	};
	return 0;
}

static int sim_check(void *self, unsigned int slot, int *ret_index)
{
	struct sim_vcpu *vcpu = self;
	const struct sim_event *event = &vcpu->events[slot];

	*ret_index = event->index;
	return event->failed || event->index < 0 ? -EBUSY : 0;
}

static void sim_enter(void *self)
{
	struct sim_vcpu *vcpu = self;

	vcpu->entered = true;
}

static void sim_exit(void *self)
{
	struct sim_vcpu *vcpu = self;

	vcpu->entered = false;
}

static const struct vpmu_backend_ops sim_ops = {
	.size = sizeof(sim_ops),
	.name = "sim",
	.destroy = sim_destroy,
	.vcpu_create = sim_vcpu_create,
	.vcpu_destroy = sim_vcpu_destroy,
	.open = sim_open,
	.close = sim_close,
	.pause = sim_pause,
	.resume = sim_resume,
	.arm = sim_arm,
	.read = sim_read,
	.check = sim_check,
	.enter = sim_enter,
	.exit = sim_exit,
};

int vpmu_backend_sim(unsigned int nr_counters, struct vpmu_sim **ret_sim, struct vpmu_backend *ret)
{
	struct vpmu_sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return -ENOMEM;
	sim->nr_counters = nr_counters;
	*ret_sim = sim;
	*ret = (struct vpmu_backend){ &sim_ops, sim };
	return 0;
}

void vpmu_sim_set_counters(struct vpmu_sim *sim, unsigned int nr)
{
	sim->nr_counters = nr;
	for (unsigned int i = 0; i < MAX_VCPUS; i++)
		if (sim->vcpus[i])
			schedule(sim->vcpus[i]);
}

void vpmu_sim_set_error(struct vpmu_sim *sim, int err)
{
	sim->error = err;
}

static bool counts(const struct sim_event *event, enum vpmu_arch_event what, uint64_t raw,
		   bool user)
{
	if (!wants(event) || !(user ? event->event.user : event->event.kernel))
		return false;
	return event->event.arch == what &&
	       (what != VPMU_EVENT_RAW || event->event.raw == raw);
}

static bool advance(struct sim_event *event, uint64_t n)
{
	bool crossed = event->left && n >= event->left;

	event->value += n;
	event->left = event->left > n ? event->left - n : 0;
	return crossed;
}

/* How much of @n an event that takes turns gets. */
static uint64_t turn(const struct sim_vcpu *vcpu, uint64_t n)
{
	unsigned int pinned = 0, others = 0, room;

	for (unsigned int i = 0; i < VPMU_SLOTS; i++) {
		pinned += wants(&vcpu->events[i]) && vcpu->events[i].pinned;
		others += wants(&vcpu->events[i]) && !vcpu->events[i].pinned;
	}
	room = vcpu->sim->nr_counters - MIN(vcpu->sim->nr_counters, pinned);
	return others <= room ? n : (uint64_t)((unsigned __int128)n * room / others);
}

unsigned int vpmu_sim_run(struct vpmu_sim *sim, unsigned int id, enum vpmu_arch_event what,
			  uint64_t raw, bool user, uint64_t n)
{
	struct sim_vcpu *vcpu = id < MAX_VCPUS ? sim->vcpus[id] : NULL;
	uint64_t shared = vcpu ? turn(vcpu, n) : 0;
	unsigned int crossed = 0;

	for (unsigned int i = 0; vcpu && vcpu->entered && i < VPMU_SLOTS; i++) {
		struct sim_event *event = &vcpu->events[i];
		uint64_t mine = event->pinned ? n : shared;

		if (!counts(event, what, raw, user))
			continue;
		event->enabled += n;
		event->running += mine;
		crossed += advance(event, mine);
	}
	return crossed;
}
