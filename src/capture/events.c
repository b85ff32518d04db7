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
#include "capture/pmu.h"
#include "capture/trace-filter.h"
#include "capture/tracepoint.h"

#define EVENT_TEXT_MAX 256	/* of one event with its terms */

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

bool event_is_clock(const struct capture_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						     event->config == PERF_COUNT_SW_TASK_CLOCK);
}

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
	event->host_side = !event_is_clock(event);
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

/* Events of the host's kernel, on whose way the guest stands still. */
static void set_tracepoint(u64 id, struct capture_event *event)
{
	event->type = PERF_TYPE_TRACEPOINT;
	event->config = id;
	event->tracepoint = true;
	event->host_side = true;
	if (!event->rated) {
		event->period = 1;
		event->freq = 0;
	}
}

#define NO_GROUPS "of a group's order (S, e, W) nothing is to be had here: leave the letter out"

/* What is wrong with each letter that perf takes and we do not; NULL: none of perf's. */
static const char *modifier_why(char letter)
{
	switch (letter) {
	case 'H':
		return "what the host does (H) is for perf record: leave out H";
	case 'p':
	case 'P':
		return "precise events (p, P) are not for a guest from outside: leave out p";
	case 'h':
		return "a guest's hypervisor (h) is the host, which perf record samples: "
		       "leave out h, or add u or k";
	case 'S':
	case 'e':
	case 'W':
		return NO_GROUPS;
	case 'D':
		return "an event that is pinned (D) keeps others from the counter: leave out D";
	case 'I':
	case 'b':
	case 'R':
	case 'X':
		return "this letter is for perf's own counting: leave it out";
	default:
		return NULL;
	}
}

/* What a letter cannot mean for an event that is counted; @letters are all of its. NULL: fine. */
static const char *counting_why(const struct capture_event *event, const char *letters)
{
	bool modes = strpbrk(letters, "uk");

	if (modes && event_is_clock(event))
		return "the clock of a thread does not stop by mode: leave out u and k";
	if (modes && event->tracepoint)
		return "a tracepoint is in the host's kernel: leave out u and k";
	if (event->host_side && strchr(letters, 'G') && !strchr(letters, 'H'))
		return "it happens in the host, never in guest mode: leave out G";
	return NULL;
}

/* As with perf, G and H together are no restriction. */
static void set_counting(const char *letters, struct capture_event *event)
{
	bool guest = strchr(letters, 'G'), host = strchr(letters, 'H');

	event->only_guest = guest && !host;
	event->only_host = host && !guest;
	event->pinned = strchr(letters, 'D');
}

/*
 * Letters behind an event. Of one that is sampled G, in the guest, is what we do in any case; one
 * that is counted is counted in both modes.
 */
