/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Demangling, by libiberty. Substitutions let a short name expand exponentially and the library
 * has no limit on its output, hence its callback form: it allocates nothing, so the callback may
 * leave it with longjmp() when it has seen enough.
 */
#include "symbols/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/strbuf.h"

struct output {
	struct strbuf sb;
	jmp_buf enough;
};

static void append(const char *text, size_t len, void *ctx)
{
	struct output *out = ctx;

	if (out->sb.len + len > DEMANGLE_MAX)
		longjmp(out->enough, 1);
	strbuf_add(&out->sb, text, len);
}

static bool may_be_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) ||
	       !strncmp(name, "_GLOBAL_", 8);
}

/* Rust's older names look like C++: ask for Rust first, as libiberty's automatic style does. */
static bool run(const char *name, struct output *out)
{
	if (setjmp(out->enough))
		return false;
	if (rust_demangle_callback(name, DMGL_NO_OPTS, append, out))
		return true;
	strbuf_reset(&out->sb);
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, append, out);
}

/* What the linker made of a function: the function's name and this. */
static const char *plt_suffix(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, "@plt") ? name + len - 4 : NULL;
}

char *demangle(const char *name)
{
	struct output out = { .sb = STRBUF_INIT };
	_cleanup_free_ char *function = NULL;
	const char *suffix;
	char *text = NULL;

	if (!may_be_mangled(name))
		return NULL;
	suffix = plt_suffix(name);
	if (suffix) {
		function = strndup(name, suffix - name);
		if (!function)
			return NULL;
	}
	if (run(function ? function : name, &out)) {
		strbuf_adds(&out.sb, suffix ? suffix : "");
		if (!strbuf_error(&out.sb))
			text = strbuf_steal(&out.sb, NULL);
	}
	strbuf_deinit(&out.sb);
	return text;
}
