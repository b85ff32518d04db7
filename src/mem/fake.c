/* SPDX-License-Identifier: GPL-2.0-only */
/* Sparse guest physical memory in a buffer. */
#include "mem/fake.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"

struct mem_fake {
	struct mem_reader reader;
	struct hashmap pages;	/* frame number to pointer; NULL: taken away */
	VEC(u8 *) owned;
	_Atomic u64 reads;
	u64 fail_after;
	int fail_err;
};

static u8 *find_page(const struct mem_fake *fake, u64 addr)
{
	u64 *page = hashmap_get(&fake->pages, addr / MEM_FAKE_PAGE);

	return page ? (u8 *)(uintptr_t)*page : NULL;
}

static int fake_read(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	struct mem_fake *fake = container_of(reader, struct mem_fake, reader);

	if (++fake->reads > fake->fail_after && fake->fail_err)
		return fake->fail_err;
	if (gpa.addr + size < gpa.addr)
		return -EFAULT;
	for (size_t done = 0; done < size;) {
		u64 addr = gpa.addr + done;
		size_t part = MIN(size - done, MEM_FAKE_PAGE - addr % MEM_FAKE_PAGE);
		const u8 *page = find_page(fake, addr);

		if (!page)
			return -EFAULT;
		memcpy((u8 *)out + done, page + addr % MEM_FAKE_PAGE, part);
		done += part;
	}
	return 0;
}

struct mem_fake *mem_fake_create(void)
{
	struct mem_fake *fake = calloc(1, sizeof(*fake));

	if (fake)
		fake->reader.read = fake_read;
	return fake;
}

void mem_fake_destroy(struct mem_fake *fake)
{
	if (!fake)
		return;
	vec_for_each(&fake->owned, page)
		free(*page);
	vec_deinit(&fake->owned);
	hashmap_deinit(&fake->pages);
	free(fake);
}

const struct mem_reader *mem_fake_reader(struct mem_fake *fake)
{
	return &fake->reader;
}

u8 *mem_fake_page(struct mem_fake *fake, gpa_t gpa)
{
	u64 *place = hashmap_put(&fake->pages, gpa.addr / MEM_FAKE_PAGE, NULL);
	u8 *page;

	if (!place)
		return NULL;
	if (*place)
		return (u8 *)(uintptr_t)*place;
	page = calloc(1, MEM_FAKE_PAGE);
	if (!page)
		return NULL;
	if (vec_push(&fake->owned, page)) {
		free(page);
		return NULL;
	}
	*place = (uintptr_t)page;
	return page;
}

int mem_fake_set(struct mem_fake *fake, gpa_t gpa, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		u64 addr = gpa.addr + done;
		size_t part = MIN(size - done, MEM_FAKE_PAGE - addr % MEM_FAKE_PAGE);
		u8 *page = mem_fake_page(fake, GPA(addr));

		if (!page)
			return -ENOMEM;
		memcpy(page + addr % MEM_FAKE_PAGE, (const u8 *)data + done, part);
		done += part;
	}
	return 0;
}

int mem_fake_set_u64(struct mem_fake *fake, gpa_t gpa, u64 value)
{
	return mem_fake_set(fake, gpa, &value, sizeof(value));
}

void mem_fake_drop(struct mem_fake *fake, gpa_t gpa)
{
	u64 *page = hashmap_get(&fake->pages, gpa.addr / MEM_FAKE_PAGE);

	if (page)
		*page = 0;
}

void mem_fake_fail(struct mem_fake *fake, u64 after, int err)
{
	fake->fail_after = fake->reads + after;
	fake->fail_err = err;
}

u64 mem_fake_reads(const struct mem_fake *fake)
{
	return fake->reads;
}