static int set_modifiers(const char *text, bool counting, struct capture_event *event,
			 const char **ret_why)
{
	bool user = strchr(text, 'u'), kernel = strchr(text, 'k');

	if (counting) {
		*ret_why = counting_why(event, text);
		if (*ret_why)
			return -EOPNOTSUPP;
		set_counting(text, event);
	}
	for (; *text; text++) {
		if (strchr(counting ? "ukGHD" : "ukG", *text) ||
		    (*text == 'h' && (user || kernel)))
			continue;
		*ret_why = modifier_why(*text);
		if (*ret_why)
			return -EOPNOTSUPP;
		*ret_why = "a letter behind it is none of perf's modifiers: u is the guest's user "
			   "mode, k its kernel";
		return -EBADMSG;
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

/* One event as it is written: HEAD, HEAD/TERMS/, either with modifiers. */
struct event_text {
	char head[EVENT_TEXT_MAX];
	char terms[EVENT_TEXT_MAX];
	bool has_terms;
	const char *modifiers;
};

static int copy_part(char *to, const char *from, size_t len)
{
	if (len >= EVENT_TEXT_MAX)
		return -E2BIG;
	memcpy(to, from, len);
	to[len] = '\0';
	return 0;
}

/* With terms, modifiers come behind the second slash, with a colon or without. */
static int split_terms(const char *text, struct event_text *ret)
{
	const char *slash = strchr(text, '/'), *end = strchr(slash + 1, '/');
	int err;

	if (!end || end == text + 1)
		return -EBADMSG;
	err = copy_part(ret->head, text, slash - text);
	if (!err)
		err = copy_part(ret->terms, slash + 1, end - slash - 1);
	ret->has_terms = true;
	ret->modifiers = end[1] == ':' ? end + 2 : end + 1;
	return err;
}

/* Whether @colon, the last one in @text, divides a tracepoint: else modifiers come behind it. */
static bool is_tracepoint(const struct event_source *source, const char *text, const char *colon)
{
	if (tracepoint_is_pattern(text))
		return strchr(text, ':') == colon;
	return tracepoint_exists(source->tracefs, text);
}

static int split_event(const struct event_source *source, const char *text,
		       struct event_text *ret)
{
	const char *colon = strrchr(text, ':');

	*ret = (struct event_text){ .modifiers = "" };
	if (strchr(text, '/'))
		return split_terms(text, ret);
	if (!colon || is_tracepoint(source, text, colon))
		return copy_part(ret->head, text, strlen(text));
	ret->modifiers = colon + 1;
	return copy_part(ret->head, text, colon - text);
}

static const char *text_why(int err)
{
	switch (err) {
	case -ENOENT:
		return "this host has no such event (see `perf list`)";
	case -EBADMSG:
		return "not perf's event syntax (see `perf list`)";
	case -EOPNOTSUPP:
		return "the PMU describes a field of a kind that is not known";
	case -EACCES:
	case -EPERM:
		return "tracefs is not to be read: not root";
	case -E2BIG:
		return "it is too long (name=NAME is a shorter name), or a value does not fit";
	default:
		return NULL;
	}
}

static int set_event(const struct event_source *source, const struct event_text *text,
		     struct capture_event *event)
{
	int err = text->has_terms ? -ENOENT : set_plain(text->head, event);

	if (!text->has_terms)
		return err;
	if (pmu_exists(source->sysfs, text->head))
		return pmu_event_parse(source->sysfs, text->head, text->terms, event);
	err = set_plain(text->head, event);
	return err ? err : pmu_common_parse(text->terms, event);
}

static int push_event(struct capture_events *events, const struct capture_event *event,
		      const char **ret_why)
{
	if (events->list.nr >= WIRE_MAX_EVENTS) {
		*ret_why = "too many events (128 at most)";
		return -E2BIG;
	}
	return vec_push(&events->list, *event);
}

/* What tracepoints_find() calls with each. */
struct found_arg {
	const char *tracefs;
	struct capture_events *events;
	struct capture_event event;	/* with everything that is not the tracepoint's */
	const char *why;
};

static void free_texts(struct capture_event *event)
{
	free(event->point);
	free(event->format);
	free(event->filter);
}

static int on_tracepoint_found(const char *name, u64 id, void *arg)
{
	struct found_arg *found = arg;
	struct capture_event event = found->event;
	int err;

	set_tracepoint(id, &event);
	if (!*event.name)
		snprintf(event.name, sizeof(event.name), "%s", name);
	event.point = strdup(name);
	err = event.point ? tracepoint_format(found->tracefs, name, &event.format) : -ENOMEM;
	if (!err)
		err = push_event(found->events, &event, &found->why);
	if (err)
		free_texts(&event);
	return err;
}

/* Those that a pattern finds have each its own name, if the terms do not give them all one. */
static int add_tracepoints(const struct event_source *source, const struct event_text *text,
			   const struct capture_event *event, struct capture_events *events,
			   const char **ret_why)
{
	struct found_arg found = { .tracefs = source->tracefs, .events = events, .event = *event };
	int err;

	if (tracepoint_is_pattern(text->head))
		found.event.name[0] = '\0';
	err = text->has_terms ? pmu_common_parse(text->terms, &found.event) : 0;
	if (!err)
		err = tracepoints_find(source->tracefs, text->head, on_tracepoint_found, &found);
	*ret_why = found.why && err ? found.why : text_why(err);
	return err;
}

bool event_is_hardware(const struct capture_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT;
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

static const char why_no_counter[] = "this host has no hardware counter for it";

/*
 * Since Linux 7.0 -EOPNOTSUPP is also what a guest's event gets while the PMU is a VM's own
 * (mediated_pmu_account_event() in kernel/events/core.c).
 */
const char *event_refusal_text(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return why_no_counter;
	case -EOPNOTSUPP:
		return "this host's hardware counters cannot sample guests, or are guests' own";
	case -EACCES:
	case -EPERM:
		return "hardware counters are not permitted here";
	case -EBUSY:
		return "the hardware counters are taken";
	default:
		return "hardware events in guest mode do not work here";
	}
}

static const char why_mediated[] =
	"the PMU is reserved for guests (mediated vPMU), and an open hardware event would keep new "
	"ones from starting: -e cpu-clock, or a tracepoint, works";

/* One that is not to be had in guests may still count in the host, and the others beside it. */
static void check_counting(const struct event_source *source, struct capture_event *event)
{
	if (event_is_hardware(event) && vpmu_is_mediated(source))
		event->guest_why = why_mediated;
}

/*
 * Whether a hardware event works here. Where the PMU is guests' own it is not even tried: an event
 * that is open keeps new VMs from starting.
 */
static int check_event(const struct event_source *source, const struct capture_event *event,
		       const char **ret_why)
{
	struct perf_event_attr attr;
	int err;

	if (!event_is_hardware(event))
		return 0;
	*ret_why = why_mediated;
	if (vpmu_is_mediated(source))
		return -EOPNOTSUPP;
	event_fill_attr(event, &attr);
	err = source->probe(&attr);
	if (err)
		*ret_why = event_refusal_text(err);
	return err;
}

/* The kernel makes it less when it finds that sampling takes too long. */
static u64 max_freq(const struct event_source *source)
{
	_cleanup_free_ char *data = NULL;
	char path[PATH_MAX];
	u64 freq = 0;

	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_max_sample_rate", source->proc);
	if (!file_read(AT_FDCWD, path, 32, &data, NULL))
		freq = strtoull(data, NULL, 10);
	return freq ? freq : UINT64_MAX;
}

/* As often as was asked for, else as the kernel allows. */
static struct capture_event new_event(const struct event_source *source,
				      const struct capture_events *events)
{
	struct capture_event event = { .period = events->period, .freq = events->freq };

	event.rated = event.period || event.freq;
	if (!event.rated)
		event.freq = MIN(max_freq(source), (u64)EVENT_DEFAULT_FREQ);
	return event;
}

/* Of what perf_event_open() would only say that it is invalid. */
static int check_freq(const struct event_source *source, const struct capture_event *event,
		      const char **ret_why)
{
	if (event->period || event->freq <= max_freq(source))
		return 0;
	*ret_why = "more samples a second than kernel.perf_event_max_sample_rate allows: "
		   "ask for fewer (-F), or for one every so many events (-c)";
	return -EINVAL;
}

static int add_event(const struct event_source *source, const char *text,
		     struct capture_events *events, const char **ret_why)
{
	struct capture_event event = new_event(source, events);
	struct event_text parts;
	int err = split_event(source, text, &parts);

	if (!err && !*parts.head)
		err = -EBADMSG;
	*ret_why = text_why(err);
	if (err)
		return err;
	snprintf(event.name, sizeof(event.name), "%s", text);
	if (strchr(parts.head, ':')) {
		event.tracepoint = event.host_side = true;
		err = set_modifiers(parts.modifiers, events->counting, &event, ret_why);
		return err ? err : add_tracepoints(source, &parts, &event, events, ret_why);
	}
	err = set_event(source, &parts, &event);
	if (!err && !strncmp(event.name, text, sizeof(event.name) - 1) &&
	    strlen(text) >= sizeof(event.name))
		err = -E2BIG;
	*ret_why = text_why(err);
	if (err)
		return err;
	event.exclude_host = event_is_hardware(&event);
	err = set_modifiers(parts.modifiers, events->counting, &event, ret_why);
	if (!err && events->counting) {
		check_counting(source, &event);
	} else {
		err = err ?: check_freq(source, &event, ret_why);
		err = err ?: check_event(source, &event, ret_why);
	}
	return err ? err : push_event(events, &event, ret_why);
}

static int set_default(const struct event_source *source, struct capture_event *event,
		       const char **ret_why)
{
	set_hardware("cycles", event);
	event->exclude_host = true;
	if (!check_event(source, event, ret_why)) {
		snprintf(event->name, sizeof(event->name), "cycles");
		*ret_why = "hardware cycles in guest mode";
		return 0;
	}
	/* What is said of an event that was asked for would read as if it were of cpu-clock. */
	if (*ret_why == why_no_counter)
		*ret_why = "this host has no hardware counter for cycles";
	set_software("cpu-clock", event);
	event->exclude_host = false;
	snprintf(event->name, sizeof(event->name), "cpu-clock");
	return 0;
}

/* The end of the first event in @text: at a comma that is not between slashes. */
static const char *event_end(const char *text)
{
	bool terms = false;

	for (; *text && (terms || *text != ','); text++)
		terms ^= *text == '/';
	return text;
}

static int add_list(const struct event_source *source, const char *text,
		    struct capture_events *events, const char **ret_why)
{
	for (;;) {
		const char *end = event_end(text);
		size_t len = MIN((size_t)(end - text), sizeof(events->wrong) - 1);
		char item[EVENT_TEXT_MAX];
		int err = -E2BIG;

		memcpy(events->wrong, text, len);
		events->wrong[len] = '\0';
		*ret_why = text_why(err);
		events->last = events->list.nr;
		if ((size_t)(end - text) < sizeof(item)) {
			memcpy(item, text, end - text);
			item[end - text] = '\0';
			err = add_event(source, item, events, ret_why);
		}
		if (err || !*end)
			return err;
		text = end + 1;
	}
}

int events_add(const struct event_source *source, const char *text,
	       struct capture_events *events, const char **ret_why)
{
	snprintf(events->wrong, sizeof(events->wrong), "%s", text);
	*ret_why = "groups ({…}) of events are not to be had here: leave out the braces";
	if (strpbrk(text, "{}"))
		return -EOPNOTSUPP;
	return add_list(source, text, events, ret_why);
}

/* Both have to let a hit pass. */
static int join_filters(struct capture_event *event, const char *filter)
{
	char *joined = NULL;
	int n = event->filter ? asprintf(&joined, "(%s) && (%s)", event->filter, filter) :
				asprintf(&joined, "%s", filter);

	if (n < 0)
		return -ENOMEM;
	free(event->filter);
	event->filter = joined;
	return 0;
}

int events_filter(const struct event_source *source, struct capture_events *events,
		  const char *filter, char **ret_said)
{
	int err = events->list.nr ? 0 : -ENOENT;

	*ret_said = NULL;
	for (size_t i = events->last; i < events->list.nr && !err; i++) {
		struct capture_event *event = &events->list.data[i];

		snprintf(events->wrong, sizeof(events->wrong), "%s", event->name);
		err = event->tracepoint ? source->check_filter(source->tracefs, event->point,
							       event->config, filter, ret_said) :
					  -EOPNOTSUPP;
		if (!err)
			err = join_filters(event, filter);
	}
	return err;
}

int events_add_default(const struct event_source *source, struct capture_events *events,
		       const char **ret_why)
{
	struct capture_event event = new_event(source, events);
	int err = check_freq(source, &event, ret_why);

	err = err ?: set_default(source, &event, ret_why);

	return err ? err : push_event(events, &event, ret_why);
}

static int probe_event(const struct perf_event_attr *attr)
{
	int fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static struct event_source host_source(void)
{
	return (struct event_source){
		.sysfs = "/sys",
		.tracefs = tracefs_dir(),
		.proc = "/proc",
		.probe = probe_event,
		.check_filter = trace_filter_check,
	};
}

int capture_events_add(struct capture_events *events, const char *text, const char **ret_why)
{
	struct event_source source = host_source();

	return events_add(&source, text, events, ret_why);
}

int capture_events_add_default(struct capture_events *events, const char **ret_why)
{
	struct event_source source = host_source();

	return events_add_default(&source, events, ret_why);
}

int capture_events_filter(struct capture_events *events, const char *filter, char **ret_said)
{
	struct event_source source = host_source();

	return events_filter(&source, events, filter, ret_said);
}

void capture_events_deinit(struct capture_events *events)
{
	vec_for_each(&events->list, event)
		free_texts(event);
	vec_deinit(&events->list);
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
	if (event_is_hardware(event)) {
		ret_attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
					PERF_FORMAT_TOTAL_TIME_RUNNING;
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
