/* SPDX-License-Identifier: GPL-2.0-only */
/* perf's event syntax, as much of it as makes sense for events that a guest causes. */
#include "capture/events.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/pmu.h"

struct event_name {
	const char *name;
	u64 config;
};

static const struct event_name hardware_events[] = {
	{ "cycles", PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES },
};

static const struct event_name software_events[] = {
	{ "cpu-clock", PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_COUNT_SW_CPU_MIGRATIONS },
};

static const struct event_name cache_units[] = {
	{ "L1-dcache", PERF_COUNT_HW_CACHE_L1D }, { "l1d", PERF_COUNT_HW_CACHE_L1D },
	{ "L1-icache", PERF_COUNT_HW_CACHE_L1I }, { "l1i", PERF_COUNT_HW_CACHE_L1I },
	{ "LLC", PERF_COUNT_HW_CACHE_LL },	  { "L2", PERF_COUNT_HW_CACHE_LL },
	{ "dTLB", PERF_COUNT_HW_CACHE_DTLB },	  { "iTLB", PERF_COUNT_HW_CACHE_ITLB },
	{ "branch", PERF_COUNT_HW_CACHE_BPU },	  { "node", PERF_COUNT_HW_CACHE_NODE },
};

#define CACHE_OP(op, result) \
	((u64)PERF_COUNT_HW_CACHE_OP_##op << 8 | (u64)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct event_name cache_ops[] = {
	{ "loads", CACHE_OP(READ, ACCESS) },
	{ "load-misses", CACHE_OP(READ, MISS) },
	{ "stores", CACHE_OP(WRITE, ACCESS) },
	{ "store-misses", CACHE_OP(WRITE, MISS) },
	{ "prefetches", CACHE_OP(PREFETCH, ACCESS) },
	{ "prefetch-misses", CACHE_OP(PREFETCH, MISS) },
};

static const struct event_name *find_name(const struct event_name *names, size_t nr,
					  const char *text)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(names[i].name, text))
			return &names[i];
	}
	return NULL;
}
#define FIND_NAME(names, text) find_name(names, ARRAY_SIZE(names), text)

static int set_hardware(const char *text, struct capture_event *event)
{
	const struct event_name *name = FIND_NAME(hardware_events, text);

	if (!name)
		return -ENOENT;
	event->type = PERF_TYPE_HARDWARE;
	event->config = name->config;
	return 0;
}

static int set_software(const char *text, struct capture_event *event)
{
	const struct event_name *name = FIND_NAME(software_events, text);

	if (!name)
		return -ENOENT;
	event->type = PERF_TYPE_SOFTWARE;
	event->config = name->config;
	event->host_side = name->config != PERF_COUNT_SW_CPU_CLOCK &&
			   name->config != PERF_COUNT_SW_TASK_CLOCK;
	return 0;
}

/* UNIT-OP, as in L1-dcache-load-misses. */
static int set_cache(const char *text, struct capture_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(cache_units); i++) {
		size_t len = strlen(cache_units[i].name);
		const struct event_name *op;

		if (strncmp(text, cache_units[i].name, len) || text[len] != '-')
			continue;
		op = FIND_NAME(cache_ops, text + len + 1);
		if (!op)
			continue;
		event->type = PERF_TYPE_HW_CACHE;
		event->config = cache_units[i].config | op->config;
		return 0;
	}
	return -ENOENT;
}

/* rNNN, up to 16 hexadecimal digits. */
static int set_raw(const char *text, struct capture_event *event)
{
	size_t digits = strspn(text + 1, "0123456789abcdefABCDEF");

	if (text[0] != 'r' || !digits || digits > 16 || text[1 + digits])
		return -ENOENT;
	event->type = PERF_TYPE_RAW;
	event->config = strtoull(text + 1, NULL, 16);
	return 0;
}

/* SUBSYSTEM:NAME. */
static int set_tracepoint(const struct event_source *source, const char *text,
			  struct capture_event *event)
{
	_cleanup_free_ char *data = NULL;
	char path[PATH_MAX];
	char *end;
	int err;

	if (strstr(text, "..") || strchr(text, '/'))
		return -EBADMSG;
	if (snprintf(path, sizeof(path), "%s/events/%s/id", source->tracefs, text) >=
	    (int)sizeof(path))
		return -ENOENT;
	*strrchr(path, ':') = '/';
	err = file_read(AT_FDCWD, path, 64, &data, NULL);
	if (err)
		return err;
	event->config = strtoull(data, &end, 10);
	if (end == data)
		return -ENOENT;
	event->type = PERF_TYPE_TRACEPOINT;
	event->tracepoint = true;
	event->host_side = true;
	event->period = 1;
	event->freq = 0;
	return 0;
}

/* Letters behind the last colon. */
static int set_modifiers(const char *text, struct capture_event *event)
{
	bool user = false, kernel = false;

	for (; *text; text++) {
		switch (*text) {
		case 'u':
			user = true;
			break;
		case 'k':
			kernel = true;
			break;
		case 'G':	/* in the guest: always */
		case 'h':	/* in a hypervisor: the guest knows none */
			break;
		case 'H':	/* in the host: never */
		case 'p':	/* precise, grouped, pinned: not for a guest from outside */
		case 'P':
		case 'D':
		case 'S':
		case 'e':
		case 'W':
			return -EOPNOTSUPP;
		default:
			return -EBADMSG;
		}
	}
	if (user != kernel) {
		event->exclude_user = kernel;
		event->exclude_kernel = user;
	}
	return 0;
}

