/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads of guest structures, counted. */
#include "guest/kread.h"

void kread_init(struct kread *k, const struct mem_reader *mem, const struct mmu_space *space,
		u64 max_reads)
{
	*k = (struct kread){ .mem = mem, .space = *space, .left = max_reads };
}

static int charge(struct kread *k)
{
	if (!k->left)
		return -E2BIG;
	k->left--;
	return 0;
}

/* Where @address is, and how many bytes are from there to the page's end. */
static int translate(struct kread *k, u64 address, u64 *ret_gpa, u64 *ret_left)
{
	struct mmu_mapping at;
	int err;

	for (unsigned int i = 0; i < KREAD_PAGES; i++) {
		u64 inside = address - k->pages[i].start;

		if (inside >= k->pages[i].size)
			continue;
		*ret_gpa = k->pages[i].gpa + inside;
		*ret_left = k->pages[i].size - inside;
		return 0;
	}
	err = charge(k) ?: mmu_translate(&k->space, k->mem, GVA(address), &at);
	if (err)
		return err;
	k->pages[k->next].start = ALIGN_DOWN(address, at.page_size);
	k->pages[k->next].size = at.page_size;
	k->pages[k->next].gpa = at.gpa.addr - (address - k->pages[k->next].start);
	k->next = (k->next + 1) % KREAD_PAGES;
	*ret_gpa = at.gpa.addr;
	*ret_left = at.page_size - address % at.page_size;
	return 0;
}

int kread_physical(struct kread *k, u64 gpa, void *out, size_t size)
{
	return charge(k) ?: mem_read(k->mem, GPA(gpa), out, size);
}

int kread(struct kread *k, u64 address, void *out, size_t size)
{
	for (size_t done = 0, part; done < size; done += part) {
		u64 gpa, left;
		int err = translate(k, address + done, &gpa, &left);

		if (err)
			return err;
		part = MIN(size - done, left);
		err = kread_physical(k, gpa, (u8 *)out + done, part);
		if (err)
			return err;
	}
	return 0;
}

int kread_u64(struct kread *k, u64 address, u64 *ret)
{
	return kread(k, address, ret, sizeof(*ret));
}

int kobject_read(struct kread *k, u64 address, u32 size, struct kobject *ret)
{
	if (!size || size > sizeof(ret->bytes))
		return -EOPNOTSUPP;
	ret->address = address;
	return kread(k, address, ret->bytes, size);
}
