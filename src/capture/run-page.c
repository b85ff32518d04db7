/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kvm_run page that KVM and the VMM share: asking KVM to store the registers there. The one
 * thing that is ever written to a VMM, and KVM only reads it; left behind, it costs the VMM a copy
 * of the registers at each exit.
 *
 * Not written by its address in the VMM: a VMM that has removed a vCPU unmaps the page, and what is
 * mapped there next may be the guest's own memory, long before we notice. It is written through the
 * vCPU's file, which the page belongs to: a copy of the descriptor (pidfd_getfd(), since 5.6) is
 * mapped for a moment. Whatever the VMM does meanwhile, nothing but the kvm_run page of that vCPU
 * can be hit, and a page without a VMM is freed when we let go. With single atomic operations, for
 * the VMM or another recorder may write there, too.
 *
 * If the VMM ends in that moment, its VM ends when we let go.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/uio.h>

#include "base/errors.h"
#include "base/log.h"
#include "bpf/regs-run.h"
#include "capture/backend.h"

#define PAGE 4096

/* Whether what the link at @folder/@name says is @thread's vCPU. */
static bool is_vcpu_file(const struct capture *capture, const struct capture_thread *thread,
			 int folder, const char *name)
{
	char link[128], wanted[128];
	ssize_t n = readlinkat(folder, name, link, sizeof(link) - 1);
	int len = snprintf(wanted, sizeof(wanted), "%s%u", capture->vcpu_file, thread->id);

	if (n < 0)
		return false;
	link[n] = '\0';
	return !strncmp(link, wanted, len) && (!link[len] || link[len] == ' ');
}

/* A copy of the VMM's descriptor @fd when that is @thread's vCPU. */
static int copy_fd(const struct capture *capture, const struct capture_thread *thread, int pidfd,
		   int fd)
{
	_cleanup_close_ int copy = pidfd_getfd(pidfd, fd, 0);
	char name[64];

	if (copy < 0)
		return -errno;
	/* By the copy, which stays what it is. */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", copy);
	return is_vcpu_file(capture, thread, AT_FDCWD, name) ? TAKE_FD(copy) : -ENOENT;
}

/* Looks through all descriptors of the VMM. */
static int search_fd(const struct capture *capture, pid_t pid, struct capture_thread *thread,
		     int pidfd)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;
	int err = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == -ENOENT && (entry = readdir(folder))) {
		int fd = strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] == '.' ||
		    !is_vcpu_file(capture, thread, dirfd(folder), entry->d_name))
			continue;
		err = copy_fd(capture, thread, pidfd, fd);
		if (err >= 0)
			thread->vmm_fd = fd;
		else if (err == -EBADF)
			err = -ENOENT;	/* closed since */
	}
	closedir(folder);
	return err;
}

/* A descriptor of our own of @thread's vCPU; -ENOENT: the VMM has none any more. */
static int open_vcpu(const struct capture *capture, pid_t pid, struct capture_thread *thread)
{
	_cleanup_close_ int pidfd = pidfd_open(pid, 0);
	int fd = -ENOENT;

	if (pidfd < 0)
		return -errno;
	if (thread->vmm_fd)
		fd = copy_fd(capture, thread, pidfd, thread->vmm_fd);
	return fd >= 0 ? fd : search_fd(capture, pid, thread, pidfd);
}

static int map_run(const struct capture *capture, const struct capture_guest *guest,
		   struct capture_thread *thread, struct kvm_run **ret)
{
	_cleanup_close_ int fd = open_vcpu(capture, guest->pid, thread);
	void *page;

	if (fd < 0)
		return fd;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	*ret = page;
	return 0;
}

int capture_arm(const struct capture *capture, struct capture_guest *guest,
		struct capture_thread *thread)
{
	struct kvm_run *run;
	int err;

	if (thread->armed || !REGS_RUN_WANTED)
		return 0;
	if (!thread->run_hva)
		return -EOPNOTSUPP;
	err = map_run(capture, guest, thread, &run);
	if (err)
		return err;
	thread->old_valid_regs =
		__atomic_fetch_or(&run->kvm_valid_regs, REGS_RUN_WANTED, __ATOMIC_RELAXED);
	thread->armed = true;
	munmap(run, PAGE);
	return 0;
}

/* Looks by address, which is cheap and harms nothing when something else is there by now. */
int capture_rearm(const struct capture *capture, struct capture_guest *guest,
		  struct capture_thread *thread)
{
	u64 hva = thread->run_hva + offsetof(struct kvm_run, kvm_valid_regs), value;
	u64 before = thread->old_valid_regs;
	struct iovec local = { &value, sizeof(value) };
	struct iovec remote = { (void *)(uintptr_t)hva, sizeof(value) };
	ssize_t n;
	int err;

	if (!thread->armed)
		return 0;
	n = process_vm_readv(guest->pid, &local, 1, &remote, 1, 0);
	if (n != sizeof(value))
		return n < 0 ? -errno : -EFAULT;
	if ((value & REGS_RUN_WANTED) == REGS_RUN_WANTED)
		return 0;
	thread->armed = false;
	err = capture_arm(capture, guest, thread);
	/* The page has moved, and holds what we put there: what was before that is to come back. */
	if (!err && thread->old_valid_regs == (before | REGS_RUN_WANTED))
		thread->old_valid_regs = before;
	return err;
}

void capture_disarm(const struct capture *capture, struct capture_guest *guest,
		    struct capture_thread *thread)
{
	u64 ours = thread->old_valid_regs | REGS_RUN_WANTED;
	struct kvm_run *run = NULL;
	int err;

	if (!thread->armed)
		return;
	thread->armed = false;
	err = map_run(capture, guest, thread, &run);
	if (err) {
		log_debug("vCPU %u: kvm_valid_regs stays set: %s", thread->id, error_text(err));
		return;
	}
	__atomic_compare_exchange_n(&run->kvm_valid_regs, &ours, thread->old_valid_regs, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	munmap(run, PAGE);
}
