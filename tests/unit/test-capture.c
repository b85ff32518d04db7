/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose events are counted where, and when samples are delivered: the ptrace mode over programs
 * that are no VMMs. Some look as if they ran a guest to who stops them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "capture/backend.h"
#include "works.h"

#define GIVE_UP_NS 20000000000ULL
#define ENOUGH 30

#define ROOM (1UL << 20)	/* for records that wait */

static int run_file;	/* with a kvm_run, the same in each child */
static struct kvm_run *run;

enum child {
	CHILD_IDLE,
	CHILD_BUSY,
	CHILD_IN_GUEST,	/* is mostly in ioctl(KVM_RUN), which fails, and is not seen */
};

static pid_t start_child(enum child kind)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (kind == CHILD_IDLE)
			pause();
		else if (kind == CHILD_IN_GUEST)
			ioctl(-1, KVM_RUN, 0);
	}
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int follow(struct capture *capture, u32 index, pid_t pid)
{
	struct vm_vcpu vcpu = { .tid = pid, .run_hva = (u64)(uintptr_t)run };
	struct vm vm = { .pid = pid };
	int err = vec_push(&vm.vcpus, vcpu);

	if (!err)
		err = capture_set_vm(capture, index, &vm);
	vec_deinit(&vm.vcpus);
	return err;
}

/* Where that cannot be done at all the test is skipped. */
static void must_follow(struct capture *capture, u32 index, pid_t pid)
{
	int err = follow(capture, index, pid);

	if (!err)
		return;
	if (works("perf.cpu-clock") && works("process.ptrace"))
		fail_msg("events of other processes can be had, but not these: %d", err);
	skip();
}

static u64 sum_of(const struct capture_counts *counts)
{
	return counts->samples + counts->host + counts->filtered + counts->lost_ring +
	       counts->lost_pending + counts->lost_signal + counts->lost_exit +
	       counts->lost_stop + counts->lost_kernel + counts->unknown_vcpu;
}

static void no_sample(const struct sample *sample, void *arg)
{
	(void)sample;
	(void)arg;
	fail_msg("a sample of a thread that is not in a guest");
}

static struct capture *open_capture_with(bool host_side, size_t room, capture_sample_fn on_sample)
{
	/* They stay: the capture borrows them. */
	static struct capture_event events[] = {
		{ .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .freq = 997,
		  .config = PERF_COUNT_SW_CPU_CLOCK },
	};
	struct capture_options options = {
		.mode = CAPTURE_PTRACE,
		.ring_bytes = room,
		.events = events,
		.nr_events = ARRAY_SIZE(events),
	};
	struct capture *capture;
	const char *why;

	events[0].host_side = host_side;
	assert_int_equal(capture_create(NULL, &options, on_sample, NULL, &capture, &why), 0);
	capture->vcpu_file = "/memfd:run:";
	return capture;
}

static struct capture *open_capture(bool host_side)
{
	return open_capture_with(host_side, ROOM, no_sample);
}

/* Until the VMs of these indices have had enough events. */
static void poll_until(struct capture *capture, const u32 *indices, size_t nr)
{
	u64 end = clock_now_ns() + GIVE_UP_NS;

	for (size_t i = 0; i < nr;) {
		struct capture_counts counts;

		assert_true(clock_now_ns() < end);
		capture_poll(capture, 20);
		capture_get_vm_counts(capture, indices[i], &counts);
		i += counts.events >= ENOUGH;
	}
}

