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
#define NOT_LOADED "KVM is not loaded"
#define HALF_LOADED(vendor) "KVM is loaded without its part for " vendor
/* Out of Linux' tree: guests in user mode, on clouds that have no nested virtualization. */
#define OTHER_KIND                                                                         \
	"KVM here is kvm_pvm, whose guests kvmprof does not know, only those of kvm_amd and " \
	"kvm_intel" WITHOUT
#define ON_METAL(module, name) \
	": modprobe " module ", with virtualization (" name ") on in the firmware" WITHOUT
#define IN_VM(module) \
	": this is a VM itself, allow it nested virtualization, then modprobe " module WITHOUT

/* By: Intel's or not, KVM there without the processor's part or not there, a VM or not. */
static const char *const texts[2][2][2] = {
	{ { NOT_LOADED ON_METAL("kvm_amd", "SVM"), NOT_LOADED IN_VM("kvm_amd") },
	  { HALF_LOADED("AMD") ON_METAL("kvm_amd", "SVM"), HALF_LOADED("AMD") IN_VM("kvm_amd") } },
	{ { NOT_LOADED ON_METAL("kvm_intel", "VT-x"), NOT_LOADED IN_VM("kvm_intel") },
	  { HALF_LOADED("Intel") ON_METAL("kvm_intel", "VT-x"),
	    HALF_LOADED("Intel") IN_VM("kvm_intel") } },
};

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
	bool half = has_module(sysfs, "kvm"), nested, intel;

	if (has_module(sysfs, "kvm_amd") || has_module(sysfs, "kvm_intel"))
		return NULL;
	if (has_module(sysfs, "kvm_pvm"))
		return OTHER_KIND;
	/* Not readable: what is known without it. */
	if (file_read(AT_FDCWD, cpuinfo, CPUINFO_MAX, &text, NULL))
		text = NULL;
	intel = text && strstr(text, "GenuineIntel");
	nested = text && has_flag(text, "hypervisor");
	return texts[intel][half][nested];
}
