/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flame graph's page. The frames go into it as three columns of numbers and a table of
 * symbols, each distinct one once: small to load, and no text is built into HTML anywhere.
 */
#include "output/flamegraph.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "output/flamegraph-page.h"
#include "output/json.h"

struct frame_row {
	u32 depth;
	u32 symbol;
	u64 weight;
};

struct symbol_text {
	u32 name, module;	/* offsets into texts */
	enum flamegraph_kind kind;
};

struct flamegraph {
	struct strbuf head;	/* the JSON object's first members */
	struct strbuf texts;	/* NUL-terminated, one after the other */
	struct hashmap index;	/* hash of a symbol to its place in symbols, plus one */
	VEC(struct symbol_text) symbols;
	VEC(struct frame_row) frames;
};

static void add_head(struct strbuf *head, const struct flamegraph_options *options)
{
	strbuf_adds(head, "{\"title\":");
	json_add_string(head, options->title);
	strbuf_adds(head, ",\"unit\":");
	json_add_string(head, options->unit);
	strbuf_addf(head, ",\"guest\":%s,\"inverted\":%s,\"notes\":[",
		    options->guest ? "true" : "false", options->inverted ? "true" : "false");
	for (size_t i = 0; options->notes && options->notes[i]; i++) {
		if (i)
			strbuf_addc(head, ',');
		json_add_string(head, options->notes[i]);
	}
	strbuf_addc(head, ']');
}

int flamegraph_create(const struct flamegraph_options *options, struct flamegraph **ret)
{
	struct flamegraph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return -ENOMEM;
	add_head(&graph->head, options);
	if (strbuf_error(&graph->head)) {
		flamegraph_destroy(graph);
		return -ENOMEM;
	}
	*ret = graph;
	return 0;
}

void flamegraph_destroy(struct flamegraph *graph)
{
	if (!graph)
		return;
	strbuf_deinit(&graph->head);
	strbuf_deinit(&graph->texts);
	hashmap_deinit(&graph->index);
	vec_deinit(&graph->symbols);
	vec_deinit(&graph->frames);
	free(graph);
}

static bool is_symbol(const struct flamegraph *graph, const struct symbol_text *symbol,
		      const char *name, const char *module, enum flamegraph_kind kind)
{
	return symbol->kind == kind && !strcmp(graph->texts.data + symbol->name, name) &&
	       !strcmp(graph->texts.data + symbol->module, module);
}

static int add_symbol(struct flamegraph *graph, const char *name, const char *module,
		      enum flamegraph_kind kind)
{
	struct symbol_text symbol = { .kind = kind };

	if (graph->texts.len + strlen(name) + strlen(module) + 2 > UINT32_MAX)
		return -E2BIG;
	symbol.name = graph->texts.len;
	strbuf_add(&graph->texts, name, strlen(name) + 1);
	symbol.module = graph->texts.len;
	strbuf_add(&graph->texts, module, strlen(module) + 1);
	if (strbuf_error(&graph->texts))
		return -ENOMEM;
	return vec_push(&graph->symbols, symbol);
}

/* The place of a symbol in the table, which it may be new to. */
static int find_symbol(struct flamegraph *graph, const char *name, const char *module,
		       enum flamegraph_kind kind, u32 *ret_symbol)
{
	u64 hash = hash_combine(hash_combine(hash_bytes(name, strlen(name)),
					     hash_bytes(module, strlen(module))), kind);
	bool is_new;
	u64 *place;
	int err;

	/* Different symbols may share a hash, by chance or by the guest's will. */
	for (;; hash = hash_u64(hash + 1)) {
		place = hashmap_put(&graph->index, hash, &is_new);
		if (!place)
			return -ENOMEM;
		if (is_new)
			break;
		if (is_symbol(graph, &graph->symbols.data[*place - 1], name, module, kind)) {
			*ret_symbol = *place - 1;
			return 0;
		}
	}
	err = add_symbol(graph, name, module, kind);
	if (err)
		return err;
	*place = graph->symbols.nr;
	*ret_symbol = graph->symbols.nr - 1;
	return 0;
}

static bool depth_follows(const struct flamegraph *graph, unsigned int depth)
{
	if (!graph->frames.nr)
		return depth == 0;
	return depth > 0 && depth <= graph->frames.data[graph->frames.nr - 1].depth + 1;
}

int flamegraph_add(struct flamegraph *graph, unsigned int depth, const char *name,
		   const char *module, enum flamegraph_kind kind, u64 weight)
{
	struct frame_row row = { .depth = depth, .weight = weight };
	int err;

	if (!depth_follows(graph, depth))
		return -EBADMSG;
	err = find_symbol(graph, name, module ?: "", kind, &row.symbol);
	if (err)
		return err;
	return vec_push(&graph->frames, row);
}

static void add_symbols(const struct flamegraph *graph, struct strbuf *out)
{
	strbuf_adds(out, ",\n\"symbols\":[");
	for (size_t i = 0; i < graph->symbols.nr; i++) {
		const struct symbol_text *symbol = &graph->symbols.data[i];

		strbuf_adds(out, i ? ",\n[" : "\n[");
		json_add_string(out, graph->texts.data + symbol->name);
		strbuf_addc(out, ',');
		json_add_string(out, graph->texts.data + symbol->module);
		strbuf_addf(out, ",%d]", symbol->kind);
	}
	strbuf_addc(out, ']');
}

#define ADD_COLUMN(graph, out, member)                                                      \
	do {                                                                                \
		strbuf_adds(out, ",\n\"" #member "\":[");                                   \
		for (size_t i_ = 0; i_ < (graph)->frames.nr; i_++)                          \
			strbuf_addf(out, "%s%llu", i_ ? "," : "",                           \
				    (unsigned long long)(graph)->frames.data[i_].member);   \
		strbuf_addc(out, ']');                                                      \
	} while (0)

int flamegraph_write(const struct flamegraph *graph, struct strbuf *out)
{
	strbuf_add(out, flamegraph_page_head, flamegraph_page_head_size);
	strbuf_add(out, graph->head.data, graph->head.len);
	add_symbols(graph, out);
	ADD_COLUMN(graph, out, depth);
	ADD_COLUMN(graph, out, symbol);
	ADD_COLUMN(graph, out, weight);
	strbuf_addc(out, '}');
	strbuf_add(out, flamegraph_page_tail, flamegraph_page_tail_size);
	return strbuf_error(out);
}
