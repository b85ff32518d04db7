/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a VM is called, by what who started its VMM wrote: the command line, the control group. All
 * of it is foreign text. The functions write a non-empty name to @out, which has @size bytes, and
 * say whether they did.
 */
#ifndef VM_VMM_NAME_H
#define VM_VMM_NAME_H

#include "vm/vmm-kinds.h"

/* By the options of @kind (may be NULL) in a command line of @len bytes, a NUL behind each word. */
bool vmm_name_from_cmdline(const struct vmm_kind *kind, const char *cmdline, size_t len, char *out,
			   size_t size);

/*
 * By a control socket: the file's name without its ending, or the folder's when the file is called
 * what all VMMs of some manager call it.
 */
bool vmm_name_from_socket(const char *path, char *out, size_t size);

/*
 * By the text of /proc/PID/cgroup: the machine of systemd's that the process is in, as libvirt
 * registers its VMs: "…/machine-qemu\x2d3\x2dweb.scope/…" is "web".
 */
bool vmm_name_from_cgroup(const char *text, char *out, size_t size);

#endif
