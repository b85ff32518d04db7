/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Around guest mode: before it every active counter gets its event on the host, after it what the
 * events counted goes into the counters. Between the two the guest's registers cannot change, so
 * a counter's value outside guest mode is exact without asking the host again.
 */
#include "vpmu/counter.h"
#include "vpmu/vpmu-private.h"

/* Our own limit, max_events; told as -EMFILE, which backends have when the host's is reached. */
#define LIMIT_REACHED (-EDQUOT)

static const struct vpmu_backend_ops *backend_ops(const struct vpmu *vpmu)
{
	return vpmu->vm->options.backend.ops;
}

static enum vpmu_policy policy_of(const struct vpmu *vpmu)
{
	return atomic_load(&vpmu->vm->policy);
}

static struct vpmu_report make_report(const struct vpmu *vpmu, unsigned int n,
				      enum vpmu_report_kind kind, int err)
{
	return (struct vpmu_report){
		.kind = kind,
		.vcpu = vpmu->id,
		.slot = n,
		.event = vpmu->slots[n].event,
		.error = err == LIMIT_REACHED ? -EMFILE : err,
	};
}

static void report(const struct vpmu *vpmu, unsigned int n, enum vpmu_report_kind kind, int err)
{
	const struct vpmu_vm_options *options = &vpmu->vm->options;
	struct vpmu_report told = make_report(vpmu, n, kind, err);

	if (options->log)
		options->log(options->context, &told);
}

/* Told and counted when it begins. */
static void set_verdict(struct vpmu *vpmu, unsigned int n, enum slot_verdict verdict,
			enum vpmu_report_kind kind, int err)
{
	struct vpmu_stats *stats = &vpmu->stats;
	uint64_t *const stat[] = {
		[VPMU_REPORT_REFUSED] = &stats->refused,
		[VPMU_REPORT_DENIED] = &stats->denied,
		[VPMU_REPORT_BUSY] = &stats->busy,
		[VPMU_REPORT_LOST] = &stats->lost,
		[VPMU_REPORT_MULTIPLEXED] = &stats->multiplexed,
		[VPMU_REPORT_EVICTED] = &stats->evicted,
		[VPMU_REPORT_LIMIT] = &stats->limit,
	};

	if (vpmu->slots[n].verdict == verdict)
		return;
	vpmu->slots[n].verdict = verdict;
	stat_add(stat[kind], 1);
	report(vpmu, n, kind, err);
}

/* Intel: the state of the hardware has changed, "CondChgd". */
static void tell_guest(struct vpmu *vpmu)
{
	if (vpmu->vm->model->vendor == VPMU_INTEL && has_global(&vpmu->vm->options.geometry))
		vpmu->global_status |= STATUS_CHANGED;
}

static void set_running(struct vpmu *vpmu, unsigned int n, enum slot_state state)
{
	vpmu->slots[n].state = state;
	if (state == SLOT_RUNNING)
		vpmu->running |= BIT(n);
	else
		vpmu->running &= ~BIT(n);
}

void vpmu_close(struct vpmu *vpmu, unsigned int slot)
{
	if (vpmu->slots[slot].state == SLOT_CLOSED)
		return;
	backend_ops(vpmu)->close(vpmu->backend, slot);
	set_running(vpmu, slot, SLOT_CLOSED);
	vpmu->turns &= ~BIT(slot);
	atomic_fetch_sub(&vpmu->vm->open_events, 1);
	stat_add(&vpmu->stats.open_now, -1ULL);
}

static uint64_t left_of(const struct vpmu *vpmu, unsigned int n)
{
	return counter_left(vpmu->slots[n].value, slot_width(vpmu, n));
}

