/* SPDX-License-Identifier: GPL-2.0-only */
/* Why there is no KVM on this machine, and what to do about it. */
#include "vm/absence.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/types.h"

#define CPUINFO_MAX (16 << 20)	/* some 2 KiB for each processor */
#define WITHOUT "; reports and `make demo` need no KVM"
#define INTEL ", and Intel is not supported yet" WITHOUT
#define ON_METAL ": modprobe kvm_amd, with virtualization (SVM) on in the firmware" WITHOUT
#define IN_VM ": this is a VM itself, allow it nested virtualization, then modprobe kvm_amd" WITHOUT

static bool has_module(const char *sysfs, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/module/%s", sysfs, name) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

/* The word @word in the first line "flags : …", which is the first processor's. */
static bool has_flag(const char *cpuinfo, const char *word)
{
	const char *line = strstr(cpuinfo, "\nflags"), *end, *at;
	size_t len = strlen(word);

	if (!line)
		return false;
	end = strchrnul(++line, '\n');
	for (at = line; (at = strstr(at, word)) && at < end; at += len)
		if (at[-1] == ' ' && strchr(" \n", at[len]))
			return true;
	return false;
}

const char *vm_kvm_absence(const char *sysfs, const char *cpuinfo)
{
	_cleanup_free_ char *text = NULL;
	bool half = has_module(sysfs, "kvm"), nested;

	if (has_module(sysfs, "kvm_amd") || has_module(sysfs, "kvm_intel"))
		return NULL;
	/* Not readable: what is known without it. */
	if (file_read(AT_FDCWD, cpuinfo, CPUINFO_MAX, &text, NULL))
		text = NULL;
	if (text && strstr(text, "GenuineIntel"))
		return half ? "KVM is loaded without kvm_intel" INTEL : "KVM is not loaded" INTEL;
	nested = text && has_flag(text, "hypervisor");
	if (half)
		return nested ? "KVM is loaded without its part for AMD" IN_VM :
				"KVM is loaded without its part for AMD" ON_METAL;
	return nested ? "KVM is not loaded" IN_VM : "KVM is not loaded" ON_METAL;
}
