/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds for fuzz-vmm. */
#include <string.h>

#include "seeds.h"

static int write_text(const char *name, const char *text)
{
	return seed_write(name, text, strlen(text));
}

int write_seeds(void)
{
	static const char qemu[] =
		"qemu\0-m\0001G\0-name\0debug-threads=on,guest=a,,b,process=x\0-S\0";
	static const char firecracker[] = "firecracker\0--api-sock\0/x\0--id=i-1\0";
	static const char cloud[] = "ch\0--api-socket\0path=/run/vc/vm/x1/clh-api.sock,y=z\0";
	int err = seed_write("qemu", qemu, sizeof(qemu) - 1);

	err = err ?: seed_write("firecracker", firecracker, sizeof(firecracker) - 1);
	err = err ?: seed_write("cloud-hypervisor", cloud, sizeof(cloud) - 1);
	err = err ?: write_text("socket", "/run/libvirt/ch/web-socket");
	err = err ?: write_text("cgroup", "0::/machine-qemu\\x2d3\\x2dweb.scope/libvirt\n");
	err = err ?: write_text("status", "Name:\tx\nTgid:\t7\nSigCgt:\t0000000500005ae8\n");
	return err ?: write_text("maps",
		"1000-4000 rw-s 00000000 00:0e 43 anon_inode:kvm-vcpu:0\n"
		"7f67d81a4000-7f67d81a5000 rw-s 00040000 00:0e 43   anon_inode:kvm-vcpu:1\n"
		"7f67d81a9000-7f67d81ac000 rw-s 00000000 00:0e 43   anon_inode:kvm-vcpu:2\n");
}