static int open_event(struct vpmu *vpmu, unsigned int n, bool pinned)
{
	struct vpmu_vm *vm = vpmu->vm;
	struct slot *slot = &vpmu->slots[n];
	int err;

	if (atomic_fetch_add(&vm->open_events, 1) >= vm->options.max_events)
		err = LIMIT_REACHED;
	else
		err = backend_ops(vpmu)->open(vpmu->backend, n, &slot->event, left_of(vpmu, n),
					      pinned);
	if (err) {
		atomic_fetch_sub(&vm->open_events, 1);
		return err;
	}
	slot->last = (struct vpmu_count){ 0 };
	slot->pinned = pinned;
	slot->rearm = false;
	if (!pinned)
		vpmu->turns |= BIT(n);
	set_running(vpmu, n, SLOT_RUNNING);
	stat_add(&vpmu->stats.opened, 1);
	stat_add(&vpmu->stats.open_now, 1);
	return 0;
}

/* An event that is there already goes on, its overflow where the counter's is. */
static int continue_event(struct vpmu *vpmu, unsigned int n)
{
	struct slot *slot = &vpmu->slots[n];
	int err = 0;

	if (slot->rearm)
		err = backend_ops(vpmu)->arm(vpmu->backend, n, left_of(vpmu, n));
	if (!err && slot->state == SLOT_PAUSED)
		err = backend_ops(vpmu)->resume(vpmu->backend, n);
	if (err)
		return err;
	slot->rearm = false;
	set_running(vpmu, n, SLOT_RUNNING);
	return 0;
}

static bool ask_host(const struct vpmu *vpmu, unsigned int n, int err)
{
	const struct vpmu_vm_options *options = &vpmu->vm->options;
	struct vpmu_report told = make_report(vpmu, n, VPMU_REPORT_BUSY, err);

	return options->evict && options->evict(options->context, &told);
}

/* Is the event on a counter of the host? */
static int check_event(struct vpmu *vpmu, unsigned int n)
{
	int index = -1;
	int err = backend_ops(vpmu)->check(vpmu->backend, n, &index);

	if (!err && index >= 0 && (unsigned int)index != n)
		stat_add(&vpmu->stats.elsewhere, 1);
	return err;
}

static int reopen(struct vpmu *vpmu, unsigned int n)
{
	int err = open_event(vpmu, n, true) ?: check_event(vpmu, n);

	if (err)
		vpmu_close(vpmu, n);
	return err;
}

static void stand_still(struct vpmu *vpmu, unsigned int n, int err)
{
	set_verdict(vpmu, n, SLOT_STILL,
		    err == LIMIT_REACHED ? VPMU_REPORT_LIMIT : VPMU_REPORT_EVICTED, err);
	vpmu->entry.counting &= ~BIT(n);
	vpmu->entry.missing |= BIT(n);
	tell_guest(vpmu);
}

static int open_turns(struct vpmu *vpmu, unsigned int n, int why)
{
	int err = open_event(vpmu, n, false);

	if (err)
		return err;
	stat_add(&vpmu->stats.multiplexed, 1);
	report(vpmu, n, VPMU_REPORT_MULTIPLEXED, why);
	vpmu->entry.counting |= BIT(n);
	return 0;
}

/* Pinned events go first: where one takes turns all do, for else it might never get one. */
static void take_turns(struct vpmu *vpmu, unsigned int n, int why)
{
	int err = open_turns(vpmu, n, why);

	if (err) {
		stand_still(vpmu, n, err);
		return;
	}
	FOR_EACH_SLOT(other, vpmu->running & ~vpmu->turns) {
		vpmu_close(vpmu, other);
		err = open_turns(vpmu, other, why);
		if (err)
			stand_still(vpmu, other, err);
	}
}

static int start_event(struct vpmu *vpmu, unsigned int n)
{
	bool turns = vpmu->turns && policy_of(vpmu) == VPMU_POLICY_MULTIPLEX;

	if (vpmu->slots[n].state != SLOT_CLOSED) {
		if (vpmu->slots[n].pinned != turns && !continue_event(vpmu, n))
			return 0;
		vpmu_close(vpmu, n);
	}
	return turns ? open_turns(vpmu, n, -EBUSY) : open_event(vpmu, n, true);
}

