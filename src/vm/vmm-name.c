/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of VMs out of foreign text. */
#include "vm/vmm-name.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Copies up to a comma that is not doubled; returns what is behind it, NULL at the end. */
static const char *copy_field(const char *value, char *out, size_t size)
{
	size_t len = 0;

	for (; *value; value++) {
		if (*value == ',' && value[1] != ',')
			break;
		if (*value == ',')
			value++;
		if (len + 1 < size)
			out[len++] = *value;
	}
	out[len] = '\0';
	return *value ? value + 1 : NULL;
}

static void copy_qemu_name(const char *value, char *out, size_t size)
{
	char rest[PATH_MAX];
	bool first = true;

	out[0] = '\0';
	while (value) {
		if (!strncmp(value, "guest=", 6)) {
			copy_field(value + 6, out, size);
			return;
		}
		value = copy_field(value, rest, sizeof(rest));
		if (first && !strchr(rest, '='))
			snprintf(out, size, "%s", rest);
		first = false;
	}
}

/* "path=PATH,…", or the path alone; not "fd=N". */
static bool copy_socket_name(const char *value, char *out, size_t size)
{
	const char *path = strstr(value, "path=");
	char copy[PATH_MAX];

	if (path && (path == value || path[-1] == ',')) {
		copy_field(path + 5, copy, sizeof(copy));
		return vmm_name_from_socket(copy, out, size);
	}
	return strncmp(value, "fd=", 3) && vmm_name_from_socket(value, out, size);
}

static bool copy_name(enum vmm_naming naming, const char *value, char *out, size_t size)
{
	switch (naming) {
	case VMM_NAMING_SOCKET:
		return copy_socket_name(value, out, size);
	case VMM_NAMING_QEMU:
		copy_qemu_name(value, out, size);
		break;
	case VMM_NAMING_PLAIN:
		snprintf(out, size, "%s", value);
		break;
	}
	return out[0];
}

/* The value of @option in "OPTION VALUE" or "OPTION=VALUE" at @arg; NULL when it is not there. */
static const char *option_value(const char *arg, const char *end, const char *option)
{
	size_t len = strlen(option);
	const char *next = arg + strlen(arg) + 1;

	if (strncmp(arg, option, len))
		return NULL;
	if (arg[len] == '=')
		return arg + len + 1;
	return !arg[len] && next < end ? next : NULL;
}

/*
 * By all of @option's in the arguments after the program's own name: the last that gives a name
 * counts, as it does for who takes an option more than once (QEMU, kvmtool).
 */
static bool name_from_option(const struct vmm_name_option *option, const char *cmdline, size_t len,
			     char *out, size_t size)
{
	const char *end = cmdline + len;
	char name[NAME_MAX + 1];
	bool found = false;

	for (const char *arg = cmdline + strlen(cmdline) + 1; arg < end; arg += strlen(arg) + 1) {
		const char *value = option_value(arg, end, option->option);

		if (value && copy_name(option->naming, value, name, sizeof(name))) {
			snprintf(out, size, "%s", name);
			found = true;
		}
	}
	return found;
}

bool vmm_name_from_cmdline(const struct vmm_kind *kind, const char *cmdline, size_t len, char *out,
			   size_t size)
{
	if (!kind || !len)
		return false;
	for (const struct vmm_name_option *option = kind->options; option->option; option++)
		if (name_from_option(option, cmdline, len, out, size))
			return true;
	return false;
}

/* The length of the first @len bytes of @name without @ending. */
static size_t without(const char *name, size_t len, const char *ending)
{
	size_t n = strlen(ending);

	return len > n && !memcmp(name + len - n, ending, n) ? len - n : len;
}

/* libvirt's Cloud Hypervisor driver: STATEDIR/NAME-socket, src/ch/ch_monitor.c. */
static size_t without_endings(const char *name, size_t len)
{
	static const char *const endings[] = { ".sock", ".socket", "-socket", "-api", "-ctl" };

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		len = without(name, len, endings[i]);
	return len;
}

/* Kata's: VMPATH/SANDBOX/clh-api.sock, src/runtime/virtcontainers/clh.go; others by habit. */
static bool says_nothing(const char *name, size_t len)
{
	static const char *const common[] = {
		"clh", "ch", "api", "vmm", "cloud-hypervisor", "crosvm", "socket", "sock",
	};

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (strlen(common[i]) == len && !memcmp(common[i], name, len))
			return true;
	return false;
}

/* The last part of the first *@len bytes of @path, which then end before it. */
static size_t last_part(const char *path, size_t *len, const char **ret)
{
	size_t end = *len, start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	*ret = path + start;
	*len = start;
	return end - start;
}

bool vmm_name_from_socket(const char *path, char *out, size_t size)
{
	size_t left = strlen(path), len, n;
	const char *part;

	len = last_part(path, &left, &part);
	n = without_endings(part, len);
	if (says_nothing(part, n)) {
		const char *folder;
		size_t folder_len = last_part(path, &left, &folder);

		/* One at the top is no VM's own. */
		if (folder_len && left > 1) {
			part = folder;
			n = folder_len;
		}
	}
	if (!n)
		return false;
	snprintf(out, size, "%.*s", (int)MIN(n, (size_t)NAME_MAX), part);
	return true;
}

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes systemd's "\xNN". */
static void unescape_unit(const char *text, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++) {
		int high, low;

		if (len - i >= 4 && text[i] == '\\' && text[i + 1] == 'x' &&
		    (high = hex(text[i + 2])) >= 0 && (low = hex(text[i + 3])) >= 0) {
			out[n++] = high << 4 | low;
			i += 3;
		} else {
			out[n++] = text[i];
		}
	}
	out[n] = '\0';
}

/* "DRIVER-ID-NAME" is what libvirt registers, virDomainDriverGenerateMachineName(). */
static const char *machine_name(const char *machine)
{
	const char *id = strchr(machine, '-');
	const char *p = id ? id + 1 : NULL;

	if (!p || !isdigit((unsigned char)*p))
		return machine;
	while (isdigit((unsigned char)*p))
		p++;
	return *p == '-' && p[1] ? p + 1 : machine;
}

bool vmm_name_from_cgroup(const char *text, char *out, size_t size)
{
	static const char prefix[] = "/machine-", suffix[] = ".scope";
	char machine[2 * NAME_MAX];

	for (const char *at = text; (at = strstr(at, prefix));) {
		size_t len = strcspn(at += strlen(prefix), "/\n");
		size_t n = without(at, len, suffix);

		if (n == len)
			continue;
		unescape_unit(at, n, machine, sizeof(machine));
		snprintf(out, size, "%s", machine_name(machine));
		return out[0];
	}
	return false;
}