static void check_counts(bool host_side)
{
	const u32 busy[] = { 0, 5 };
	struct capture *capture = open_capture(host_side);
	struct capture_counts total, sum = { 0 }, counts[6];
	pid_t pids[6] = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(pids); i += i ? 1 : 4)
		pids[i] = start_child(i == 4 ? CHILD_IDLE : CHILD_BUSY);
	must_follow(capture, 0, pids[0]);
	assert_int_equal(follow(capture, 4, pids[4]), 0);
	assert_int_equal(follow(capture, 5, pids[5]), 0);
	assert_int_equal(capture_start(capture), 0);
	poll_until(capture, busy, ARRAY_SIZE(busy));
	capture_remove_vm(capture, 0);
	capture_get_vm_counts(capture, 0, &counts[0]);
	assert_int_equal(capture_stop(capture), 0);
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++) {
		capture_get_vm_counts(capture, i, &counts[i]);
		assert_int_equal(sum_of(&counts[i]), counts[i].events);
		assert_int_equal(host_side ? counts[i].host : counts[i].lost_stop, 0);
		capture_counts_add(&sum, &counts[i]);
	}
	assert_true(counts[0].events >= ENOUGH && counts[5].events >= ENOUGH);
	assert_true(counts[4].events < ENOUGH);
	assert_int_equal(counts[1].events + counts[2].events + counts[3].events, 0);
	capture_get_counts(capture, &total);
	assert_memory_equal(&total, &sum, sizeof(sum));
	capture_destroy(capture);
	for (u32 i = 0; i < ARRAY_SIZE(pids); i++)
		if (pids[i])
			end_child(pids[i]);
}

static void test_outside_guest(void **state)
{
	(void)state;
	check_counts(false);
}

static void test_not_stopped_in_guest(void **state)
{
	(void)state;
	check_counts(true);
}

static bool is_in_state(pid_t pid, char wanted)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == wanted;
}

/* A number in a line of the process's status; 0: none. */
static int status_of(pid_t pid, const char *name)
{
	char path[64], line[128];
	int value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = strtol(line + strlen(name), NULL, 10);
	fclose(file);
	return value;
}

/* Busy until told by the first pipe, then where no stop reaches it until told by the second. */
static pid_t start_slow_to_stop(const int *busy, const int *asleep)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(busy[0], &byte, 1) != 1)
		;
	if (!vfork()) {
		(void)!read(asleep[0], &byte, 1);
		_exit(0);
	}
	for (;;)
		pause();
}

/* Tells the process to go on when a stop of it has been under way for a moment. */
static pid_t start_waker(pid_t of, const int *asleep)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!status_of(of, "TracerPid:"))
		usleep(1000);
	usleep(20000);
	(void)!write(asleep[1], "", 1);
	_exit(0);
}

static void wait_for_events(const struct capture *capture)
{
	const struct capture_thread *thread = capture->guests.data[0]->threads.data[0];
	u64 end = clock_now_ns() + GIVE_UP_NS, count = 0;

	while (count < 20000000) {	/* ns of the clock */
		assert_true(clock_now_ns() < end);
		assert_int_equal(read(thread->events[0].fd, &count, sizeof(count)), sizeof(count));
	}
}

/* Who is about to stop is waited for: when others come to be looked after nobody stands still. */
static void test_slow_stop(void **state)
{
	struct capture *capture = open_capture(true);
	u64 end = clock_now_ns() + GIVE_UP_NS;
	struct capture_counts counts;
	int busy[2], asleep[2];
	pid_t pid, waker;

	(void)state;
	assert_int_equal(pipe2(busy, O_NONBLOCK), 0);
	assert_int_equal(pipe(asleep), 0);
	pid = start_slow_to_stop(busy, asleep);
	must_follow(capture, 0, pid);
	assert_int_equal(capture_start(capture), 0);
	wait_for_events(capture);
	assert_int_equal(write(busy[1], "", 1), 1);
	while (!is_in_state(pid, 'D'))
		assert_true(clock_now_ns() < end);
	waker = start_waker(pid, asleep);
	assert_int_equal(capture_poll(capture, 0), 0);
	assert_int_equal(status_of(pid, "TracerPid:"), 0);
	capture_get_counts(capture, &counts);
	assert_true(counts.lost_pending);
	assert_int_equal(counts.lost_stop, 1);
	assert_int_equal(capture_stop(capture), 0);
	capture_destroy(capture);
	end_child(pid);
	waitpid(waker, NULL, 0);
}

