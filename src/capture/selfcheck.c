/* SPDX-License-Identifier: GPL-2.0-only */
/* The results of a self check, and those that stand for the whole. */
#include "capture/selfcheck.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/file.h"
#include "capture/capture.h"
#include "capture/selfcheck-private.h"

void selfcheck_deinit(struct selfcheck *check)
{
	vec_deinit(&check->results);
}

void selfcheck_add(struct selfcheck *check, const char *name, enum selfcheck_state state,
		   const char *remedy, const char *detail, ...)
{
	struct selfcheck_result result = { .state = state, .remedy = remedy };
	va_list args;

	snprintf(result.name, sizeof(result.name), "%s", name);
	va_start(args, detail);
	vsnprintf(result.detail, sizeof(result.detail), detail, args);
	va_end(args);
	if (vec_push(&check->results, result))
		check->error = -ENOMEM;
}

const struct selfcheck_result *selfcheck_find(const struct selfcheck *check, const char *name)
{
	vec_for_each(&check->results, result) {
		if (!strcmp(result->name, name))
			return result;
	}
	return NULL;
}

int selfcheck_read_line(const char *path, char *out, size_t size)
{
	_cleanup_free_ char *text = NULL;
	int err = file_read(AT_FDCWD, path, 4096, &text, NULL);

	*out = '\0';
	if (err)
		return err;
	text[strcspn(text, "\n")] = '\0';
	snprintf(out, size, "%s", text);
	return 0;
}

static void check_source(struct selfcheck *check, const char *name, enum vm_source source)
{
	struct vm_host *host = NULL;
	const char *why = NULL;
	int err = vm_host_open_source(source, &host, &why);

	if (err)
		selfcheck_add(check, name, SELFCHECK_NO, NULL, "%s", why ?: error_text(err));
	else
		selfcheck_add(check, name, SELFCHECK_YES, NULL, "finds the guests of this host");
	vm_host_close(host);
}

/* Whether one works, and it then. */
static bool check_modes(struct selfcheck *check, struct vm_host *host, const char *host_why,
			enum capture_mode *ret_best)
{
	bool any = false;

	for (int mode = CAPTURE_AUTO + 1; mode < CAPTURE_NR; mode++) {
		const char *why = host_why;
		bool works = host && !capture_probe(host, NULL, mode, &why);
		char name[32];

		snprintf(name, sizeof(name), "mode.%s", capture_mode_name(mode));
		selfcheck_add(check, name, works ? SELFCHECK_YES : SELFCHECK_NO, NULL, "%s",
			      works ? "samples can be taken so" : why);
		if (works && !any)
			*ret_best = mode;
		any |= works;
	}
	return any;
}

void selfcheck_host(struct selfcheck *check, struct vm_host *host, const char *host_why)
{
	enum capture_mode best = CAPTURE_AUTO;
	const char *absence = selfcheck_kvm(check, host);

	selfcheck_bpf(check, host);
	check_source(check, "source.bpf", VM_SOURCE_BPF);
	check_source(check, "source.kcore", VM_SOURCE_KCORE);
	selfcheck_perf(check);
	selfcheck_process(check);
	if (absence) {
		host = NULL;
		host_why = absence;
	}
	if (check_modes(check, host, host_why, &best))
		selfcheck_add(check, "record", SELFCHECK_YES, NULL, "in mode %s",
			      capture_mode_name(best));
	else
		selfcheck_add(check, "record", SELFCHECK_NO, NULL, "%s",
			      host ? "no capture mode works" : host_why);
}

/* Task work goes before the signal, but only for those that are known to go on after one. */
void selfcheck_kick(int kick_signal, bool task_work, char *out, size_t size)
{
	const char *name = kick_signal > 0 ? sigabbrev_np(kick_signal) : NULL;

	if (!kick_signal)
		snprintf(out, size, "no kick signal known");
	else if (task_work)
		snprintf(out, size, "kicked by task work");
	else if (name)
		snprintf(out, size, "kicked by SIG%s", name);
	else
		snprintf(out, size, "kicked by SIGRTMIN+%d", kick_signal - SIGRTMIN);
}

static void check_guest(struct selfcheck *check, struct vm_host *host, const struct vm *vm)
{
	char name[VM_NAME_LEN + 8], kick[32];
	enum capture_mode mode;
	const char *why;
	int err = capture_choose(host, vm, &mode, &why);

	snprintf(name, sizeof(name), "guest.%s", vm->name);
	selfcheck_kick(vm->kick_signal, capture_has_task_work(host), kick, sizeof(kick));
	if (err)
		selfcheck_add(check, name, SELFCHECK_NO, NULL, "%s %d: %s", vm->vmm, vm->pid, why);
	else
		selfcheck_add(check, name, SELFCHECK_YES, NULL, "%s %d, %s: %s (%s)", vm->vmm,
			      vm->pid, kick, capture_mode_name(mode), why);
}

void selfcheck_guests(struct selfcheck *check, struct vm_host *host)
{
	struct vm_list list = { VEC_INIT };
	int err = vm_host_scan(host, 0, &list);

	if (err)
		selfcheck_add(check, "guests", SELFCHECK_NO, NULL, "KVM's state: %s",
			      error_text(err));
	else
		selfcheck_add(check, "guests", SELFCHECK_NONE, NULL, "%zu run here",
			      list.vms.nr + list.unread.nr);
	vec_for_each(&list.vms, vm)
		check_guest(check, host, *vm);
	vec_for_each(&list.unread, unread)
		selfcheck_add(check, "guest", SELFCHECK_NO, NULL, "one of process %d: %s",
			      unread->pid, error_text(unread->error));
	vm_list_deinit(&list);
}
