/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting without a PMU: guest time as cycles of a set rate. */
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/types.h"
#include "vpmu/vpmu.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define NS 1000000000ULL
#define MAX_HZ (100 * NS)
/* The guest gets that long before it is made to leave for an overflow that is due. */
#define MIN_TIMER_NS 20000

struct time_backend {
	struct vpmu_time_options options;
};

struct time_slot {
	uint64_t hz;		/* 0: not open */
	uint64_t ns;		/* counted time */
	uint64_t due;		/* the count at which it overflows */
	bool paused;
};

struct time_vcpu {
	const struct time_backend *backend;
	uint64_t since;		/* the clock at entry */
	timer_t timer;
	pid_t timer_thread;	/* whom the timer is for; 0: there is none */
	bool armed;
	bool counting;		/* since entry: there was something to count */
	struct time_slot slots[VPMU_SLOTS];
};

static uint64_t count_of(const struct time_slot *slot)
{
	return (uint64_t)((unsigned __int128)slot->ns * slot->hz / NS);
}

static uint64_t now(const struct time_backend *backend)
{
	struct timespec time = { 0 };

	if (backend->options.clock)
		return backend->options.clock(backend->options.clock_context);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

/* Which mode the guest was in is not known: only both together can be counted. */
static uint64_t rate_of(const struct time_backend *backend, const struct vpmu_event *event)
{
	if (!event->user || !event->kernel)
		return 0;
	switch (event->arch) {
	case VPMU_EVENT_CYCLES:
		return backend->options.cycles_hz;
	case VPMU_EVENT_REF_CYCLES:
	case VPMU_EVENT_REF_TSC:
		return backend->options.ref_hz;
	default:
		return 0;
	}
}

static int time_open(void *self, unsigned int n, const struct vpmu_event *event, uint64_t left,
		     bool pinned)
{
	struct time_vcpu *vcpu = self;
	uint64_t hz = rate_of(vcpu->backend, event);

	(void)pinned;
	if (!hz)
		return -EOPNOTSUPP;
	vcpu->slots[n] = (struct time_slot){ .hz = hz, .due = left };
	return 0;
}

static void time_close(void *self, unsigned int n)
{
	struct time_vcpu *vcpu = self;

	vcpu->slots[n] = (struct time_slot){ 0 };
}

static int time_pause(void *self, unsigned int n)
{
	struct time_vcpu *vcpu = self;

	vcpu->slots[n].paused = true;
	return 0;
}

static int time_resume(void *self, unsigned int n)
{
	struct time_vcpu *vcpu = self;

	vcpu->slots[n].paused = false;
	return 0;
}

static int time_arm(void *self, unsigned int n, uint64_t left)
{
	struct time_vcpu *vcpu = self;

	vcpu->slots[n].due = count_of(&vcpu->slots[n]) + left;
	return 0;
}

static int time_read(void *self, unsigned int n, struct vpmu_count *ret)
{
	struct time_vcpu *vcpu = self;
	const struct time_slot *slot = &vcpu->slots[n];

	*ret = (struct vpmu_count){ count_of(slot), slot->ns, slot->ns, false };
	return 0;
}

/* There is always time. */
static int time_check(void *self, unsigned int n, int *ret_index)
{
	(void)self;
	(void)n;
	*ret_index = -1;
	return 0;
}

/* Nanoseconds until the slot overflows, rounded up; past ones are due at once. */
static uint64_t due_ns(const struct time_slot *slot)
{
	unsigned __int128 at = ((unsigned __int128)slot->due * NS + slot->hz - 1) / slot->hz;

	if (at <= slot->ns)
		return 0;
	at -= slot->ns;
	return at > INT64_MAX ? INT64_MAX : (uint64_t)at;
}

static bool is_counting(const struct time_slot *slot)
{
	return slot->hz && !slot->paused;
}

static uint64_t next_due(const struct time_vcpu *vcpu)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < VPMU_SLOTS; i++) {
		const struct time_slot *slot = &vcpu->slots[i];

		if (is_counting(slot))
			next = MIN(next, due_ns(slot));
	}
	return next;
}