#define NR_GUESTS 3

static pid_t guests[NR_GUESTS];
static unsigned int nr_samples, nr_in_stop;

/* Takes its time, as unwinding does, and writing to a slow disk. */
static void slow_sample(const struct sample *sample, void *arg)
{
	(void)arg;
	assert_int_equal(sample->wire->tid, guests[sample->wire->vm]);
	usleep(2000);
	nr_samples++;
	for (unsigned int i = 0; i < NR_GUESTS; i++)
		nr_in_stop += is_in_state(guests[i], 't');
}

/* What became of the events of some guests for whose records there is @room. */
static void record_guests(size_t room, struct capture_counts *ret)
{
	struct capture *capture = open_capture_with(true, room, slow_sample);
	const u32 all[NR_GUESTS] = { 0, 1, 2 };

	nr_samples = nr_in_stop = 0;
	for (u32 i = 0; i < NR_GUESTS; i++) {
		guests[i] = start_child(CHILD_IN_GUEST);
		must_follow(capture, i, guests[i]);
	}
	assert_int_equal(capture_start(capture), 0);
	poll_until(capture, all, NR_GUESTS);
	assert_int_equal(capture_stop(capture), 0);
	assert_int_equal(capture_poll(capture, 0), 0);
	capture_get_counts(capture, ret);
	capture_destroy(capture);
	for (u32 i = 0; i < NR_GUESTS; i++)
		end_child(guests[i]);
	assert_int_equal(sum_of(ret), ret->events);
}

/*
 * Nobody stands still while samples of others are handled. But for a thread that did not get to its
 * stop for so long that records were handed on in spite of it, where there is much else to do.
 */
static void test_none_stopped(void **state)
{
	struct capture_counts counts;
	bool good = false;

	(void)state;
	for (int i = 0; i < 3 && !good; i++) {
		record_guests(ROOM, &counts);
		assert_true(nr_samples);
		assert_int_equal(nr_samples, counts.samples);
		assert_int_equal(counts.lost_ring, 0);
		good = nr_in_stop * 5 <= nr_samples;
	}
	assert_true(good);
}

static void test_no_room(void **state)
{
	struct capture_counts counts;

	(void)state;
	record_guests(sizeof(struct wire_sample), &counts);
	assert_int_equal(nr_samples + counts.samples, 0);
	assert_true(counts.lost_ring);
}

static void test_too_many_vms(void **state)
{
	struct capture *capture = open_capture(false);

	(void)state;
	assert_int_equal(follow(capture, 1 << 20, getpid()), -E2BIG);
	capture_destroy(capture);
}

/* What a mode is asked to do, in order: a letter a call. */
static char calls[16];

static void note_call(char call)
{
	size_t nr = strlen(calls);

	assert_true(nr + 1 < sizeof(calls));
	calls[nr] = call;
}

static int fake_update(struct capture *capture, struct capture_guest *guest)
{
	(void)capture;
	(void)guest;
	note_call('u');
	return 0;
}

static void fake_forget(struct capture *capture, struct capture_guest *guest)
{
	(void)capture;
	assert_true(guest->threads.nr);
	note_call('f');
}

static int fake_add_thread(struct capture *capture, struct capture_guest *guest,
			   struct capture_thread *thread)
{
	(void)capture;
	(void)guest;
	(void)thread;
	note_call('a');
	return 0;
}

static void fake_remove_thread(struct capture *capture, struct capture_guest *guest,
			       struct capture_thread *thread)
{
	(void)capture;
	(void)guest;
	(void)thread;
	note_call('r');
}

static void fake_drain(struct capture *capture)
{
	(void)capture;
	note_call('d');
}

static void fake_close(struct capture *capture)
{
	(void)capture;
	note_call('c');
}

/*
 * Nobody may be at work on a guest's samples while its threads go, or an event would be counted as
 * a sample and as lost.
 */
