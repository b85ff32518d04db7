/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of VMMs from their sources, read at the commits named here. A kick that the VMM did
 * not send itself comes while the vCPU's thread is in KVM_RUN with the guest running; KVM_RUN then
 * ends with EINTR, or with the exit that came at the same moment, and the handler runs first. It
 * must be that none of this changes what the VMM does next but for one more KVM_RUN.
 *
 * qemu (12d1a768bdfe): SIGUSR1 is SIG_IPI. accel/kvm/kvm-all.c, kvm_ipi_signal() sets
 *   immediate_exit of its own vCPU; kvm_cpu_exec() clears it in kvm_eat_signals() after EINTR,
 *   looks for work and goes on. Threads are "CPU 0/KVM" with -name debug-threads=on.
 * firecracker (81b38b9dad60): src/vmm/src/vstate/vcpu.rs. SIGRTMIN+0, the handler is a fence only
 *   (older ones set immediate_exit); run_emulation() clears immediate_exit after EINTR, running()
 *   finds no event and stays in its state. Threads "fc_vcpu 0". --id is passed on by the jailer.
 * cloud-hypervisor (ae44c2971c83): vmm/src/cpu.rs. SIGRTMIN+0, an empty handler; EINTR is
 *   VmExit::Ignore (hypervisor/src/kvm/mod.rs), the loop looks at its flags and goes on. Threads
 *   "vcpu0". It has no name; libvirt's driver has the VM's in the socket's (NAME-socket).
 * crosvm (f1e797a68dad): src/crosvm/sys/linux/vcpu.rs. SIGRTMIN+0, the handler sets
 *   immediate_exit; vcpu_loop() clears it after EINTR. Threads "crosvm_vcpu0".
 * kvmtool (b48735e5d562): kvm-cpu.c. SIGRTMIN+0 ends the vCPU (is_running = false), SIGRTMIN+1
 *   pauses it and is fatal when it comes twice. SIGRTMIN+2 (SIGKVMTASK) is what it kicks with to
 *   have a task run: the handler does nothing, and without a task kvm_cpu__start() goes on after
 *   KVM_EXIT_INTR. Threads "kvm-vcpu-0".
 * libkrun (6ed74facc26d), Firecracker's descendant, in the program that uses it (crun, krunvm):
 *   src/vmm/src/linux/vstate.rs. SIGRTMIN+0, the handler sets immediate_exit, run_emulation()
 *   clears it. Threads "fc_vcpu 0".
 * dragonball (kata-containers 7c6ba40c54ea), in containerd-shim-kata-v2: vcpu/vcpu_impl.rs of
 *   src/dragonball/src, as libkrun. Threads "db_vcpu0". The shim's -id is the sandbox's.
 * stratovirt (d5b320371f25): cpu/src/lib.rs and hypervisor/src/kvm/mod.rs. 34 with glibc, 35 with
 *   musl, the handler sets immediate_exit, kvm_vcpu_exec() clears it. Threads "CPU 0/Kvm".
 * gvisor's KVM platform (3c5eee17dc45): bluepill_unsafe.go of pkg/sentry/platform/kvm. KVM_RUN is
 *   called in a signal's handler, all but SIGCHLD masked; that one is fetched and taken for a
 *   request to stop the sandbox's thread. Not for others to send, and its vCPUs change threads.
 * virtualbox's KVM backend (virtualbox-kvm 9d202d47d432): 0002-NEM-Implement-KVM-backend.patch.
 *   A signal that is chosen at run time (RTThreadPokeSignal()), so there is none to name here.
 */
#include "vm/vmm-kinds.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

/*
 * SIGRTMIN+0 of the VMM's C library: glibc keeps two real-time signals for itself, musl three, and
 * both are in use (Firecracker's releases are static musl programs).
 */
#define RTMIN_GLIBC 34
#define RTMIN_MUSL 35
#define RT(offset) (1 + (offset))

