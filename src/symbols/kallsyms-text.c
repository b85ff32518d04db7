/* SPDX-License-Identifier: GPL-2.0-only */
/* The text format of /proc/kallsyms. */
#include "symbols/kallsyms-text.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"

#define MAX_MODULES 16384
#define MODULE_NAME_MAX 63	/* the kernel's MODULE_NAME_LEN is 56 on 64 bits, 6.1 */

struct module {
	char name[MODULE_NAME_MAX + 1];
	struct symtab *symbols;
};

struct kallsyms_text {
	struct symtab *kernel;
	VEC(struct module) modules;
	struct hashmap by_name;		/* hash of a name -> index + 1 */
	u64 seed;
	bool any_address;		/* one was not zero */
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* One to sixteen digits and a space. */
static int parse_address(const char **pos, const char *end, u64 *ret)
{
	const char *p = *pos;
	u64 addr = 0;
	int digit;

	for (; p < end && (digit = hex_digit(*p)) >= 0; p++) {
		if (p - *pos == 16)
			return -EBADMSG;
		addr = addr << 4 | digit;
	}
	if (p == *pos || p == end || *p != ' ')
		return -EBADMSG;
	*pos = p + 1;
	*ret = addr;
	return 0;
}

/* "name" or "name\t[module]". */
static int parse_names(const char *p, const char *end, struct kallsyms_line *ret)
{
	const char *tab = memchr(p, '\t', end - p), *name_end = tab ? tab : end;

	ret->name = p;
	ret->name_len = name_end - p;
	ret->module = NULL;
	ret->module_len = 0;
	if (!ret->name_len)
		return -EBADMSG;
	if (!tab)
		return 0;
	if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
		return -EBADMSG;
	ret->module = tab + 2;
	ret->module_len = end - 1 - ret->module;
	return 0;
}

static int parse_line(const char *p, const char *end, struct kallsyms_line *ret)
{
	int err = parse_address(&p, end, &ret->addr);

	if (err)
		return err;
	if (end - p < 3 || p[1] != ' ')
		return -EBADMSG;
	ret->type = *p;
	return parse_names(p + 2, end, ret);
}

int kallsyms_text_next(struct cursor *c, struct kallsyms_line *ret)
{
	const char *p = (const char *)c->pos, *newline;
	struct kallsyms_line line;
	int err;

	if (cursor_error(c))
		return cursor_error(c);
	if (!cursor_left(c))
		return 0;
	newline = memchr(p, '\n', cursor_left(c));
	if (!newline)
		return cursor_fail(c, -ENODATA);
	err = parse_line(p, newline, &line);
	if (err)
		return cursor_fail(c, err);
	cursor_skip(c, newline + 1 - p);
	*ret = line;
	return 1;
}

void kallsyms_text_destroy(struct kallsyms_text *kallsyms)
{
	if (!kallsyms)
		return;
	symtab_destroy(kallsyms->kernel);
	for (size_t i = 0; i < kallsyms->modules.nr; i++)
		symtab_destroy(kallsyms->modules.data[i].symbols);
	vec_deinit(&kallsyms->modules);
	hashmap_deinit(&kallsyms->by_name);
	free(kallsyms);
}

static int add_module(struct kallsyms_text *kallsyms, const char *name, size_t len, u64 key,
		      struct symtab **ret)
{
	struct module module = { .name = "" };
	u64 *place;
	int err;

	if (kallsyms->modules.nr >= MAX_MODULES)
		return -E2BIG;
	place = hashmap_put(&kallsyms->by_name, key, NULL);
	if (!place)
		return -ENOMEM;
	memcpy(module.name, name, len);
	err = symtab_create(&module.symbols);
	if (!err)
		err = vec_push(&kallsyms->modules, module);
	if (err) {
		symtab_destroy(module.symbols);
		return err;
	}
	*place = kallsyms->modules.nr;
	*ret = module.symbols;
	return 0;
}

/* The table of module @name, made on first sight. Names of one hash take the next keys. */
static int find_module(struct kallsyms_text *kallsyms, const char *name, size_t len,
		       struct symtab **ret)
{
	u64 key, *place;

	if (len > MODULE_NAME_MAX)
		return -EBADMSG;
	for (key = hash_bytes_seeded(kallsyms->seed, name, len);; key++) {
		const struct module *module;

		place = hashmap_get(&kallsyms->by_name, key);
		if (!place || !*place)
			return add_module(kallsyms, name, len, key, ret);
		module = &kallsyms->modules.data[*place - 1];
		if (strlen(module->name) == len && !memcmp(module->name, name, len)) {
			*ret = module->symbols;
			return 0;
		}
	}
}

static bool perf_wants(const struct kallsyms_line *line)
{
	return strchr("TtWwDdBb", line->type) && line->name[0] != '$';
}

static int add_line(struct kallsyms_text *kallsyms, const struct kallsyms_line *line)
{
	struct symtab *symtab = kallsyms->kernel;
	char name[SYMBOL_NAME_MAX + 1];
	size_t len = MIN(line->name_len, SYMBOL_NAME_MAX);
	int err = 0;

	if (line->addr)
		kallsyms->any_address = true;
	if (line->module)
		err = find_module(kallsyms, line->module, line->module_len, &symtab);
	if (err)
		return err;
	memcpy(name, line->name, len);
	name[len] = '\0';
	return symtab_add(symtab, line->addr, 0, line->type, name);
}

static int read_lines(struct kallsyms_text *kallsyms, const char *text, size_t size,
		      unsigned int flags)
{
	struct kallsyms_line line;
	struct cursor c;
	int err;

	cursor_init(&c, text, size);
	while ((err = kallsyms_text_next(&c, &line)) > 0) {
		if ((flags & KALLSYMS_PERF) && !perf_wants(&line))
			continue;
		err = add_line(kallsyms, &line);
		if (err)
			break;
	}
	if (!err && size && !kallsyms->any_address)
		err = -EACCES;
	return err;
}

int kallsyms_text_read(const char *text, size_t size, unsigned int flags,
		       struct kallsyms_text **ret)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *kallsyms = NULL;
	int err;

	kallsyms = calloc(1, sizeof(*kallsyms));
	if (!kallsyms)
		return -ENOMEM;
	if (size && memchr(text, '\0', size))
		return -EBADMSG;
	kallsyms->seed = hash_new_seed();
	err = symtab_create(&kallsyms->kernel);
	if (!err)
		err = read_lines(kallsyms, text, size, flags);
	if (!err)
		err = symtab_finish(kallsyms->kernel);
	for (size_t i = 0; i < kallsyms->modules.nr && !err; i++)
		err = symtab_finish(kallsyms->modules.data[i].symbols);
	if (err)
		return err;
	*ret = TAKE_PTR(kallsyms);
	return 0;
}

const struct symtab *kallsyms_text_kernel(const struct kallsyms_text *kallsyms)
{
	return kallsyms->kernel;
}

size_t kallsyms_text_nr_modules(const struct kallsyms_text *kallsyms)
{
	return kallsyms->modules.nr;
}

const char *kallsyms_text_module_name(const struct kallsyms_text *kallsyms, size_t i)
{
	return kallsyms->modules.data[i].name;
}

const struct symtab *kallsyms_text_module(const struct kallsyms_text *kallsyms, size_t i)
{
	return kallsyms->modules.data[i].symbols;
}

struct symtab *kallsyms_text_take_kernel(struct kallsyms_text *kallsyms)
{
	return TAKE_PTR(kallsyms->kernel);
}