/* The host has no counter for it now: what the VM's policy says. -EBUSY: the guest must not run. */
static int contend(struct vpmu *vpmu, unsigned int n, int err)
{
	vpmu_close(vpmu, n);
	switch (policy_of(vpmu)) {
	case VPMU_POLICY_MULTIPLEX:
		take_turns(vpmu, n, err);
		return 0;
	case VPMU_POLICY_EVICT:
		if (!ask_host(vpmu, n, err) || reopen(vpmu, n)) {
			stand_still(vpmu, n, err);
			return 0;
		}
		vpmu->entry.counting |= BIT(n);
		return 0;
	default:
		set_verdict(vpmu, n, SLOT_MISSING,
			    err == LIMIT_REACHED ? VPMU_REPORT_LIMIT : VPMU_REPORT_BUSY, err);
		vpmu->entry.missing |= BIT(n);
		vpmu->touched |= BIT(n);
		return -EBUSY;
	}
}

static int start(struct vpmu *vpmu, unsigned int n)
{
	int err = start_event(vpmu, n);

	if (err == -EOPNOTSUPP) {
		set_verdict(vpmu, n, SLOT_REFUSED, VPMU_REPORT_REFUSED, err);
		vpmu->entry.refused |= BIT(n);
		return 0;
	}
	if (err)
		return contend(vpmu, n, err);
	vpmu->entry.counting |= BIT(n);
	return 0;
}

static void deny(struct vpmu *vpmu, unsigned int n)
{
	vpmu_close(vpmu, n);
	set_verdict(vpmu, n, SLOT_DENIED, VPMU_REPORT_DENIED, 0);
	vpmu->entry.denied |= BIT(n);
}

/* What must not count any more makes room first. */
static void stop_unwanted(struct vpmu *vpmu, unsigned int n)
{
	struct slot *slot = &vpmu->slots[n];
	struct vpmu_event event;

	vpmu->entry.counting &= ~BIT(n);
	vpmu->entry.missing &= ~BIT(n);
	vpmu->entry.denied &= ~BIT(n);
	vpmu->entry.refused &= ~BIT(n);
	if (!vpmu_active(vpmu, n, &event)) {
		if (slot->state != SLOT_RUNNING)
			return;
		set_running(vpmu, n, SLOT_PAUSED);
		if (backend_ops(vpmu)->pause(vpmu->backend, n))
			vpmu_close(vpmu, n);
	} else if (!event_equal(&event, &slot->event)) {
		vpmu_close(vpmu, n);
		slot->event = event;
		slot->verdict = SLOT_IDLE;
	}
}

static int update(struct vpmu *vpmu, unsigned int n)
{
	struct slot *slot = &vpmu->slots[n];
	struct vpmu_event event;

	if (!vpmu_active(vpmu, n, &event))
		return 0;
	if (!vpmu_allowed(vpmu, n)) {
		deny(vpmu, n);
		return 0;
	}
	if (slot->verdict == SLOT_REFUSED)
		vpmu->entry.refused |= BIT(n);
	else if (slot->verdict == SLOT_STILL && policy_of(vpmu) != VPMU_POLICY_FAIL)
		vpmu->entry.missing |= BIT(n);
	else
		return start(vpmu, n);
	return 0;
}

static void follow_filter(struct vpmu *vpmu)
{
	struct vpmu_vm *vm = vpmu->vm;

	if (likely(vpmu->filter_age == vm->filter_age))
		return;
	pthread_mutex_lock(&vm->lock);
	vpmu->filter = vm->filter;
	vpmu->filter_age = vm->filter_age;
	pthread_mutex_unlock(&vm->lock);
	vpmu->touched = vm->slots;
}