static const struct vmm_kind kinds[] = {
	{
		.name = "qemu",
		.programs = { "qemu" },
		.options = { { "-name", VMM_NAMING_QEMU }, { "--name", VMM_NAMING_QEMU } },
		.kick = SIGUSR1,
	},
	{
		.name = "firecracker",
		.programs = { "firecracker" },
		.options = { { "--id" } },
		.kick_rt = RT(0),
	},
	{
		.name = "cloud-hypervisor",
		.programs = { "cloud-hyperviso" },	/* a process's own name has 15 letters */
		.options = { { "--api-socket", VMM_NAMING_SOCKET } },
		.kick_rt = RT(0),
	},
	{
		.name = "crosvm",
		.programs = { "crosvm" },
		.thread = "crosvm_vcpu",	/* --name changes what the process is called */
		.options = {
			{ "--name" },
			{ "--socket", VMM_NAMING_SOCKET },
			{ "-s", VMM_NAMING_SOCKET },
		},
		.kick_rt = RT(0),
	},
	{
		.name = "kvmtool",
		.programs = { "lkvm", "kvmtool" },
		.options = { { "--name" } },
		.kick_rt = RT(2),
	},
	{
		.name = "stratovirt",
		.programs = { "stratovirt" },
		.options = { { "-name" }, { "--name" } },
		.kick_rt = RT(0),
	},
	{
		.name = "gvisor",
		.programs = { "runsc" },
	},
	{
		.name = "virtualbox",
		.programs = { "VBoxHeadless", "VirtualBoxVM", "VBoxSDL" },
		.options = { { "--comment" }, { "--startvm" } },
	},
	{
		.name = "kvmprof-vmm",
		.programs = { "kvmprof-vmm" },
		.options = { { "--name" } },
		.kick_rt = RT(0),
	},
	{
		.name = "dragonball",
		.thread = "db_vcpu",
		.options = { { "-id" } },
		.kick_rt = RT(0),
	},
	{
		.name = "libkrun",
		.thread = "fc_vcpu ",
		.kick_rt = RT(0),
	},
};

static bool is_program(const struct vmm_kind *kind, const char *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind->programs) && kind->programs[i]; i++)
		if (!strncmp(program, kind->programs[i], strlen(kind->programs[i])))
			return true;
	return false;
}

/* The prefix and a number, nothing else: other programs' threads have names, too. */
static bool is_thread(const struct vmm_kind *kind, const char *thread)
{
	size_t len = kind->thread ? strlen(kind->thread) : 0;

	if (!len || strncmp(thread, kind->thread, len) || !thread[len])
		return false;
	for (thread += len; *thread; thread++)
		if (!isdigit((unsigned char)*thread))
			return false;
	return true;
}

const struct vmm_kind *vmm_kind_find(const char *program, const char *thread)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (is_program(&kinds[i], program))
			return &kinds[i];
	for (size_t i = 0; thread && i < ARRAY_SIZE(kinds); i++)
		if (is_thread(&kinds[i], thread))
			return &kinds[i];
	return NULL;
}

static bool catches(u64 caught, int first, int last)
{
	for (int number = first; number <= last; number++)
		if (!(caught >> (number - 1) & 1))
			return false;
	return true;
}

/*
 * A signal that the VMM has no handler for would end it. Those below the one in question, which are
 * its own, too, tell which SIGRTMIN it has: with the other one we would send a signal that means
 * something else to it.
 */
int vmm_kind_kick(const struct vmm_kind *kind, u64 caught)
{
	static const int rtmin[] = { RTMIN_GLIBC, RTMIN_MUSL };

	if (!kind)
		return 0;
	if (kind->kick)
		return catches(caught, kind->kick, kind->kick) ? kind->kick : 0;
	for (size_t i = 0; kind->kick_rt && i < ARRAY_SIZE(rtmin); i++) {
		int last = rtmin[i] + kind->kick_rt - 1;

		if (catches(caught, rtmin[i], last))
			return last;
	}
	return 0;
}
