/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lists of code that the kernel made are followed after changes to what they consist of: the
 * input is patches (build-patches.h) to that.
 */
#include <string.h>

#include "build-ksyms.h"
#include "build-patches.h"
#include "guest/ksyms.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct target {
	struct build_guest build;
	struct build_process p;
	struct build_ksyms ksyms;
	struct guest *guest;
	u64 start;	/* of the lists' entries */
};

static struct target *get_target(void)
{
	static struct target *t;
	struct build_guest_options options = build_guest_release(6);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	build_guest_init(&t->build, &options);
	build_process_init(&t->p, &t->build);
	t->start = t->p.next;
	build_ksyms_init(&t->ksyms, &t->p);
	t->guest = build_process_identify(&t->p);
	if (!t->guest)
		abort();
	return t;
}

/* What is promised whatever the memory holds. */
static int check(void *ctx, const struct guest_ksym *ksym)
{
	u64 *nr = ctx;

	if (++*nr > 4ULL * GUEST_MAX_KSYMS || ksym->end.addr <= ksym->start.addr ||
	    !ksym->name[0] || strnlen(ksym->name, sizeof(ksym->name)) == sizeof(ksym->name))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct target *t = get_target();
	struct build_patches patches = {
		.guest = &t->build, .start = t->start, .size = t->p.next - t->start,
	};
	u64 nr = 0;

	build_patches_apply(&patches, data, size);
	guest_for_each_ksym(t->guest, check, &nr);
	build_patches_undo(&patches);
	return 0;
}
