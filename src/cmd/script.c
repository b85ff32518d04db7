/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof script: the samples of a recording, one by one or folded. */
#include "output/script.h"

#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/input.h"
#include "output/folded.h"

#define FIELD_NAMES "comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso,srcline,stop"

static struct {
	const char *input;
	unsigned int fields;
	u64 max_stack;
	bool folded;
	bool nanoseconds;
	struct input_symbols symbols;
	struct input_filter filter;
} opt = {
	.symbols = INPUT_SYMBOLS_DEFAULT,
	.input = DEFAULT_INPUT,
	.fields = SCRIPT_DEFAULT_FIELDS,
	.max_stack = DEFAULT_MAX_STACK,
};

/* "comm,ip,sym" or changes to what is the default: "+pid,-period". */
static int parse_fields(const char *text, void *arg, const char **ret_why)
{
	unsigned int *fields = arg;
	bool change = *text == '+' || *text == '-';
	unsigned int chosen = change ? *fields : 0;

	while (*text) {
		char sign = *text == '+' || *text == '-' ? *text++ : '+';
		size_t len = strcspn(text, ",");
		unsigned int field = script_field_by_name(text, len);

		if (!field) {
			*ret_why = "fields are " FIELD_NAMES;
			return -EINVAL;
		}
		chosen = sign == '+' ? chosen | field : chosen & ~field;
		text += len;
		text += *text == ',';
	}
	*fields = chosen;
	return 0;
}

static const struct option_spec options[] = {
	OPT_GROUP("What to show"),
	OPT_FILE('i', "input", &opt.input, "the recording; - for standard input"),
	OPT_CALLBACK('F', "fields", parse_fields, &opt.fields, "FIELDS",
		     FIELD_NAMES "; or +FIELD,-FIELD"),
	OPT_NUMBER(0, "max-stack", &opt.max_stack, 1, 65535, "N",
		   "frames of a chain, innermost first (default 127)"),
	INPUT_FILTER_OPTIONS(opt.filter),
	OPT_GROUP("How"),
	OPT_FLAG(0, "folded", &opt.folded, "one line a chain, as flame graph tools take it"),
	OPT_FLAG(0, "ns", &opt.nanoseconds, "times to the nanosecond"),
	INPUT_SYMBOL_OPTIONS(opt.symbols),
	OPT_END
};

static const struct command_spec spec = {
	.name = "script",
	.usage = "[-i FILE] [OPTIONS]",
	.summary = "Print the samples of a recording, one by one or folded",
	.options = options,
};

static int write_samples(struct perfdata_reader *reader, struct outbuf *out)
{
	struct resolver_options resolver_options = input_resolver_options(&opt.symbols);
	const struct script_options script_options = {
		.fields = opt.fields,
		.max_stack = opt.max_stack,
		.nanoseconds = opt.nanoseconds,
		.filter = input_filter_active(&opt.filter) ? input_filter_sample : NULL,
		.filter_arg = &opt.filter,
	};
	_cleanup_(resolver_destroy) struct resolver *resolver = NULL;
	int err;

	resolver_options.lines = opt.fields & SCRIPT_SRCLINE;
	err = resolver_create(&resolver_options, &resolver);

	if (!err)
		err = resolver_add_build_ids(resolver, reader);
	if (err)
		return err;
	err = script_write(reader, resolver, &script_options, out);
	input_tell_sources(resolver);
	input_warn_user_stacks(reader);
	return err;
}

static int run_script(struct outbuf *out)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	const char *why = NULL;
	int err = perfdata_reader_open(opt.input, &reader, &why);

	if (err)
		return input_error(opt.input, err, why);
	err = write_samples(reader, out);
	if (err == -ENODATA) {
		input_warn_truncated(opt.input);
		err = 0;
	}
	return err && !out->error ? input_error(opt.input, err, NULL) : STATUS_OK;
}

static int run_folded(struct outbuf *out)
{
	const struct profile_options profile_options = {
		.resolver = input_resolver_options(&opt.symbols),
		.max_stack = opt.max_stack,
		.filter = input_filter_active(&opt.filter) ? input_filter_sample : NULL,
		.filter_arg = &opt.filter,
	};
	_cleanup_(profile_destroy) struct profile *profile = NULL;
	const char *why = NULL;
	int err = profile_load(opt.input, &profile_options, &profile, &why);

	if (err)
		return input_error(opt.input, err, why);
	if (profile->truncated)
		input_warn_truncated(opt.input);
	input_tell_sources(profile->resolver);
	input_warn_user_stacks(profile->reader);
	err = folded_write(profile, out);
	return err && !out->error ? input_error(opt.input, err, NULL) : STATUS_OK;
}

int cmd_script(int argc, char **argv)
{
	struct operands operands;
	struct outbuf out;
	int status, err;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	status = input_check_symbols(&opt.symbols);
	if (status)
		return status;
	err = outbuf_init(&out, STDOUT_FILENO);
	if (err)
		return log_error_errno(err, "script") ? STATUS_FAILURE : STATUS_OK;
	status = opt.folded ? run_folded(&out) : run_script(&out);
	err = outbuf_flush(&out);
	if (err && err != -EPIPE)
		log_error("standard output: %s", error_text(err));
	if (err)
		status = STATUS_FAILURE;
	outbuf_deinit(&out);
	input_filter_deinit(&opt.filter);
	return status;
}
