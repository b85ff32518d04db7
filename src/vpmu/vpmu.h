/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libvpmu: a performance monitoring unit for the guests of a VMM, out of perf events of the host.
 *
 * The VMM routes the guest's accesses to the PMU's registers here, brackets each entry into the
 * guest with vpmu_enter() and vpmu_exit(), and injects the interrupts that the library asks for.
 * doc/vpmu.md has an example, what the guest sees when the host is short of counters, and the
 * format of the saved state.
 *
 * Threads. A struct vpmu_vm may be used by any thread at any time; it locks. A struct vpmu
 * belongs to one vCPU: its functions are called by one thread at a time, and vpmu_enter(),
 * vpmu_exit(), vpmu_rdmsr(), vpmu_wrmsr(), vpmu_rdpmc() and vpmu_trigger() by the thread that
 * runs the vCPU, for the host's events count that thread. Between vpmu_enter() and vpmu_exit()
 * only vpmu_get_stats() is allowed. A vCPU may move to another thread: call vpmu_release_events()
 * on the old one, or after its end. Callbacks run in the thread that called the library, and must
 * not call it for the same vCPU.
 *
 * Errors are negative errno. Nothing here prints, exits, or changes signal handlers.
 */
#ifndef VPMU_VPMU_H
#define VPMU_VPMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VPMU_API __attribute__((visibility("default")))

/* ------------------------------------------------------------------ models */

enum vpmu_model {
	/* architectural performance monitoring, version 1: no global registers */
	VPMU_INTEL_V1 = 1,
	VPMU_INTEL_V2,		/* fixed counters, IA32_PERF_GLOBAL_* */
	VPMU_INTEL_V3,		/* AnyThread */
	VPMU_INTEL_V4,		/* GLOBAL_STATUS_RESET and _SET, GLOBAL_INUSE, CTR_Frz */
	VPMU_INTEL_V5,		/* bitmap of fixed counters, no AnyThread */
	VPMU_AMD_K7 = 16,	/* four counters at C001_0000 */
	/* PerfCtrExtCore: six at C001_0200, four of them at the old place, too */
	VPMU_AMD_CORE,
	VPMU_AMD_V2,		/* PerfMonV2: global registers at C000_0300 */
};

enum vpmu_vendor {
	VPMU_INTEL,
	VPMU_AMD,
};

#define VPMU_MAX_GP 16		/* general counters */
#define VPMU_MAX_FIXED 16	/* fixed counters: numbers, not all of which need exist */
#define VPMU_FIXED_SLOT 32	/* the first fixed counter's number among all counters */
#define VPMU_SLOTS (VPMU_FIXED_SLOT + VPMU_MAX_FIXED)

/*
 * Counters are numbered as the bits of IA32_PERF_GLOBAL_STATUS are: general counters from 0,
 * fixed ones from VPMU_FIXED_SLOT. Sets of counters are bit masks of that.
 */

enum {
	/* Intel: IA32_A_PMCx at 4C1H, told by IA32_PERF_CAPABILITIES.FW_WRITE. */
	VPMU_FULL_WIDTH = 1U << 0,
	/*
	 * The library keeps IA32_DEBUGCTL (AMD: DebugCtl) for FREEZE_PERFMON_ON_PMI, its only bit
	 * then: a write of another one is #GP. From Intel version 2 and in AMD PerfMonV2.
	 */
	VPMU_DEBUGCTL = 1U << 1,
};

/* What the guest's processor has. */
struct vpmu_geometry {
	enum vpmu_model model;
	unsigned int flags;		/* VPMU_FULL_WIDTH … */
	/* general counters; Intel: 1 to 10, AMD: 4, 6, 6 to 15 by model */
	unsigned int nr_gp;
	unsigned int gp_width;		/* bits, 32 to 48; AMD: 48 */
	/* fixed counters, one bit each; before version 5 without gaps */
	unsigned int fixed_mask;
	unsigned int fixed_width;	/* bits, 32 to 48 */
	/* Intel: architectural events there, bits as in CPUID.0AH:EBX */
	unsigned int arch_events;
};

