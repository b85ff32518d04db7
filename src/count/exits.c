/* SPDX-License-Identifier: GPL-2.0-only */
/* Exits by BPF: the programs of bpf/stat.bpf.c. */
#include "count/exits.h"

int exit_reasons_add(exit_reasons *reasons, u32 reason, u32 detail, u64 nr)
{
	vec_for_each(reasons, r) {
		if (r->reason == reason && r->detail == detail) {
			r->nr += nr;
			return 0;
		}
	}
	return vec_push(reasons, (struct exit_reason){ reason, detail, nr });
}

static int compare(const void *a, const void *b)
{
	const struct exit_reason *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? 1 : -1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return x->detail < y->detail ? -1 : x->detail > y->detail;
}

void exit_reasons_sort(exit_reasons *reasons)
{
	if (reasons->nr)
		qsort(reasons->data, reasons->nr, sizeof(*reasons->data), compare);
}

#ifdef HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/stat.h"
#include "capture/trace-format.h"
#include "capture/tracepoint.h"
#include "count/exit-names.h"
#include "stat.skel.h"

struct exits {
	struct stat_bpf *skel;
	bool removed;	/* a program that has begun may still count for a thread that is removed */
};

/* Where the numbers of a reason are, by the tracepoint's own description. */
static int find_fields(const char *tracefs, struct stat_fields *ret, const char **ret_why)
{
	_cleanup_free_ char *text = NULL;
	int err = tracepoint_format(tracefs, "kvm:kvm_exit", &text);

	*ret_why = "KVM's tracepoints are not to be read: not root, or KVM is not loaded";
	if (err)
		return err;
	*ret_why = "the kernel describes kvm:kvm_exit in a way that is not known";
	return exit_fields_find(text, ret);
}

static const char *refusal(int err)
{
	if (err == -EPERM || err == -EACCES)
		return "BPF is not permitted: not root, or the kernel is locked down";
	return "the host kernel refused the BPF programs";
}

static int load(struct exits *exits, const struct stat_fields *fields, const char **ret_why)
{
	int err;

	*ret_why = "out of memory";
	exits->skel = stat_bpf__open();
	if (!exits->skel)
		return -errno;
	exits->skel->rodata->fields = *fields;
	err = stat_bpf__load(exits->skel);
	err = err ?: stat_bpf__attach(exits->skel);
	if (err)
		*ret_why = refusal(err);
	return err;
}

int exits_open(const char *tracefs, struct exits **ret, const char **ret_why)
{
	_cleanup_(exits_close) struct exits *exits = NULL;
	struct stat_fields fields;
	int err = find_fields(tracefs, &fields, ret_why);

	if (err)
		return err;
	exits = calloc(1, sizeof(*exits));
	*ret_why = "out of memory";
	err = exits ? load(exits, &fields, ret_why) : -ENOMEM;
	if (err)
		return err;
	*ret = TAKE_PTR(exits);
	return 0;
}

void exits_close(struct exits *exits)
{
	if (!exits)
		return;
	stat_bpf__destroy(exits->skel);
	free(exits);
}

int exits_add_thread(struct exits *exits, pid_t tid)
{
	const struct stat_thread none = { 0 };
	u32 key = tid;

	return bpf_map_update_elem(bpf_map__fd(exits->skel->maps.threads), &key, &none, BPF_ANY);
}

static bool next_key(int map, const struct stat_reason_key *key, struct stat_reason_key *ret)
{
	return !bpf_map_get_next_key(map, key, ret);
}

void exits_remove_thread(struct exits *exits, pid_t tid)
{
	u32 key = tid;

	bpf_map_delete_elem(bpf_map__fd(exits->skel->maps.threads), &key);
	exits->removed = true;
}

void exits_forget_reasons(struct exits *exits, pid_t tid, const exit_reasons *reasons)
{
	int map = bpf_map__fd(exits->skel->maps.reasons);

	vec_for_each(reasons, reason) {
		struct stat_reason_key of = { tid, reason->reason, reason->detail };

		bpf_map_delete_elem(map, &of);
	}
}

int exits_read_thread(struct exits *exits, pid_t tid, u64 now, struct exit_times *ret)
{
	struct stat_thread thread;
	u32 key = tid;

	if (bpf_map_lookup_elem(bpf_map__fd(exits->skel->maps.threads), &key, &thread))
		return -ENOENT;
	*ret = (struct exit_times){
		.guest = thread.guest_ns,
		.exits = thread.exits,
		.asleep = thread.left,
	};
	if (thread.entered && thread.entered < now)
		ret->guest += now - thread.entered;
	return 0;
}

/*
 * Until each program that runs now has ended: they look a thread up first and count last. To write
 * to a map of maps waits for that (maybe_wait_bpf_programs(), Linux 4.20); membarrier(), which
 * would, too, has no way to on hosts with nohz_full.
 */
static int wait_for_programs(void)
{
	_cleanup_close_ int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(u32),
						   sizeof(u32), 1, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = inner);
	_cleanup_close_ int outer = -1;
	u32 key = 0;

	if (inner < 0)
		return inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, NULL, sizeof(u32), sizeof(u32), 1,
			       &opts);
	return outer < 0 ? outer : bpf_map_update_elem(outer, &key, &inner, BPF_ANY);
}

static int settle(struct exits *exits)
{
	int err = exits->removed ? wait_for_programs() : 0;

	if (!err)
		exits->removed = false;
	return err;
}

int exits_for_each_reason(struct exits *exits, exit_reason_fn fn, void *arg)
{
	int map = bpf_map__fd(exits->skel->maps.reasons), err = settle(exits);
	struct stat_reason_key key, next;
	bool more = !err && next_key(map, NULL, &next);

	while (more && !err) {
		struct exit_reason reason = { .reason = next.reason, .detail = next.detail };

		key = next;
		if (!bpf_map_lookup_elem(map, &key, &reason.nr))
			err = fn(key.tid, &reason, arg);
		more = next_key(map, &key, &next);
	}
	return err;
}

u64 exits_lost(const struct exits *exits)
{
	return exits->skel->bss->lost_reasons;
}

#else

int exits_open(const char *tracefs __maybe_unused, struct exits **ret __maybe_unused,
	       const char **ret_why)
{
	*ret_why = "kvmprof was built without BPF";
	return -EOPNOTSUPP;
}

void exits_close(struct exits *exits __maybe_unused)
{
}

int exits_add_thread(struct exits *exits __maybe_unused, pid_t tid __maybe_unused)
{
	return -EOPNOTSUPP;
}

void exits_remove_thread(struct exits *exits __maybe_unused, pid_t tid __maybe_unused)
{
}

void exits_forget_reasons(struct exits *exits __maybe_unused, pid_t tid __maybe_unused,
			  const exit_reasons *reasons __maybe_unused)
{
}

int exits_read_thread(struct exits *exits __maybe_unused, pid_t tid __maybe_unused,
		      u64 now __maybe_unused, struct exit_times *ret __maybe_unused)
{
	return -EOPNOTSUPP;
}

int exits_for_each_reason(struct exits *exits __maybe_unused, exit_reason_fn fn __maybe_unused,
			  void *arg __maybe_unused)
{
	return -EOPNOTSUPP;
}

u64 exits_lost(const struct exits *exits __maybe_unused)
{
	return 0;
}

#endif
