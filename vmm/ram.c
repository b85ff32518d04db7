/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory slots and what backs them. */
#include "ram.h"

#include <errno.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD 4096
#define HUGE_PAGE (2ULL << 20)

/* @size bytes at a multiple of 2 MiB, with memory around them that faults. */
static void *reserve(uint64_t size)
{
	uint8_t *space = mmap(NULL, size + 2 * HUGE_PAGE, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (space == MAP_FAILED)
		return MAP_FAILED;
	return (void *)(((uintptr_t)space + GUARD + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
}

static int map_anonymous(void *at, uint64_t size)
{
	void *p = mmap(at, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int map_memfd(void *at, uint64_t size, enum memory_kind kind)
{
	int share = kind == MEMORY_MEMFD_PRIVATE ? MAP_PRIVATE : MAP_SHARED, err = 0;
	int fd = memfd_create("guest", MFD_CLOEXEC | (kind == MEMORY_HUGETLB ? MFD_HUGETLB : 0));

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, size) ||
	    mmap(at, size, PROT_READ | PROT_WRITE, share | MAP_FIXED, fd, 0) == MAP_FAILED)
		err = -errno;
	close(fd);
	return err;
}

static int create_slot(struct memory *memory, int vm_fd, enum memory_kind kind, uint64_t size)
{
	struct memory_slot *slot = &memory->slots[memory->nr];
	struct kvm_userspace_memory_region region;
	void *at = reserve(size);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	err = kind == MEMORY_ANON ? map_anonymous(at, size) : map_memfd(at, size, kind);
	if (err)
		return err;
	*slot = (struct memory_slot){ .gpa = memory->size, .size = size, .hva = at };
	region = (struct kvm_userspace_memory_region){
		.slot = memory->nr,
		.guest_phys_addr = slot->gpa,
		.memory_size = size,
		.userspace_addr = (uintptr_t)at,
	};
	if (ioctl(vm_fd, KVM_SET_USER_MEMORY_REGION, &region))
		return -errno;
	memory->nr++;
	memory->size += size;
	return 0;
}

int memory_create(struct memory *memory, int vm_fd, enum memory_kind kind, uint64_t size,
		  unsigned int nr_slots)
{
	uint64_t part;
	int err = 0;

	*memory = (struct memory){ .nr = 0 };
	if (!nr_slots || nr_slots > MEMORY_MAX_SLOTS || size > MEMORY_MAX || size % HUGE_PAGE)
		return -EINVAL;
	part = size / nr_slots & ~(HUGE_PAGE - 1);
	if (!part)
		return -EINVAL;
	while (!err && memory->nr < nr_slots)
		err = create_slot(memory, vm_fd, kind,
				  memory->nr + 1 < nr_slots ? part : size - memory->size);
	return err;
}

/* @size is not 0. Returns what of it is in one piece, and where; *ret_hva is set. */
static size_t piece(const struct memory *memory, uint64_t gpa, size_t size, uint8_t **ret_hva)
{
	unsigned int i = 0;
	size_t left;

	while (gpa - memory->slots[i].gpa >= memory->slots[i].size)
		i++;
	left = memory->slots[i].size - (gpa - memory->slots[i].gpa);
	*ret_hva = memory->slots[i].hva + (gpa - memory->slots[i].gpa);
	return left < size ? left : size;
}

static bool is_memory(const struct memory *memory, uint64_t gpa, size_t size)
{
	return gpa <= memory->size && size <= memory->size - gpa;
}

/* To @to from the guest's memory; with NULL there to that from @from. */
static int copy(const struct memory *memory, uint64_t gpa, uint8_t *to, const uint8_t *from,
		size_t size)
{
	if (!is_memory(memory, gpa, size))
		return -EFAULT;
	for (size_t done = 0, part; done < size; done += part) {
		uint8_t *hva;

		part = piece(memory, gpa + done, size - done, &hva);
		if (to)
			memcpy(to + done, hva, part);
		else
			memcpy(hva, from + done, part);
	}
	return 0;
}

int memory_write(const struct memory *memory, uint64_t gpa, const void *data, size_t size)
{
	return copy(memory, gpa, NULL, data, size);
}

int memory_read(const struct memory *memory, uint64_t gpa, void *data, size_t size)
{
	return copy(memory, gpa, data, NULL, size);
}