/*
 * The usual geometry of @model: 2 general counters of 40 bits for version 1, 4 of 48 bits and 3
 * fixed ones for 2 to 4, 8 and 4 for 5. -EINVAL: no such model. Any thread.
 */
VPMU_API int vpmu_geometry_init(struct vpmu_geometry *geometry, enum vpmu_model model);

/*
 * Leaves out what is not in @events, a set of 1U << enum vpmu_arch_event, where CPUID can tell the
 * guest: of Intel's architectural events, and from version 5 on of the fixed counters. For backends
 * that count little: the guest's tools then say that an event is not supported, instead of 0. Any
 * thread.
 */
VPMU_API void vpmu_geometry_keep(struct vpmu_geometry *geometry, unsigned int events);

/* The model of that name ("intel-v2", "amd-core", …), for a command line. -ENOENT. Any thread. */
VPMU_API int vpmu_model_by_name(const char *name, enum vpmu_model *ret);

/* Its name; NULL: no such model. Any thread. */
VPMU_API const char *vpmu_model_name(enum vpmu_model model);

/* ---------------------------------------------------------------- backends */

/* Intel's architectural events by their bit in CPUID.0AH:EBX, and what fixed counter 2 counts. */
enum vpmu_arch_event {
	VPMU_EVENT_CYCLES,
	VPMU_EVENT_INSTRUCTIONS,
	VPMU_EVENT_REF_CYCLES,		/* at a fixed rate of the model's */
	VPMU_EVENT_LLC_REFERENCES,
	VPMU_EVENT_LLC_MISSES,
	VPMU_EVENT_BRANCHES,
	VPMU_EVENT_BRANCH_MISSES,
	VPMU_EVENT_SLOTS,		/* top-down slots */
	VPMU_EVENT_REF_TSC,		/* unhalted, at the TSC's rate */
	VPMU_NR_ARCH_EVENTS,
	VPMU_EVENT_RAW = VPMU_NR_ARCH_EVENTS,	/* none of these: known by its number only */
};

/* What one counter of the guest is to count. */
struct vpmu_event {
	enum vpmu_vendor vendor;	/* of the guest: whose numbers @raw has */
	enum vpmu_arch_event arch;	/* what it means whoever made the processor */
	/* select, unit mask, edge, invert, counter mask; where the register has them */
	uint64_t raw;
	bool fixed;			/* by a fixed counter; @raw is 0 then */
	bool user, kernel;		/* in which of the guest's modes */
	unsigned int slot;		/* the guest's counter: the place that it would like */
};

/* What an event has counted since it was opened. */
struct vpmu_count {
	/* as the host gives it; times enabled / running when that differs */
	uint64_t value;
	uint64_t enabled, running;	/* how long it was wanted, and was on a counter; any unit */
	bool mapped;			/* read from the mapped page, without a system call */
};

/*
 * How guest events are counted. One instance serves one VM; its vCPUs' parts are made by
 * vcpu_create(). All but the first two functions are called on the vCPU's thread (close() and
 * vcpu_destroy(): maybe after its end), with @slot < VPMU_SLOTS. Only what the guest does may
 * count.
 */
struct vpmu_backend_ops {
	size_t size;		/* sizeof(struct vpmu_backend_ops) of who compiled it */
	const char *name;
	/* Frees the instance, when its VM goes. May be NULL. */
	void (*destroy)(void *backend);
	/* 0 or negative errno. */
	int (*vcpu_create)(void *backend, unsigned int vcpu, void **ret_vcpu);
	void (*vcpu_destroy)(void *vcpu);
	/*
	 * Begins to count, so that the event overflows after @left (1 to 2^48) more. @pinned:
	 * always on a counter or in error; else it may take turns. 0; -EOPNOTSUPP: this host
	 * cannot count that; another error: it could, not now.
	 */
	int (*open)(void *vcpu, unsigned int slot, const struct vpmu_event *event, uint64_t left,
		    bool pinned);
	void (*close)(void *vcpu, unsigned int slot);
	/* Stops and goes on; the count stays. A stopped event holds no counter. */
	int (*pause)(void *vcpu, unsigned int slot);
	int (*resume)(void *vcpu, unsigned int slot);
	/* Overflow is now @left away. */
	int (*arm)(void *vcpu, unsigned int slot, uint64_t left);
	/*
	 * -EBUSY: a pinned event has lost its counter, or never had one, and has counted nothing.
	 */
	int (*read)(void *vcpu, unsigned int slot, struct vpmu_count *ret);
	/* Is it on a counter now? Which: *ret_index, -1 when that is not known. -EBUSY: on none. */
	int (*check)(void *vcpu, unsigned int slot, int *ret_index);
	/* Around guest mode. May be NULL. */
	void (*enter)(void *vcpu);
	void (*exit)(void *vcpu);
};

