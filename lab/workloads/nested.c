// SPDX-License-Identifier: GPL-2.0-only
/*
 * A VMM of a guest that runs guests itself: one vCPU, in real mode, that counts without end.
 *
 *	_start
 *	  main
 *	    run_nested ── ioctl(KVM_RUN)	nearly all of the time is the nested guest's
 *
 * One piece of work is one entry of KVM_RUN, which a timer ends.
 */
#include <linux/kvm.h>
#include <linux/mman.h>
#include <linux/time.h>

#include "rt.h"

#define MEMORY 65536ul
#define START 0x1000
#define RDWR 2

/* 1: inc %ax; jmp 1b: of 16 bits. */
static const unsigned char code[] = { 0x40, 0xeb, 0xfd };

struct nested {
	int vm, vcpu;
	char *memory;
	struct kvm_run *run;
};

static void make_memory(struct nested *nested)
{
	struct kvm_userspace_memory_region region = { .memory_size = MEMORY };

	nested->memory = (char *)must("mmap", sys(mmap, 0, MEMORY, PROT_READ | PROT_WRITE,
						  MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	region.userspace_addr = (unsigned long)nested->memory;
	must("memory", sys(ioctl, nested->vm, KVM_SET_USER_MEMORY_REGION, &region));
	memcpy(nested->memory + START, code, sizeof(code));
}

static void make_vcpu(struct nested *nested, int kvm)
{
	struct kvm_regs regs = { .rip = START, .rflags = 2 };
	struct kvm_sregs system;
	long size = must("run size", sys(ioctl, kvm, KVM_GET_VCPU_MMAP_SIZE, 0));

	nested->vcpu = must("vcpu", sys(ioctl, nested->vm, KVM_CREATE_VCPU, 0));
	nested->run = (struct kvm_run *)must("mmap", sys(mmap, 0, size, PROT_READ | PROT_WRITE,
							 MAP_SHARED, nested->vcpu, 0));
	must("sregs", sys(ioctl, nested->vcpu, KVM_GET_SREGS, &system));
	system.cs.base = system.cs.selector = 0;
	must("sregs", sys(ioctl, nested->vcpu, KVM_SET_SREGS, &system));
	must("regs", sys(ioctl, nested->vcpu, KVM_SET_REGS, &regs));
}

static void on_timer(int signal)
{
	(void)signal;
}

/* Ten times a second. */
static void start_timer(void)
{
	struct itimerval every = { { 0, 100000 }, { 0, 100000 } };

	signal_handle(14 /* SIGALRM */, on_timer);
	must("setitimer", sys(setitimer, ITIMER_REAL, &every, 0));
}

TREE static void run_nested(struct nested *nested)
{
	long ret = sys(ioctl, nested->vcpu, KVM_RUN, 0);

	if (ret != -4 /* EINTR */ && nested->run->exit_reason != KVM_EXIT_INTR) {
		work_say("exit reason", nested->run->exit_reason);
		work_exit(1);
	}
}

int main(int argc, char **argv)
{
	struct nested nested;
	int kvm;

	work_start(argc, argv);
	kvm = must("/dev/kvm", sys(open, "/dev/kvm", RDWR, 0));
	nested.vm = must("vm", sys(ioctl, kvm, KVM_CREATE_VM, 0));
	make_memory(&nested);
	make_vcpu(&nested, kvm);
	start_timer();
	for (;;) {
		run_nested(&nested);
		work_done(1);
	}
}