static int set_plain(const char *name, struct capture_event *event)
{
	int err = set_hardware(name, event);

	if (err == -ENOENT)
		err = set_software(name, event);
	if (err == -ENOENT)
		err = set_cache(name, event);
	if (err == -ENOENT)
		err = set_raw(name, event);
	return err;
}

/* @name is without modifiers. */
static int set_event(const struct event_source *source, const char *name,
		     struct capture_event *event)
{
	if (!*name)
		return -EBADMSG;
	if (strchr(name, '/'))
		return pmu_event_parse(source->sysfs, name, event);
	return set_plain(name, event);
}

/* A colon divides a tracepoint, or introduces modifiers: what is no tracepoint has the latter. */
static int parse_named(const struct event_source *source, const char *text,
		       struct capture_event *event)
{
	const char *slash = strrchr(text, '/');
	const char *colon = strrchr(slash ? slash : text, ':');
	char name[sizeof(event->name)];
	int err;

	if (!slash && colon) {
		err = set_tracepoint(source, text, event);
		if (err != -ENOENT)
			return err;
	}
	if (!colon)
		return set_event(source, text, event);
	memcpy(name, text, colon - text);
	name[colon - text] = '\0';
	err = set_event(source, name, event);
	return err ? err : set_modifiers(colon + 1, event);
}

/*
 * KVM can be set to give the whole PMU to guests (Linux 7.0). A host event that counts in guests
 * then keeps new VMs from starting.
 */
static bool vpmu_is_mediated(const struct event_source *source)
{
	static const char *const modules[] = { "kvm_amd", "kvm_intel" };

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		_cleanup_free_ char *data = NULL;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/module/%s/parameters/enable_mediated_pmu",
			 source->sysfs, modules[i]);
		if (!file_read(AT_FDCWD, path, 16, &data, NULL) &&
		    (data[0] == 'Y' || data[0] == '1'))
			return true;
	}
	return false;
}

static const char *no_cycles_reason(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return "this host has no hardware cycle counter";
	case -EOPNOTSUPP:
		return "this host's hardware cycle counter cannot sample guests";
	case -EACCES:
	case -EPERM:
		return "hardware cycles are not permitted here";
	case -EBUSY:
		return "the hardware counters are taken";
	default:
		return "hardware cycles in guest mode do not work here";
	}
}

static int set_default(const struct event_source *source, struct capture_event *event,
		       const char **ret_why)
{
	struct perf_event_attr attr;
	int err;

	set_hardware("cycles", event);
	event->exclude_host = true;
	event_fill_attr(event, &attr);
	if (vpmu_is_mediated(source)) {
		*ret_why = "the PMU is reserved for guests (mediated vPMU)";
	} else {
		err = source->probe(&attr);
		if (!err) {
			snprintf(event->name, sizeof(event->name), "cycles");
			*ret_why = "hardware cycles in guest mode";
			return 0;
		}
		*ret_why = no_cycles_reason(err);
	}
	set_software("cpu-clock", event);
	event->exclude_host = false;
	snprintf(event->name, sizeof(event->name), "cpu-clock");
	return 0;
}

static bool is_hardware(const struct capture_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT;
}

int events_parse(const struct event_source *source, const char *text, struct capture_event *ret,
		 const char **ret_why)
{
	struct capture_event event = { .freq = EVENT_DEFAULT_FREQ };
	const char *why = "asked for";
	int err;

	if (!text || !*text) {
		err = set_default(source, &event, &why);
	} else {
		if (strlen(text) >= sizeof(event.name))
			return -E2BIG;
		memcpy(event.name, text, strlen(text) + 1);
		err = parse_named(source, text, &event);
		event.exclude_host = is_hardware(&event);
	}
	if (err)
		return err;
	*ret = event;
	*ret_why = why;
	return 0;
}

static int probe_event(const struct perf_event_attr *attr)
{
	int fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int capture_event_parse(const char *text, struct capture_event *ret, const char **ret_why)
{
	struct event_source source = {
		.sysfs = "/sys",
		.tracefs = "/sys/kernel/tracing",
		.probe = probe_event,
	};

	if (access("/sys/kernel/tracing/events", F_OK))
		source.tracefs = "/sys/kernel/debug/tracing";
	return events_parse(&source, text, ret, ret_why);
}

/*
 * Software events are told apart by the host's registers, which are in the kernel when a guest
 * runs: whether the guest was in user mode is looked at later, in the sample.
 */
void event_fill_attr(const struct capture_event *event, struct perf_event_attr *ret_attr)
{
	*ret_attr = (struct perf_event_attr){
		.type = event->type,
		.size = sizeof(*ret_attr),
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.disabled = 1,
		.exclude_hv = 1,
	};
	if (is_hardware(event)) {
		ret_attr->exclude_host = event->exclude_host;
		ret_attr->exclude_user = event->exclude_user;
		ret_attr->exclude_kernel = event->exclude_kernel;
	}
	if (event->period) {
		ret_attr->sample_period = event->period;
	} else {
		ret_attr->freq = 1;
		ret_attr->sample_freq = event->freq ? event->freq : EVENT_DEFAULT_FREQ;
	}
}