struct vpmu_backend {
	const struct vpmu_backend_ops *ops;
	void *self;
};

/* Options of the hardware backend. */
struct vpmu_perf_options {
	size_t size;		/* sizeof(struct vpmu_perf_options) */
	/*
	 * Sent to the vCPU's thread by an overflow: must make KVM_RUN return. The kernel sends
	 * SIGIO instead of a real-time signal for which it has no room (RLIMIT_SIGPENDING).
	 */
	int signal;
	/*
	 * Pass raw events of the host's own vendor through. The guest must then have been told
	 * the host's family and model. Else only events with a meaning of their own (enum
	 * vpmu_arch_event).
	 */
	bool raw;
	/*
	 * The guest is no KVM's: count what the vCPU's thread itself does, in the host's user and
	 * kernel mode, from vpmu_enter() to vpmu_exit(). Some of these two is in the counts.
	 */
	bool host_mode;
};

/*
 * Counting by the host's PMU, with perf events for the guest's mode only (but see host_mode).
 * -EOPNOTSUPP: the host has no PMU that does so, or a mediated vPMU has it (Linux 7.0); -EACCES:
 * perf is not for this user; -EINVAL. Any thread.
 */
VPMU_API int vpmu_backend_perf(const struct vpmu_perf_options *options, struct vpmu_backend *ret);

/* Options of the time backend. */
struct vpmu_time_options {
	size_t size;		/* sizeof(struct vpmu_time_options) */
	int signal;		/* sent to the vCPU's thread when an overflow is due; 0: no timer */
	uint64_t cycles_hz;	/* cycles a second of guest time */
	uint64_t ref_hz;	/* reference cycles a second; 0: those events are refused */
	/* For tests: nanoseconds that this thread has run; NULL: its CPU clock. */
	uint64_t (*clock)(void *context);
	void *clock_context;
};

/*
 * Counting without a PMU: the CPU time between vpmu_enter() and vpmu_exit() as cycles of a set
 * rate. KVM's own work for the guest within that time is in it. Only cycles and reference cycles,
 * and only for user and kernel mode together: the rest cannot be known and is refused. -EINVAL,
 * -ENOMEM. Any thread.
 */
VPMU_API int vpmu_backend_time(const struct vpmu_time_options *options, struct vpmu_backend *ret);

/* ---------------------------------------------------------------- the VM */

/* What to do with a counter of the guest for which the host has none. */
enum vpmu_policy {
	VPMU_POLICY_FAIL,	/* vpmu_enter() fails with -EBUSY: the guest must not run */
	/*
	 * All counters of the vCPU take turns, their counts are scaled by the time that they had,
	 * until vpmu_retry(), or none of those is left.
	 */
	VPMU_POLICY_MULTIPLEX,
	/*
	 * The host is asked (evict callback) to give up a counter of its own; if that does not
	 * help, the guest's counter stands still until the guest programs it anew, or
	 * vpmu_retry().
	 */
	VPMU_POLICY_EVICT,
};

