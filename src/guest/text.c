/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache of pages of the guest kernel's code. */
#include "guest/text.h"

#include <string.h>

#define PAGE_SIZE 4096U

/* 64 MiB, more than the code of any kernel and its modules; then all are forgotten. */
#define MAX_PAGES 16384

void text_init(struct text *text, const struct mem_reader *mem, const struct mmu_space *space)
{
	*text = (struct text){ .mem = mem, .space = *space };
}

static void forget(struct text *text)
{
	vec_for_each(&text->pages, page)
		free(*page);
	text->pages.nr = 0;
	hashmap_clear(&text->index);
}

void text_deinit(struct text *text)
{
	forget(text);
	vec_deinit(&text->pages);
	hashmap_deinit(&text->index);
}

static int read_page(struct text *text, u64 address, u8 *out)
{
	struct mmu_mapping mapping;
	int err;

	err = mmu_translate(&text->space, text->mem, GVA(address), &mapping);
	if (err)
		return err;
	if (!(mapping.access & MMU_EXEC))
		return -EFAULT;
	return mem_read(text->mem, mapping.gpa, out, PAGE_SIZE);
}

static int add_page(struct text *text, u64 address, const u8 *bytes, const u8 **ret)
{
	u64 *place;
	u8 *page;
	int err;

	if (text->pages.nr == MAX_PAGES)
		forget(text);
	place = hashmap_put(&text->index, address / PAGE_SIZE, NULL);
	page = malloc(PAGE_SIZE);
	if (!place || !page) {
		free(page);
		return -ENOMEM;
	}
	memcpy(page, bytes, PAGE_SIZE);
	*place = text->pages.nr;
	err = vec_push(&text->pages, page);
	if (err) {
		free(page);
		forget(text);
		return err;
	}
	*ret = page;
	return 0;
}

static int get_page(struct text *text, u64 address, bool fresh, const u8 **ret)
{
	u64 *place = hashmap_get(&text->index, address / PAGE_SIZE);
	u8 bytes[PAGE_SIZE];
	int err;

	if (place && !fresh) {
		*ret = text->pages.data[*place];
		return 0;
	}
	err = read_page(text, address, bytes);
	if (err)
		return err;
	if (!place)
		return add_page(text, address, bytes, ret);
	memcpy(text->pages.data[*place], bytes, PAGE_SIZE);
	*ret = text->pages.data[*place];
	return 0;
}

int text_read_before(struct text *text, u64 end, void *out, size_t size, bool fresh,
		     size_t *ret_read)
{
	size_t left = MIN(size, (size_t)PAGE_SIZE);
	u8 *to = (u8 *)out + left;

	while (left) {
		u64 page = ALIGN_DOWN(end - 1, (u64)PAGE_SIZE);
		size_t part = MIN(left, end - page);
		const u8 *bytes;
		int err = get_page(text, page, fresh, &bytes);

		if (err == -EFAULT || err == -EBADMSG)
			break;
		if (err)
			return err;
		end -= part;
		left -= part;
		to -= part;
		memcpy(to, bytes + end % PAGE_SIZE, part);
	}
	/* What is there moves to the front. */
	*ret_read = MIN(size, (size_t)PAGE_SIZE) - left;
	memmove(out, to, *ret_read);
	return 0;
}
