/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting by the host's PMU: one perf event for each active counter of the guest, on the thread of
 * its vCPU, in guest mode only. Or, with the option host_mode, for guests that are no KVM's: then
 * the events count that thread all the time, so that they keep their counters as those of guest
 * mode do, and what they count outside vpmu_enter() and vpmu_exit() is left out.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/types.h"
#include "vpmu/events.h"
#include "vpmu/vpmu.h"

/* In the index of a fixed counter of Intel's, as RDPMC has it: arch/x86/events/core.c. */
#define RDPMC_FIXED (1U << 30)
/* A period that takes hours. */
#define NEVER (1ULL << 47)

struct perf_backend {
	struct vpmu_perf_options options;
	enum host_vendor host;
};

struct perf_slot {
	int fd;		/* -1: none */
	bool pinned, paused;
	const struct perf_event_mmap_page *page;	/* NULL: not mapped */
	/* host_mode: what the event had when the guest was entered, and has counted in it */
	struct vpmu_count at_entry, inside;
	uint64_t due;		/* host_mode: the count inside at which it overflows */
	int error;		/* host_mode: of the reading at exit; 0: @inside is good */
};

struct perf_vcpu {
	const struct perf_backend *backend;
	struct perf_slot slots[VPMU_SLOTS];
};

/* What read() gives with the format below. */
struct perf_values {
	uint64_t value, enabled, running;
};

static int open_event(struct perf_event_attr *attr)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void fill_attr(const struct perf_number *number, const struct vpmu_event *event,
		      uint64_t left, bool pinned, bool host_mode, struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = number->type,
		.config = number->config,
		.sample_period = left,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.wakeup_events = 1,
		.pinned = pinned,
		.exclude_user = !event->user,
		.exclude_kernel = !event->kernel,
		.exclude_host = !host_mode,
		.exclude_guest = host_mode,
	};
}

/* -EOPNOTSUPP is for what cannot be counted here at all. */
static int open_error(int err)
{
	return err == -ENOENT || err == -EINVAL || err == -ENODEV || err == -ENXIO ? -EOPNOTSUPP :
										     err;
}

/* The thread gets the signal, not just any of the process. */
static int send_signal(int fd, int number)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid) };

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, number) ||
	    fcntl(fd, F_SETFL, O_ASYNC))
		return -errno;
	return 0;
}

static void map_page(struct perf_slot *slot)
{
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, slot->fd, 0);

	slot->page = page == MAP_FAILED ? NULL : page;
}

static int perf_open(void *self, unsigned int n, const struct vpmu_event *event, uint64_t left,
		     bool pinned)
{
	struct perf_vcpu *vcpu = self;
	const struct perf_backend *backend = vcpu->backend;
	struct perf_slot *slot = &vcpu->slots[n];
	struct perf_event_attr attr;
	struct perf_number number;
	int err = event_to_perf(event, backend->host, backend->options.raw, &number);

	if (err)
		return err;
	fill_attr(&number, event, left, pinned, backend->options.host_mode, &attr);
	slot->fd = open_event(&attr);
	if (slot->fd < 0) {
		err = open_error(slot->fd);
		slot->fd = -1;
		return err;
	}
	err = send_signal(slot->fd, backend->options.signal);
	if (err) {
		close(slot->fd);
		slot->fd = -1;
		return err;
	}
	slot->pinned = pinned;
	slot->due = left;
	map_page(slot);
	return 0;
}

static void perf_close(void *self, unsigned int n)
{
	struct perf_vcpu *vcpu = self;
	struct perf_slot *slot = &vcpu->slots[n];

	if (slot->page)
		munmap((void *)slot->page, (size_t)sysconf(_SC_PAGESIZE));
	if (slot->fd >= 0)
		close(slot->fd);
	*slot = (struct perf_slot){ .fd = -1 };
}

static int perf_ioctl(void *self, unsigned int n, unsigned long request, void *arg)
{
	struct perf_vcpu *vcpu = self;

	return ioctl(vcpu->slots[n].fd, request, arg) ? -errno : 0;
}

static int perf_pause(void *self, unsigned int n)
{
	struct perf_vcpu *vcpu = self;

	vcpu->slots[n].paused = true;
	return perf_ioctl(self, n, PERF_EVENT_IOC_DISABLE, NULL);
}