enum vpmu_report_kind {
	VPMU_REPORT_REFUSED,	/* the backend cannot count that event */
	VPMU_REPORT_DENIED,	/* the VM's filter does not allow it */
	VPMU_REPORT_BUSY,	/* not on a counter of the host at entry */
	VPMU_REPORT_LOST,	/* was on a counter at entry, not at exit: counts are missing */
	VPMU_REPORT_MULTIPLEXED,	/* takes turns from now on */
	VPMU_REPORT_EVICTED,	/* stands still from now on */
	VPMU_REPORT_LIMIT,	/* max_events reached; then BUSY's way */
};

struct vpmu_report {
	enum vpmu_report_kind kind;
	unsigned int vcpu;
	unsigned int slot;	/* the guest's counter */
	struct vpmu_event event;
	int error;		/* what the host said, negative errno; 0 */
};

/* What a kind of report is called. Any thread. */
VPMU_API const char *vpmu_report_name(enum vpmu_report_kind kind);

struct vpmu_vm_options {
	size_t size;			/* sizeof(struct vpmu_vm_options) */
	struct vpmu_geometry geometry;
	struct vpmu_backend backend;	/* owned by the VM when vpmu_vm_create() succeeds */
	enum vpmu_policy policy;
	unsigned int max_events;	/* host events open at once in this VM; 0: 4096 */
	/*
	 * Told once each time that it begins, not at every entry. On the vCPU's thread; may be
	 * NULL.
	 */
	void (*log)(void *context, const struct vpmu_report *report);
	/* Give up a counter of the host for this. True: try again. May be NULL. */
	bool (*evict)(void *context, const struct vpmu_report *report);
	void *context;
};

struct vpmu_vm;

/*
 * -EINVAL: the geometry is none that a processor has, or an option makes no sense; -ENOMEM. Any
 * thread.
 */
VPMU_API int vpmu_vm_create(const struct vpmu_vm_options *options, struct vpmu_vm **ret);

/* After all of its vCPUs. NULL is fine. Any thread. */
VPMU_API void vpmu_vm_destroy(struct vpmu_vm *vm);

/* From the next entries on. -EINVAL. Any thread. */
VPMU_API int vpmu_vm_set_policy(struct vpmu_vm *vm, enum vpmu_policy policy);

#define VPMU_FILTER_MAX 300	/* events, as KVM has it */

enum { VPMU_FILTER_ALLOW, VPMU_FILTER_DENY };	/* as KVM_PMU_EVENT_ALLOW, … */
#define VPMU_FILTER_MASKED 1U			/* as KVM_PMU_EVENT_FLAG_MASKED_EVENTS */

/* struct kvm_pmu_event_filter of KVM_SET_PMU_EVENT_FILTER, with a pointer to its events. */
struct vpmu_filter {
	uint32_t action;
	uint32_t nr;
	uint32_t fixed_bitmap;
	uint32_t flags;
	const uint64_t *events;
};

/*
 * Which events the guest may count, with KVM's semantics; NULL: all. Each vCPU follows at its
 * next entry: what has become denied stops, what has become allowed starts. -EINVAL: an action or
 * flag that is none, bits in a masked entry that have no meaning; -E2BIG. @filter is copied. Any
 * thread.
 */
VPMU_API int vpmu_vm_set_filter(struct vpmu_vm *vm, const struct vpmu_filter *filter);

/*
 * Whose PMU it is. Guests look for it on processors of that vendor only: CPUID has to say so where
 * the host's is another. Any thread.
 */
VPMU_API enum vpmu_vendor vpmu_vm_vendor(const struct vpmu_vm *vm);

/*
 * What CPUID says: changes the registers (eax, ebx, ecx, edx) of @leaf, @subleaf where they
 * concern performance monitoring. PEBS, LBR, PT, IBS, northbridge and cache counters are taken
 * out. True: changed. Call it for each leaf that the guest has, and for 0AH (Intel), 8000_0022H
 * (AMD). Any thread.
 */
VPMU_API bool vpmu_vm_cpuid(const struct vpmu_vm *vm, uint32_t leaf, uint32_t subleaf,
			    uint32_t regs[4]);

/*
 * Is the leaf one that the guest needs, which a VMM has to add where its table lacks it? Any
 * thread.
 */