/* What an earlier policy left taking turns or standing still, and this one does not allow. */
static void follow_policy(struct vpmu *vpmu)
{
	enum vpmu_policy policy = policy_of(vpmu);
	uint64_t turns = policy != VPMU_POLICY_MULTIPLEX ? vpmu->turns : 0;
	uint64_t missing = policy == VPMU_POLICY_FAIL ? vpmu->entry.missing : 0;

	if (likely(!(turns | missing)))
		return;
	FOR_EACH_SLOT(n, turns)
		vpmu_close(vpmu, n);
	vpmu->touched |= turns | missing;
}

/* Only what has been seen on a counter counts: an event that opens well may have none. */
static int check_running(struct vpmu *vpmu)
{
	int err = 0;

	FOR_EACH_SLOT(n, vpmu->running) {
		if (vpmu->slots[n].state != SLOT_RUNNING)
			continue;	/* since it was to take turns */
		if (!vpmu->slots[n].pinned || !check_event(vpmu, n)) {
			vpmu->slots[n].verdict = SLOT_COUNTS;
			continue;
		}
		vpmu->entry.counting &= ~BIT(n);
		if (contend(vpmu, n, -EBUSY))
			err = -EBUSY;
	}
	return err;
}

int vpmu_enter(struct vpmu *vpmu, struct vpmu_entry *ret)
{
	uint64_t touched;
	int err = 0;

	if (vpmu->entered)
		return -EINVAL;
	follow_filter(vpmu);
	follow_policy(vpmu);
	touched = vpmu->touched;
	vpmu->touched = 0;
	FOR_EACH_SLOT(n, touched)
		stop_unwanted(vpmu, n);
	FOR_EACH_SLOT(n, touched)
		if (update(vpmu, n))
			err = -EBUSY;
	if (check_running(vpmu))
		err = -EBUSY;
	if (ret)
		*ret = vpmu->entry;
	stat_add(err ? &vpmu->stats.entries_refused : &vpmu->stats.entries, 1);
	if (err)
		return err;
	vpmu->entered = true;
	if (backend_ops(vpmu)->enter)
		backend_ops(vpmu)->enter(vpmu->backend);
	return 0;
}

void vpmu_count(struct vpmu *vpmu, unsigned int slot, uint64_t n)
{
	uint64_t wraps = counter_add(&vpmu->slots[slot].value, slot_width(vpmu, slot), n);

	if (likely(!wraps))
		return;
	stat_add(&vpmu->stats.overflows, wraps);
	vpmu->overflowed |= BIT(slot);
	if (has_global(&vpmu->vm->options.geometry))
		vpmu->global_status |= BIT(slot);
	if (vpmu->vm->model->interrupts(vpmu, slot))
		vpmu->pmi = true;
	vpmu->slots[slot].rearm = true;
	vpmu->touched |= BIT(slot);
}

void vpmu_freeze(struct vpmu *vpmu, bool was_pending)
{
	if (!was_pending && vpmu->pmi && (vpmu->debugctl & DEBUGCTL_FREEZE))
		vpmu->vm->model->freeze(vpmu);
}

/* One that takes turns overflows by its scaled count: the host's event has to be told anew. */
int vpmu_sync(struct vpmu *vpmu, unsigned int slot, bool *ret_mapped)
{
	struct slot *s = &vpmu->slots[slot];
	struct vpmu_count now = { 0 };
	int err = backend_ops(vpmu)->read(vpmu->backend, slot, &now);

	if (err)
		return err;
	if (s->pinned)
		now.running = now.enabled;
	*ret_mapped = now.mapped;
	vpmu_count(vpmu, slot, count_advance(&s->last, &now));
	if (!s->pinned) {
		s->rearm = true;
		vpmu->touched |= BIT(slot);
	}
	return 0;
}

/* The counter was taken away while the guest ran. The next entry tries again. */
static void lose(struct vpmu *vpmu, unsigned int n, int err)
{
	vpmu_close(vpmu, n);
	stat_add(&vpmu->stats.lost, 1);
	report(vpmu, n, VPMU_REPORT_LOST, err);
	vpmu->entry.counting &= ~BIT(n);
	vpmu->touched |= BIT(n);
	tell_guest(vpmu);
}