static int perf_resume(void *self, unsigned int n)
{
	struct perf_vcpu *vcpu = self;

	vcpu->slots[n].paused = false;
	return perf_ioctl(self, n, PERF_EVENT_IOC_ENABLE, NULL);
}

/* In host mode the entry does it. */
static int perf_arm(void *self, unsigned int n, uint64_t left)
{
	struct perf_vcpu *vcpu = self;
	struct perf_slot *slot = &vcpu->slots[n];

	if (!vcpu->backend->options.host_mode)
		return perf_ioctl(self, n, PERF_EVENT_IOC_PERIOD, &left);
	slot->due = slot->inside.value + left;
	return 0;
}

static uint64_t read_pmc(uint32_t index, unsigned int width)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)((int64_t)(((uint64_t)high << 32 | low) << (64 - width)) >> (64 - width));
#else
	(void)index;
	(void)width;
	return 0;
#endif
}

/*
 * perf_event_open(2): how the mapped page is read. False: the event is on no counter, or none's
 * to read.
 */
static bool read_page(const struct perf_event_mmap_page *page, uint64_t *ret_value)
{
	uint32_t seq, index;
	uint64_t value;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		index = page->index;
		if (!page->cap_user_rdpmc || !index || !page->pmc_width)
			return false;
		value = (uint64_t)page->offset + read_pmc(index - 1, page->pmc_width);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq);
	*ret_value = value;
	return true;
}

/* Of a pinned event that has lost its counter nothing can be read. */
static int read_fd(const struct perf_slot *slot, struct perf_values *ret)
{
	ssize_t size = read(slot->fd, ret, sizeof(*ret));

	if (size < 0)
		return -errno;
	return size == sizeof(*ret) ? 0 : -EBUSY;
}

static int read_event(const struct perf_slot *slot, struct vpmu_count *ret)
{
	struct perf_values values;
	uint64_t value;
	int err;

	if (slot->pinned && slot->page && read_page(slot->page, &value)) {
		*ret = (struct vpmu_count){ .value = value, .mapped = true };
		return 0;
	}
	err = read_fd(slot, &values);
	if (err)
		return err;
	*ret = (struct vpmu_count){ values.value, values.enabled, values.running, false };
	return 0;
}

static int perf_read(void *self, unsigned int n, struct vpmu_count *ret)
{
	struct perf_vcpu *vcpu = self;
	const struct perf_slot *slot = &vcpu->slots[n];

	if (!vcpu->backend->options.host_mode)
		return read_event(slot, ret);
	if (!slot->error)
		*ret = slot->inside;
	return slot->error;
}

static int number_of(uint32_t index)
{
	if (index & RDPMC_FIXED)
		return VPMU_FIXED_SLOT + (int)(index & ~RDPMC_FIXED);
	return (int)index;
}

/*
 * The mapped page has an index while the event is on a counter; where it is not told, read()
 * says. In host mode this is where the event's time inside begins.
 */
static int perf_check(void *self, unsigned int n, int *ret_index)
{
	struct perf_vcpu *vcpu = self;
	struct perf_slot *slot = &vcpu->slots[n];
	bool told = slot->page && slot->page->cap_user_rdpmc;
	uint32_t index = told ? slot->page->index : 0;
	struct vpmu_count now;
	int err = 0;

	*ret_index = index ? number_of(index - 1) : -1;
	if (told && !index)
		return -EBUSY;
	if (!told || vcpu->backend->options.host_mode)
		err = read_event(slot, &now);
	if (err)
		return -EBUSY;
	if (vcpu->backend->options.host_mode)
		slot->at_entry = now;
	return 0;
}

static bool is_counting(const struct perf_slot *slot)
{
	return slot->fd >= 0 && !slot->paused;
}

/* Host mode: the overflow is where the count inside has it. */
static void begin(struct perf_vcpu *vcpu, unsigned int n)
{
	struct perf_slot *slot = &vcpu->slots[n];
	uint64_t left = slot->due - slot->inside.value;

	/* One that takes turns is not checked. */
	slot->error = slot->pinned ? 0 : read_event(slot, &slot->at_entry);
	if (left)
		perf_ioctl(vcpu, n, PERF_EVENT_IOC_PERIOD, &left);
}