VPMU_API bool vpmu_vm_cpuid_needs(const struct vpmu_vm *vm, uint32_t leaf);

struct vpmu_msr_range {
	uint32_t base, nr;
};

#define VPMU_MAX_RANGES 8	/* of any geometry's registers */

/*
 * The registers that the VMM has to route to vpmu_rdmsr() and vpmu_wrmsr(), also those that would
 * only fault. Returns how many ranges there are, at most VPMU_MAX_RANGES, of which up to @max are
 * stored. Any thread.
 */
VPMU_API unsigned int vpmu_vm_msrs(const struct vpmu_vm *vm, struct vpmu_msr_range *ranges,
				   unsigned int max);

/* ---------------------------------------------------------------- a vCPU */

struct vpmu;

/* In the state after RESET. @id is for reports. -ENOMEM, and what the backend says. Any thread. */
VPMU_API int vpmu_create(struct vpmu_vm *vm, unsigned int id, struct vpmu **ret);

/* NULL is fine. Any thread, when the vCPU does not run. */
VPMU_API void vpmu_destroy(struct vpmu *vpmu);

/* RESET: all registers as after power-up, a pending interrupt gone. INIT leaves a PMU as it is. */
VPMU_API void vpmu_reset(struct vpmu *vpmu);

/*
 * Closes the host's events; the next entry opens them again. Counts stay. Any thread, vCPU
 * stopped.
 */
VPMU_API void vpmu_release_events(struct vpmu *vpmu);

/* What becomes of a guest's access. */
enum vpmu_access {
	VPMU_OK,
	VPMU_GP,	/* inject #GP(0); *ret is untouched */
	VPMU_UNKNOWN,	/* no register of this model's: whoever else may know it */
};

/* RDMSR of register @msr. vCPU's thread. */
VPMU_API enum vpmu_access vpmu_rdmsr(struct vpmu *vpmu, uint32_t msr, uint64_t *ret);

/* WRMSR. Takes effect on counting with the next vpmu_enter(). vCPU's thread. */
VPMU_API enum vpmu_access vpmu_wrmsr(struct vpmu *vpmu, uint32_t msr, uint64_t value);

/*
 * RDPMC with @ecx. @allowed: CPL 0, CR4.PCE or real mode; else it is #GP. A running counter is read
 * from perf's mapped page where the host maps it (stats: rdpmc_mapped). vCPU's thread.
 */
VPMU_API enum vpmu_access vpmu_rdpmc(struct vpmu *vpmu, uint32_t ecx, bool allowed, uint64_t *ret);

/* Sets of counters, at entry. */
struct vpmu_entry {
	uint64_t counting;	/* on counters of the host */
	uint64_t missing;	/* active, and the host has no counter for them */
	uint64_t denied;	/* active, not allowed by the filter */
	uint64_t refused;	/* active, not countable on this host */
};

/*
 * Right before KVM_RUN: every active counter is brought onto the host's PMU. 0: as *ret says
 * (which may be NULL); -EBUSY under VPMU_POLICY_FAIL: ret->missing is not empty, do not enter the
 * guest. -EINVAL: is entered already. Allocates no memory; opens and closes perf events if the
 * guest has programmed something since. vCPU's thread.
 */
VPMU_API int vpmu_enter(struct vpmu *vpmu, struct vpmu_entry *ret);

/* Sets of counters, at exit. */
struct vpmu_exit {
	uint64_t overflowed;	/* since entry, or by vpmu_trigger() before */
	uint64_t lost;		/* counts of this time in the guest are missing */
	bool pmi;		/* an interrupt is pending: call vpmu_pmi() before the next entry */
};

/*
 * Right after KVM_RUN, before the exit is served. Does nothing when not entered. @ret may be
 * NULL.
 */
VPMU_API void vpmu_exit(struct vpmu *vpmu, struct vpmu_exit *ret);

enum vpmu_pmi_kind {
	VPMU_PMI_NONE,		/* none pending, or masked: then it is gone, and counted */
	VPMU_PMI_NMI,
	VPMU_PMI_VECTOR,	/* fixed delivery of ret->vector */
	VPMU_PMI_SMI,		/* for VMMs that can */
	/* a delivery mode that a PMI cannot have, or a vector below 16; it is gone */
	VPMU_PMI_INVALID,
};

