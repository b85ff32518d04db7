/* SPDX-License-Identifier: GPL-2.0-only */
/* elfutils' debuginfod client, loaded when it is needed. */
#include "symbols/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/log.h"

struct debuginfod {
	void *library;
	debuginfod_client *client;
	debuginfod_progress_fn progress;
	const char *path;	/* that is being fetched */
	const atomic_bool *stop;	/* of that; may be NULL */
	bool cancelled;		/* by the user: nothing more is fetched */

	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_find_debuginfo) *find_debuginfo;
	__typeof__(debuginfod_find_executable) *find_executable;
	__typeof__(debuginfod_set_progressfn) *set_progressfn;
	__typeof__(debuginfod_set_user_data) *set_user_data;
};

DEFINE_CLEANUP(struct debuginfod *, debuginfod_destroy)

static bool load_functions(struct debuginfod *self)
{
	void *library = self->library;

	self->begin = dlsym(library, "debuginfod_begin");
	self->end = dlsym(library, "debuginfod_end");
	self->find_debuginfo = dlsym(library, "debuginfod_find_debuginfo");
	self->find_executable = dlsym(library, "debuginfod_find_executable");
	self->set_progressfn = dlsym(library, "debuginfod_set_progressfn");
	self->set_user_data = dlsym(library, "debuginfod_set_user_data");
	return self->begin && self->end && self->find_debuginfo && self->find_executable &&
	       self->set_progressfn && self->set_user_data;
}

/* The library hands on its client alone, and what hangs on it only it can say. */
static struct debuginfod *self_of(debuginfod_client *client)
{
	void *library = dlopen(DEBUGINFOD_SONAME, RTLD_LAZY | RTLD_NOLOAD);
	__typeof__(debuginfod_get_user_data) *get_user_data =
		library ? dlsym(library, "debuginfod_get_user_data") : NULL;
	struct debuginfod *self = get_user_data ? get_user_data(client) : NULL;

	if (library)
		dlclose(library);
	return self;
}

/* Bytes so far of bytes in all, or, before those are known, 0 of 0 and numbers of no interest. */
static int on_progress(debuginfod_client *client, long done, long total)
{
	struct debuginfod *self = self_of(client);

	if (self && self->stop && *self->stop)
		return 1;
	if (self && self->progress && !self->cancelled)
		self->cancelled = self->progress(self->path, total > 0 ? done : 0,
						 total > 0 ? total : 0);
	return self && self->cancelled;
}

int debuginfod_create(debuginfod_progress_fn progress, struct debuginfod **ret,
		      const char **ret_why)
{
	_cleanup_(debuginfod_destroy) struct debuginfod *self = NULL;
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);

	if (!urls || !urls[strspn(urls, " ")])
		return -ENOENT;
	self = calloc(1, sizeof(*self));
	if (!self)
		return -ENOMEM;
	self->progress = progress;
	self->library = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!self->library || !load_functions(self)) {
		*ret_why = "DEBUGINFOD_URLS is set, but " DEBUGINFOD_SONAME
			   " is not there (install libdebuginfod1)";
		return -ENOSYS;
	}
	self->client = self->begin();
	if (!self->client)
		return -ENOMEM;
	self->set_user_data(self->client, self);
	self->set_progressfn(self->client, on_progress);
	*ret = TAKE_PTR(self);
	return 0;
}

void debuginfod_destroy(struct debuginfod *self)
{
	if (!self)
		return;
	if (self->client)
		self->end(self->client);
	if (self->library)
		dlclose(self->library);
	free(self);
}

int debuginfod_find(struct debuginfod *self, const struct build_id *id, bool executable,
		    const char *path, const atomic_bool *stop, char *ret_path, size_t size)
{
	char *local = NULL;
	int fd;

	if (self->cancelled || (stop && *stop))
		return -ENOENT;
	self->path = path;
	self->stop = stop;
	fd = executable ? self->find_executable(self->client, id->data, id->size, &local) :
			  self->find_debuginfo(self->client, id->data, id->size, &local);
	if (fd < 0) {
		log_debug("debuginfod: %s of %s: %s", executable ? "executable" : "debug file",
			  path, error_text(fd));
		return fd;
	}
	close(fd);
	fd = snprintf(ret_path, size, "%s", local) < (int)size ? 0 : -ENAMETOOLONG;
	free(local);
	return fd;
}