static void end(struct perf_slot *slot)
{
	struct vpmu_count now;

	if (!slot->error)
		slot->error = read_event(slot, &now);
	if (slot->error)
		return;
	slot->inside.value += now.value - slot->at_entry.value;
	slot->inside.enabled += now.enabled - slot->at_entry.enabled;
	slot->inside.running += now.running - slot->at_entry.running;
	slot->inside.mapped = now.mapped;
}

static void perf_enter(void *self)
{
	struct perf_vcpu *vcpu = self;

	for (unsigned int n = 0; vcpu->backend->options.host_mode && n < VPMU_SLOTS; n++)
		if (is_counting(&vcpu->slots[n]))
			begin(vcpu, n);
}

static void perf_exit(void *self)
{
	struct perf_vcpu *vcpu = self;
	uint64_t never = NEVER;

	for (unsigned int n = 0; vcpu->backend->options.host_mode && n < VPMU_SLOTS; n++)
		if (is_counting(&vcpu->slots[n]))
			end(&vcpu->slots[n]);
	/* No signal comes for what is done outside. */
	for (unsigned int n = 0; vcpu->backend->options.host_mode && n < VPMU_SLOTS; n++)
		if (is_counting(&vcpu->slots[n]))
			perf_ioctl(vcpu, n, PERF_EVENT_IOC_PERIOD, &never);
}

static int perf_vcpu_create(void *self, unsigned int id, void **ret)
{
	struct perf_vcpu *vcpu = calloc(1, sizeof(*vcpu));

	(void)id;
	if (!vcpu)
		return -ENOMEM;
	vcpu->backend = self;
	for (unsigned int i = 0; i < VPMU_SLOTS; i++)
		vcpu->slots[i].fd = -1;
	*ret = vcpu;
	return 0;
}

static void perf_vcpu_destroy(void *self)
{
	free(self);
}

static void perf_destroy(void *self)
{
	free(self);
}

static const struct vpmu_backend_ops perf_ops = {
	.size = sizeof(perf_ops),
	.name = "perf",
	.destroy = perf_destroy,
	.vcpu_create = perf_vcpu_create,
	.vcpu_destroy = perf_vcpu_destroy,
	.open = perf_open,
	.close = perf_close,
	.pause = perf_pause,
	.resume = perf_resume,
	.arm = perf_arm,
	.read = perf_read,
	.check = perf_check,
	.enter = perf_enter,
	.exit = perf_exit,
};

static enum host_vendor host_vendor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int eax, ebx = 0, ecx, edx;

	__get_cpuid(0, &eax, &ebx, &ecx, &edx);
	/* "Genu…", "Auth…" and "Hygo…" */
	if (ebx == 0x756e6547)
		return HOST_INTEL;
	if (ebx == 0x68747541 || ebx == 0x6f677948)
		return HOST_AMD;
#endif
	return HOST_OTHER;
}

/* Opens what a guest's cycles counter would be. */
static int probe(enum host_vendor host, bool host_mode)
{
	struct vpmu_event event = { .arch = VPMU_EVENT_CYCLES, .user = true, .kernel = true };
	struct perf_event_attr attr;
	struct perf_number number;
	int fd, err = event_to_perf(&event, host, false, &number);

	if (err)
		return err;
	fill_attr(&number, &event, NEVER, false, host_mode, &attr);
	fd = open_event(&attr);
	if (fd < 0)
		return fd == -EPERM ? -EACCES : open_error(fd);
	close(fd);
	return 0;
}

int vpmu_backend_perf(const struct vpmu_perf_options *options, struct vpmu_backend *ret)
{
	struct perf_backend *backend;
	enum host_vendor host = host_vendor();
	int err;

	if (options->size != sizeof(*options) || options->signal <= 0)
		return -EINVAL;
	err = probe(host, options->host_mode);
	if (err)
		return err;
	backend = calloc(1, sizeof(*backend));
	if (!backend)
		return -ENOMEM;
	backend->options = *options;
	backend->host = host;
	*ret = (struct vpmu_backend){ &perf_ops, backend };
	return 0;
}