static bool have_timer(struct time_vcpu *vcpu)
{
	pid_t thread = (pid_t)syscall(SYS_gettid);
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = vcpu->backend->options.signal,
	};

	if (vcpu->timer_thread == thread)
		return true;
	if (vcpu->timer_thread)
		timer_delete(vcpu->timer);
	event.sigev_notify_thread_id = thread;
	vcpu->timer_thread = timer_create(CLOCK_MONOTONIC, &event, &vcpu->timer) ? 0 : thread;
	return vcpu->timer_thread;
}

/*
 * The wall clock's timer, for CPU clocks' have the kernel tick's precision. It comes early where
 * the thread had to wait; the next entry sets it again.
 */
static void set_timer(struct time_vcpu *vcpu)
{
	uint64_t due = next_due(vcpu);
	struct itimerspec when = { 0 };

	if (!vcpu->backend->options.signal || (due == UINT64_MAX && !vcpu->armed))
		return;
	if (due != UINT64_MAX) {
		due = MAX(due, MIN_TIMER_NS);
		when.it_value.tv_sec = (time_t)(due / NS);
		when.it_value.tv_nsec = (long)(due % NS);
	}
	vcpu->armed = have_timer(vcpu) && due != UINT64_MAX;
	if (vcpu->timer_thread)
		timer_settime(vcpu->timer, 0, &when, NULL);
}

static bool any_counting(const struct time_vcpu *vcpu)
{
	for (unsigned int i = 0; i < VPMU_SLOTS; i++)
		if (is_counting(&vcpu->slots[i]))
			return true;
	return false;
}

/* The clock is a system call: a guest that counts nothing does not pay for it. */
static void time_enter(void *self)
{
	struct time_vcpu *vcpu = self;

	set_timer(vcpu);
	vcpu->counting = any_counting(vcpu);
	if (vcpu->counting)
		vcpu->since = now(vcpu->backend);
}

static void time_exit(void *self)
{
	struct time_vcpu *vcpu = self;
	uint64_t ran;

	if (!vcpu->counting)
		return;
	ran = now(vcpu->backend) - vcpu->since;
	for (unsigned int i = 0; i < VPMU_SLOTS; i++)
		if (is_counting(&vcpu->slots[i]))
			vcpu->slots[i].ns += ran;
}

static int time_vcpu_create(void *self, unsigned int id, void **ret)
{
	struct time_vcpu *vcpu = calloc(1, sizeof(*vcpu));

	(void)id;
	if (!vcpu)
		return -ENOMEM;
	vcpu->backend = self;
	*ret = vcpu;
	return 0;
}

static void time_vcpu_destroy(void *self)
{
	struct time_vcpu *vcpu = self;

	if (vcpu->timer_thread)
		timer_delete(vcpu->timer);
	free(vcpu);
}

static void time_destroy(void *self)
{
	free(self);
}

static const struct vpmu_backend_ops time_ops = {
	.size = sizeof(time_ops),
	.name = "time",
	.destroy = time_destroy,
	.vcpu_create = time_vcpu_create,
	.vcpu_destroy = time_vcpu_destroy,
	.open = time_open,
	.close = time_close,
	.pause = time_pause,
	.resume = time_resume,
	.arm = time_arm,
	.read = time_read,
	.check = time_check,
	.enter = time_enter,
	.exit = time_exit,
};

int vpmu_backend_time(const struct vpmu_time_options *options, struct vpmu_backend *ret)
{
	struct time_backend *backend;

	if (options->size != sizeof(*options) || !options->cycles_hz ||
	    options->cycles_hz > MAX_HZ || options->ref_hz > MAX_HZ || options->signal < 0)
		return -EINVAL;
	backend = calloc(1, sizeof(*backend));
	if (!backend)
		return -ENOMEM;
	backend->options = *options;
	*ret = (struct vpmu_backend){ &time_ops, backend };
	return 0;
}