struct vpmu_pmi {
	enum vpmu_pmi_kind kind;
	uint8_t vector;
	uint32_t lvtpc;		/* the register's new value; Intel's processors set the mask bit */
};

/*
 * Takes the pending interrupt, whose way is what the local APIC's LVT performance counter register,
 * @lvtpc, says. However many counters overflowed, it is one. vCPU stopped or its thread.
 */
VPMU_API void vpmu_pmi(struct vpmu *vpmu, uint32_t lvtpc, struct vpmu_pmi *ret);

/*
 * The VMM has emulated something that counts, as instructions are that it executes for the guest:
 * @n more of @event in user (@user) or kernel mode, for the counters that are active and allowed.
 * vCPU's thread.
 */
VPMU_API void vpmu_trigger(struct vpmu *vpmu, enum vpmu_arch_event event, bool user, uint64_t n);

/* Counters that stand still (evicted) or take turns are tried again, pinned, at the next entry. */
VPMU_API void vpmu_retry(struct vpmu *vpmu);

struct vpmu_stats {
	uint64_t entries;		/* vpmu_enter() that succeeded */
	uint64_t entries_refused;	/* that returned -EBUSY */
	uint64_t opened;		/* host events */
	uint64_t refused, denied;	/* times that a counter was programmed in vain */
	uint64_t busy, lost, multiplexed, evicted, limit;	/* as the reports of those names */
	/* times that a general counter is on another number than in the guest */
	uint64_t elsewhere;
	uint64_t overflows;		/* of counters */
	uint64_t pmis;			/* interrupts taken by vpmu_pmi(): sum of the next three */
	uint64_t pmis_delivered, pmis_masked, pmis_invalid;
	uint64_t rdpmc_mapped, rdpmc_model;	/* RDPMC by where it was read */
	uint64_t faults;		/* #GP results */
	uint64_t open_now;		/* host events of this vCPU */
};

/* @size: sizeof(*ret), of who compiled it. Any thread; between entry and exit, too. */
VPMU_API void vpmu_get_stats(const struct vpmu *vpmu, struct vpmu_stats *ret, size_t size);

/* ------------------------------------------------------------------- state */

#define VPMU_STATE_MAX 1024	/* bytes that a saved state has at most */

/*
 * Writes registers, counts and a pending interrupt to @buffer, as doc/vpmu.md says. Returns the
 * number of bytes; -ENOSPC: @size is too small (VPMU_STATE_MAX is not); -EBUSY: entered. vCPU
 * stopped.
 */
VPMU_API int vpmu_save(const struct vpmu *vpmu, void *buffer, size_t size);

/*
 * Takes a state that vpmu_save() wrote, on this host or another, for the same geometry. Policy,
 * filter and statistics are the new VM's own. On error nothing has changed: -ENODATA: it is cut
 * off; -EBADMSG: it is no state, or has bits that no guest can have set; -EOPNOTSUPP: another
 * geometry or a later version; -EBUSY: entered. vCPU stopped.
 */
VPMU_API int vpmu_restore(struct vpmu *vpmu, const void *buffer, size_t size);

/* --------------------------------------------------- who has the counters */

/* One who may hold counters of the host's PMU. */
struct vpmu_holder {
	int pid;		/* 0: the kernel's NMI watchdog, one counter of each CPU */
	char name[16];
	unsigned int nr_events;	/* perf events that it has open; not all need a counter */
};

/*
 * Tells whose perf events may be in the way: the kernel does not say which counter an event is
 * on. Looks through /proc, of which @root is the folder (NULL: /proc): slow, not for the way into
 * the guest. Returns how many there are, of which up to @max are stored, most events first;
 * negative errno. Any thread.
 */
VPMU_API int vpmu_holders(const char *root, struct vpmu_holder *holders, unsigned int max);

#ifdef __cplusplus
}
#endif

#endif
