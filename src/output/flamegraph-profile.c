/* SPDX-License-Identifier: GPL-2.0-only */
/* From a profile's call tree to the frames of a flame graph. */
#include "output/flamegraph-profile.h"

#include <string.h>

#define KERNEL_HALF (1ULL << 63)

/*
 * Code without a symbol is many addresses of what may be one function. Frames of it are merged, one
 * for each object, into such a number: MERGED | the object's id, or one of the two below.
 */
#define MERGED (1u << 30)
#define MERGED_USER (MERGED | (MERGED - 1))
#define MERGED_UNKNOWN (MERGED | (MERGED - 2))

static bool is_merged(u32 frame)
{
	return frame < PROFILE_FRAME_COMM && (frame & MERGED);
}

/*
 * What to show @node of the profile's tree as. Where not even the object is known, return addresses
 * are all that tells callers apart, so they stay; sampled addresses tell nothing.
 */
static u32 shown_frame(const struct profile *profile, const struct calltree_node *node)
{
	const struct profile_frame *code;

	if (node->frame >= PROFILE_FRAME_COMM)
		return node->frame;
	code = &profile->frames.data[node->frame];
	if (code->symbol != RESOLVER_NONE)
		return node->frame;
	if (code->dso != RESOLVER_NONE)
		return MERGED | code->dso;
	if (node->child != CALLTREE_NONE)
		return node->frame;
	return code->addr & KERNEL_HALF ? MERGED_UNKNOWN : MERGED_USER;
}

/* Adds @from's paths, in frames as they are shown, to @to. */
static int merge_nodes(const struct profile *profile, const struct calltree *from,
		       struct calltree *to)
{
	const struct calltree_node *nodes = from->nodes.data;
	u32 *merged = calloc(from->nodes.nr, sizeof(*merged));	/* by node of @from */

	if (!merged)
		return -ENOMEM;
	merged[CALLTREE_ROOT] = CALLTREE_ROOT;
	for (size_t i = 1; i < from->nodes.nr; i++) {
		merged[i] = calltree_child(to, merged[nodes[i].parent],
					   shown_frame(profile, &nodes[i]));
		if (merged[i] == CALLTREE_NONE) {
			free(merged);
			return -ENOMEM;
		}
		to->nodes.data[merged[i]].self += nodes[i].self;
	}
	free(merged);
	return calltree_finish(to);
}

/* "[ext4]" or a module's file, as opposed to the kernel itself. */
static bool is_module(const char *dso)
{
	return strstr(dso, ".ko") || (dso[0] == '[' && strncmp(dso, "[kernel", 7) &&
				      strncmp(dso, "[guest.kernel", 13));
}

static enum flamegraph_kind dso_kind(const struct profile *profile, u32 dso)
{
	if (!resolver_dso_is_kernel(profile->resolver, dso))
		return FLAMEGRAPH_USER;
	return is_module(resolver_dso_short_name(profile->resolver, dso)) ? FLAMEGRAPH_MODULE :
									    FLAMEGRAPH_KERNEL;
}

/* Of the guest's user space at least the addresses are known. */
static enum flamegraph_kind frame_kind(const struct profile *profile, u32 frame)
{
	const struct profile_frame *code;

	if (frame >= PROFILE_FRAME_COMM)
		return FLAMEGRAPH_PROCESS;
	if (frame == MERGED_USER)
		return FLAMEGRAPH_USER;
	if (frame == MERGED_UNKNOWN)
		return FLAMEGRAPH_UNKNOWN;
	if (is_merged(frame))
		return dso_kind(profile, frame & ~MERGED);
	code = &profile->frames.data[frame];
	if (code->dso != RESOLVER_NONE)
		return dso_kind(profile, code->dso);
	return code->addr & KERNEL_HALF ? FLAMEGRAPH_UNKNOWN : FLAMEGRAPH_USER;
}

/* NULL: none, or not known. */
static const char *frame_module(const struct profile *profile, u32 frame)
{
	u32 dso;

	if (frame >= PROFILE_FRAME_COMM || frame == MERGED_USER || frame == MERGED_UNKNOWN)
		return NULL;
	dso = is_merged(frame) ? frame & ~MERGED : profile->frames.data[frame].dso;
	return dso == RESOLVER_NONE ? NULL : resolver_dso_short_name(profile->resolver, dso);
}

static int add_frame(struct flamegraph *graph, const struct profile *profile, unsigned int depth,
		     const struct calltree_node *node)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	if (is_merged(node->frame))
		strbuf_adds(&name, "[unknown]");
	else
		profile_frame_label(profile, node->frame, &name);
	if (strbuf_error(&name))
		return -ENOMEM;
	return flamegraph_add(graph, depth, strbuf_cstr(&name), frame_module(profile, node->frame),
			      frame_kind(profile, node->frame), node->total);
}

static int add_tree(struct flamegraph *graph, const struct profile *profile,
		    const struct calltree *tree)
{
	const struct calltree_node *nodes = tree->nodes.data;
	unsigned int depth = 0;
	int err;

	if (!nodes[CALLTREE_ROOT].total)
		return 0;
	err = flamegraph_add(graph, 0, "all", NULL, FLAMEGRAPH_PROCESS,
			     nodes[CALLTREE_ROOT].total);
	for (u32 n = calltree_next(tree, CALLTREE_ROOT, &depth); n != CALLTREE_NONE && !err;
	     n = calltree_next(tree, n, &depth))
		err = add_frame(graph, profile, depth, &nodes[n]);
	return err;
}

int flamegraph_add_profile(struct flamegraph *graph, const struct profile *profile, size_t event,
			   enum profile_by by)
{
	struct calltree tree, merged;
	int err;

	err = profile_call_tree(profile, event, by, &tree);
	if (err)
		return err;
	err = calltree_init(&merged);
	if (!err) {
		err = merge_nodes(profile, &tree, &merged);
		if (!err)
			err = add_tree(graph, profile, &merged);
		calltree_deinit(&merged);
	}
	calltree_deinit(&tree);
	return err;
}
