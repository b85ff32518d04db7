/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host kernel's view for user space: who has vCPU files open, and kernel memory on demand.
 * Nothing here attaches to an event: both programs run only when they are asked to.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "vm/host-wire.h"

#define __btf __attribute__((preserve_access_index))

struct file_operations {
	void *release;
} __btf;

struct file {
	const struct file_operations *f_op;
	void *private_data;
} __btf;

struct mm_struct;

struct task_struct {
	int tgid;
	struct mm_struct *mm;
} __btf;

struct bpf_iter_meta {
	struct seq_file *seq;
} __btf;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
} __btf;

/* Address of kvm_vcpu_release(): what makes a file a vCPU's. */
const volatile __u64 vcpu_release;

SEC("iter/task_file")
int find_vcpu_files(struct bpf_iter__task_file *ctx)
{
	struct host_vcpu_file found = {};
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;

	if (!task || !file)
		return 0;
	if ((__u64)BPF_CORE_READ(file, f_op, release) != vcpu_release)
		return 0;
	found.kvm_vcpu = (__u64)BPF_CORE_READ(file, private_data);
	found.mm = (__u64)BPF_CORE_READ(task, mm);
	found.pid = BPF_CORE_READ(task, tgid);
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

/* Request and answer of read_kernel, mapped into user space. */
__u64 read_addr;
__u32 read_size;
long read_result;
__u8 read_data[HOST_READ_MAX];

/*
 * Run through BPF_PROG_TEST_RUN, which raw tracepoint programs have since 5.10 and the "syscall"
 * type only since 5.14. It is attached to nothing.
 */
SEC("raw_tp")
int read_kernel(void *ctx)
{
	__u32 size = read_size;

	if (size > HOST_READ_MAX) {
		read_result = -7;	/* E2BIG */
		return 0;
	}
	read_result = bpf_probe_read_kernel(read_data, size, (void *)read_addr);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