void vpmu_exit(struct vpmu *vpmu, struct vpmu_exit *ret)
{
	bool was_pending = vpmu->pmi, mapped;
	uint64_t lost = 0;

	if (vpmu->entered) {
		if (backend_ops(vpmu)->exit)
			backend_ops(vpmu)->exit(vpmu->backend);
		FOR_EACH_SLOT(n, vpmu->running) {
			int err = vpmu_sync(vpmu, n, &mapped);

			if (err) {
				lose(vpmu, n, err);
				lost |= BIT(n);
			}
		}
		vpmu->entered = false;
		vpmu_freeze(vpmu, was_pending);
	}
	if (ret)
		*ret = (struct vpmu_exit){ vpmu->overflowed, lost, vpmu->pmi };
	vpmu->overflowed = 0;
}

/* Local APIC, LVT performance counter register: SDM vol. 3, "Local Vector Table". */
#define LVT_VECTOR 0xff
#define LVT_MODE_SHIFT 8
#define LVT_MASKED (1U << 16)
#define FIRST_VECTOR 16

static enum vpmu_pmi_kind pmi_kind(uint32_t lvtpc)
{
	switch (lvtpc >> LVT_MODE_SHIFT & 7) {
	case 0:
		return (lvtpc & LVT_VECTOR) < FIRST_VECTOR ? VPMU_PMI_INVALID : VPMU_PMI_VECTOR;
	case 2:
		return VPMU_PMI_SMI;
	case 4:
		return VPMU_PMI_NMI;
	default:
		return VPMU_PMI_INVALID;
	}
}

void vpmu_pmi(struct vpmu *vpmu, uint32_t lvtpc, struct vpmu_pmi *ret)
{
	*ret = (struct vpmu_pmi){ .kind = VPMU_PMI_NONE, .lvtpc = lvtpc };
	if (!vpmu->pmi)
		return;
	vpmu->pmi = false;
	stat_add(&vpmu->stats.pmis, 1);
	if (lvtpc & LVT_MASKED) {
		stat_add(&vpmu->stats.pmis_masked, 1);
		return;
	}
	ret->kind = pmi_kind(lvtpc);
	if (ret->kind == VPMU_PMI_INVALID) {
		stat_add(&vpmu->stats.pmis_invalid, 1);
		return;
	}
	stat_add(&vpmu->stats.pmis_delivered, 1);
	if (ret->kind == VPMU_PMI_VECTOR)
		ret->vector = lvtpc & LVT_VECTOR;
	if (vpmu->vm->model->vendor == VPMU_INTEL)
		ret->lvtpc |= LVT_MASKED;
}

static bool stands(const struct slot *slot)
{
	return slot->verdict == SLOT_REFUSED || slot->verdict == SLOT_STILL ||
	       slot->verdict == SLOT_MISSING;
}

void vpmu_trigger(struct vpmu *vpmu, enum vpmu_arch_event event, bool user, uint64_t n)
{
	bool was_pending = vpmu->pmi;

	follow_filter(vpmu);
	FOR_EACH_SLOT(slot, vpmu->vm->slots) {
		struct vpmu_event active;

		if (!vpmu_active(vpmu, slot, &active) || active.arch != event ||
		    event >= VPMU_NR_ARCH_EVENTS || !(user ? active.user : active.kernel) ||
		    !vpmu_allowed(vpmu, slot) ||
		    (stands(&vpmu->slots[slot]) && event_equal(&active, &vpmu->slots[slot].event)))
			continue;
		vpmu_count(vpmu, slot, n);
		vpmu->slots[slot].rearm = true;
		vpmu->touched |= BIT(slot);
	}
	vpmu_freeze(vpmu, was_pending);
}
