/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest memory of a live VM. */
#include "mem/process.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/proc.h"

struct mem_process {
	struct mem_reader reader;
	pthread_rwlock_t lock;	/* of .slots */
	struct mem_slots slots;
	pid_t pid;
	int pidfd;
};

const struct mem_slot *mem_slots_find(const struct mem_slots *slots, gpa_t gpa)
{
	size_t low = 0, high = slots->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct mem_slot *slot = &slots->slots[mid];

		if (gpa.addr < slot->gpa)
			high = mid;
		else if (gpa.addr - slot->gpa >= slot->size)
			low = mid + 1;
		else
			return slot;
	}
	return NULL;
}

/* A pid is not given to another process before its pidfd says that the first has ended. */
static bool has_ended(const struct mem_process *process)
{
	struct pollfd pfd = { .fd = process->pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

static int read_hva(const struct mem_process *process, u64 hva, void *out, size_t size)
{
	struct iovec local = { .iov_base = out, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)hva, .iov_len = size };
	ssize_t n = process_vm_readv(process->pid, &local, 1, &remote, 1, 0);
	int err = n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;

	/* Only now: what was read is the VMM's if it is still there. */
	return has_ended(process) ? -ESRCH : err;
}

/* A copy: who changes the slots is not kept waiting for a read. */
static bool find_slot(struct mem_process *process, gpa_t gpa, struct mem_slot *ret)
{
	const struct mem_slot *slot;

	pthread_rwlock_rdlock(&process->lock);
	slot = mem_slots_find(&process->slots, gpa);
	if (slot)
		*ret = *slot;
	pthread_rwlock_unlock(&process->lock);
	return slot;
}

static int process_read(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	/* Const to who reads: of what it points at only the lock is written. */
	struct mem_process *process = container_of(reader, struct mem_process, reader);

	for (size_t done = 0; done < size;) {
		u64 addr = gpa.addr + done;
		struct mem_slot slot;
		size_t part;
		int err;

		if (addr < gpa.addr || !find_slot(process, GPA(addr), &slot))
			return -EFAULT;
		if (slot.flags & MEM_SLOT_GUEST_MEMFD)
			return -EOPNOTSUPP;
		part = MIN(size - done, slot.size - (addr - slot.gpa));
		err = read_hva(process, slot.hva + (addr - slot.gpa), (u8 *)out + done, part);
		if (err)
			return err;
		done += part;
	}
	return 0;
}

static int check_start_time(pid_t pid, u64 start_time)
{
	struct proc proc = PROC_INIT;
	u64 now;
	int err;

	err = proc_open(&proc, "/proc");
	if (err)
		return err;
	err = proc_start_time(&proc, pid, &now);
	proc_close(&proc);
	if (err)
		return err;
	return now == start_time ? 0 : -ESRCH;
}

int mem_process_open(pid_t pid, u64 start_time, const struct mem_slots *slots,
		     struct mem_process **ret)
{
	_cleanup_(mem_process_close) struct mem_process *process = calloc(1, sizeof(*process));
	int err;

	if (!process)
		return -ENOMEM;
	process->reader.read = process_read;
	pthread_rwlock_init(&process->lock, NULL);
	process->slots = *slots;
	process->pid = pid;
	process->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (process->pidfd < 0)
		return -errno;
	/* From here on the pid stays with whoever has it now: see that it is the right one. */
	if (start_time) {
		err = check_start_time(pid, start_time);
		if (err)
			return err;
	}
	*ret = TAKE_PTR(process);
	return 0;
}

void mem_process_close(struct mem_process *process)
{
	if (!process)
		return;
	if (process->pidfd >= 0)
		close(process->pidfd);
	pthread_rwlock_destroy(&process->lock);
	free(process);
}

void mem_process_set_slots(struct mem_process *process, const struct mem_slots *slots)
{
	pthread_rwlock_wrlock(&process->lock);
	process->slots = *slots;
	pthread_rwlock_unlock(&process->lock);
}

const struct mem_reader *mem_process_reader(const struct mem_process *process)
{
	return &process->reader;
}
