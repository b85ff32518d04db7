/* SPDX-License-Identifier: GPL-2.0-only */
/* Why there is no KVM on this machine, and what to do about it. */
#ifndef VM_ABSENCE_H
#define VM_ABSENCE_H

/*
 * Why no guest can run here under a KVM that kvmprof knows: by the folder @sysfs ("/sys") and the
 * file @cpuinfo ("/proc/cpuinfo") of an x86 machine. A constant with the remedy; NULL when the
 * module of the processor's vendor is loaded.
 */
const char *vm_kvm_absence(const char *sysfs, const char *cpuinfo);

#endif
