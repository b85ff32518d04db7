/* SPDX-License-Identifier: GPL-2.0-only */
/* One number of each frame: what the keys that depend on the frame tell apart. */
#include <string.h>

#include "analyze/hist-private.h"
#include "base/hashmap.h"

static int name_dsos(struct hist *hist)
{
	const struct resolver *resolver = hist->profile->resolver;
	u32 nr = resolver_nr_dsos(resolver);
	struct hashmap first = HASHMAP_INIT;

	hist->dso_names = malloc((nr + 1) * sizeof(u32));
	if (!hist->dso_names)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		const char *name = resolver_dso_short_name(resolver, i);
		u64 hash = hash_bytes(name, strlen(name));
		u64 *value = hashmap_put(&first, hash, NULL);

		if (!value) {
			hashmap_deinit(&first);
			return -ENOMEM;
		}
		if (*value && strcmp(name, resolver_dso_short_name(resolver, *value - 1)))
			*value = 0;
		if (!*value)
			*value = i + 1;
		hist->dso_names[i] = *value - 1;
	}
	hashmap_deinit(&first);
	return 0;
}

static u32 dso_name(const struct hist *hist, u32 dso)
{
	return dso == RESOLVER_NONE ? HIST_NONE : hist->dso_names[dso];
}

static const char *symbol_name(const struct hist *hist, u32 frame)
{
	const char *name = profile_frame_symbol(hist->profile, frame);

	return name ? name : "";
}

/* Whether perf makes one entry of the two when it sorts by function. */
static bool same_function(const struct hist *hist, u32 a, u32 b)
{
	const struct profile_frame *x = hist_frame(hist, a), *y = hist_frame(hist, b);
	bool known = x->symbol != RESOLVER_NONE;

	if (x->addr != y->addr || known != (y->symbol != RESOLVER_NONE))
		return false;
	if (!known && !hist_has_key(hist, HIST_KEY_DSO))
		return true;
	if (dso_name(hist, x->dso) != dso_name(hist, y->dso))
		return false;
	return !known || x->symbol == y->symbol ||
	       !strcmp(symbol_name(hist, a), symbol_name(hist, b));
}

/* The key of frame @i; @first finds the first frame of a function again. */
static int function_key(struct hist *hist, u32 i, struct hashmap *first, u32 *ret)
{
	u64 hash = hist_frame(hist, i)->addr;

	for (;; hash = hash_u64(hash)) {
		u64 *value = hashmap_put(first, hash, NULL);

		if (!value)
			return -ENOMEM;
		if (!*value) {
			*value = i + 1;
			*ret = hist->nr_keys++;
			return 0;
		}
		if (same_function(hist, i, *value - 1)) {
			*ret = hist->keys[*value - 1];
			return 0;
		}
		/* Zero is where this walk would end. */
		if (!hash)
			hash = 1;
	}
}

static int make_function_keys(struct hist *hist)
{
	struct hashmap first = HASHMAP_INIT;
	int err = 0;

	for (u32 i = 0; i < hist->profile->frames.nr && !err; i++)
		err = function_key(hist, i, &first, &hist->keys[i]);
	hashmap_deinit(&first);
	return err;
}

int hist_make_keys(struct hist *hist)
{
	size_t nr = hist->profile->frames.nr;
	int err = name_dsos(hist);

	hist->keys = calloc(nr + 1, sizeof(u32));
	if (err || !hist->keys)
		return -ENOMEM;
	if (hist_has_key(hist, HIST_KEY_SYMBOL))
		return make_function_keys(hist);
	hist->nr_keys = 1;
	if (!hist_has_key(hist, HIST_KEY_DSO))
		return 0;
	hist->nr_keys = resolver_nr_dsos(hist->profile->resolver) + 1;
	for (size_t i = 0; i < nr; i++) {
		u32 name = dso_name(hist, hist_frame(hist, i)->dso);

		hist->keys[i] = name == HIST_NONE ? hist->nr_keys - 1 : name;
	}
	return 0;
}
