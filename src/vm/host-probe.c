/* SPDX-License-Identifier: GPL-2.0-only */
/* The host kernel through BPF. */
#include "vm/host-probe.h"

#ifdef HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "base/strbuf.h"
#include "host.skel.h"

#define MAX_OUTPUT (64U << 20)	/* of the iterator */

struct host_probe {
	struct kernel_mem kernel;
	struct host_bpf *skel;
	struct bpf_link *iterator;
};

static int read_once(struct host_probe *probe, u64 addr, void *out, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	probe->skel->bss->read_addr = addr;
	probe->skel->bss->read_size = size;
	probe->skel->bss->read_result = -1;
	err = bpf_prog_test_run_opts(bpf_program__fd(probe->skel->progs.read_kernel), &opts);
	if (err)
		return err;
	if (probe->skel->bss->read_result)
		return -EFAULT;
	memcpy(out, probe->skel->bss->read_data, size);
	return 0;
}

static int probe_read(struct kernel_mem *kernel, u64 addr, void *out, size_t size)
{
	struct host_probe *probe = container_of(kernel, struct host_probe, kernel);

	for (size_t done = 0; done < size;) {
		size_t part = MIN(size - done, (size_t)HOST_READ_MAX);
		int err = read_once(probe, addr + done, (u8 *)out + done, part);

		if (err)
			return err;
		done += part;
	}
	return 0;
}

static void probe_close(struct kernel_mem *kernel)
{
	host_probe_close(container_of(kernel, struct host_probe, kernel));
}

static int load(struct host_probe *probe, u64 vcpu_release)
{
	probe->skel = host_bpf__open();
	if (!probe->skel)
		return -errno;
	probe->skel->rodata->vcpu_release = vcpu_release;
	return host_bpf__load(probe->skel);
}

int host_probe_open(u64 vcpu_release, struct host_probe **ret)
{
	struct host_probe *probe = calloc(1, sizeof(*probe));
	int err;

	if (!probe)
		return -ENOMEM;
	probe->kernel.read = probe_read;
	probe->kernel.close = probe_close;
	err = load(probe, vcpu_release);
	if (!err) {
		probe->iterator =
			bpf_program__attach_iter(probe->skel->progs.find_vcpu_files, NULL);
		if (!probe->iterator)
			err = -errno;
	}
	if (err) {
		host_probe_close(probe);
		return err;
	}
	*ret = probe;
	return 0;
}

void host_probe_close(struct host_probe *probe)
{
	if (!probe)
		return;
	bpf_link__destroy(probe->iterator);
	host_bpf__destroy(probe->skel);
	free(probe);
}

struct kernel_mem *host_probe_kernel(struct host_probe *probe)
{
	return &probe->kernel;
}

static int read_iterator(struct host_probe *probe, struct strbuf *sb)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(probe->iterator));
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		if (strbuf_grow(sb, 64 * sizeof(struct host_vcpu_file)))
			return -ENOMEM;
		n = read(fd, sb->data + sb->len, sb->alloc - sb->len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0)
			sb->len += n;
		if (sb->len > MAX_OUTPUT)
			return -E2BIG;
	} while (n);
	return 0;
}

int host_probe_vcpu_files(struct host_probe *probe,
			  int (*fn)(const struct host_vcpu_file *file, void *arg), void *arg)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	struct host_vcpu_file file;
	int err;

	err = read_iterator(probe, &sb);
	for (size_t at = 0; !err && at + sizeof(file) <= sb.len; at += sizeof(file)) {
		memcpy(&file, sb.data + at, sizeof(file));
		err = fn(&file, arg);
	}
	return err;
}

#else

int host_probe_open(u64 vcpu_release __maybe_unused, struct host_probe **ret __maybe_unused)
{
	return -EOPNOTSUPP;
}

void host_probe_close(struct host_probe *probe __maybe_unused)
{
}

struct kernel_mem *host_probe_kernel(struct host_probe *probe __maybe_unused)
{
	return NULL;
}

int host_probe_vcpu_files(struct host_probe *probe __maybe_unused,
			  int (*fn)(const struct host_vcpu_file *file, void *arg) __maybe_unused,
			  void *arg __maybe_unused)
{
	return -EOPNOTSUPP;
}

#endif