static void test_removal(void **state)
{
	static const struct capture_backend backend = {
		.close = fake_close,
		.update_guest = fake_update,
		.forget_guest = fake_forget,
		.add_thread = fake_add_thread,
		.remove_thread = fake_remove_thread,
		.drain = fake_drain,
	};
	struct capture *capture = calloc(1, sizeof(*capture));

	(void)state;
	assert_non_null(capture);
	capture->backend = &backend;
	memset(calls, 0, sizeof(calls));
	assert_int_equal(follow(capture, 0, getpid()), 0);
	assert_int_equal(follow(capture, 1, getpid()), 0);
	capture_remove_vm(capture, 0);
	assert_string_equal(calls, "uauafrd");
	capture_destroy(capture);
	assert_string_equal(calls, "uauafrdfrc");
}

/* Deferred mode follows whom it can kick: by a signal, or where the kernel has task work. */
static void test_kicks(void **state)
{
	static const struct capture_backend backend = {
		.close = fake_close,
		.update_guest = fake_update,
		.forget_guest = fake_forget,
	};
	struct capture *capture = calloc(1, sizeof(*capture));
	struct vm vm = { .pid = getpid() };

	(void)state;
	assert_non_null(capture);
	capture->backend = &backend;
	capture->options.mode = CAPTURE_DEFERRED;
	memset(calls, 0, sizeof(calls));
	assert_int_equal(capture_set_vm(capture, 0, &vm), -EOPNOTSUPP);
	vm.kick_signal = VM_KICK_WORK;
	assert_int_equal(capture_set_vm(capture, 0, &vm), -EOPNOTSUPP);
	assert_string_equal(calls, "");
	capture->options.task_work = true;
	assert_int_equal(capture_set_vm(capture, 0, &vm), 0);
	assert_int_equal(capture->guests.data[0]->vm.kick_signal, 0);
	vm.kick_signal = SIGUSR1;
	assert_int_equal(capture_set_vm(capture, 0, &vm), 0);
	assert_int_equal(capture->guests.data[0]->vm.kick_signal, SIGUSR1);
	capture_destroy(capture);
}

static void test_probe_vm(void **state)
{
	struct vm vm = { .kick_signal = SIGUSR1 };
	const char *why = NULL;

	(void)state;
	assert_int_equal(vec_push(&vm.vcpus, (struct vm_vcpu){ .id = 0 }), 0);
	for (enum capture_mode mode = CAPTURE_INLINE; mode < CAPTURE_NR; mode++)
		assert_int_equal(capture_probe_vm(&vm, mode, &why), 0);
	assert_null(why);
	vm.kick_signal = 0;
	assert_int_equal(capture_probe_vm(&vm, CAPTURE_DEFERRED, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "--kick-signal"));
	assert_int_equal(capture_probe_vm(&vm, CAPTURE_PTRACE, &why), 0);
	vm.vcpus.data[0].tid = 1;	/* it runs, and its page is not known */
	assert_int_equal(capture_probe_vm(&vm, CAPTURE_PTRACE, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why, "kvm_run"));
	assert_int_equal(capture_probe_vm(&vm, CAPTURE_INLINE, &why), 0);
	vm.confidential = true;
	for (enum capture_mode mode = CAPTURE_INLINE; mode < CAPTURE_NR; mode++) {
		assert_int_equal(capture_probe_vm(&vm, mode, &why), -EOPNOTSUPP);
		assert_non_null(strstr(why, "confidential"));
	}
	vec_deinit(&vm.vcpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outside_guest),
		cmocka_unit_test(test_not_stopped_in_guest),
		cmocka_unit_test(test_slow_stop),
		cmocka_unit_test(test_none_stopped),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_too_many_vms),
		cmocka_unit_test(test_removal),
		cmocka_unit_test(test_kicks),
		cmocka_unit_test(test_probe_vm),
	};

	run_file = memfd_create("run:0", MFD_CLOEXEC);
	if (run_file < 0 || ftruncate(run_file, sizeof(*run)))
		return 1;
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED, run_file, 0);
	if (run == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
