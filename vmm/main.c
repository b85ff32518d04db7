/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kvmprof-vmm: a small VMM that boots Linux on KVM. Its console is stdout. What other VMMs do that
 * concerns a profiler (threads' names, kick signal, memory) it can do, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "boot.h"
#include "mptable.h"
#include "pmu-filter.h"
#include "pmu.h"
#include "ram.h"
#include "vcpu.h"
#include "vpmu/vpmu.h"

/* Places that KVM wants on Intel, above all memory. */
#define TSS_AT 0xfffbd000
#define IDENTITY_MAP_AT 0xfffbc000

static const char usage_text[] =
	"Usage: kvmprof-vmm --kernel BZIMAGE [OPTIONS]\n"
	"  --initrd FILE         initial RAM disk\n"
	"  --append TEXT         kernel command line (default console=ttyS0 reboot=t panic=-1)\n"
	"  --name NAME           what others call the VM\n"
	"  --mem MIB             memory, an even number, at most 3072 (default 256)\n"
	"  --cpus N              vCPUs, at most 64 (default 1)\n"
	"  --memory KIND         anon (default), memfd, memfd-private, hugetlb\n"
	"  --slots N             memory slots, at most 64, of 2 MiB at least (default 1)\n"
	"  --threads TEXT        a vCPU's thread is called this and its number (default vcpu)\n"
	"  --kick-signal NUMBER  the signal that makes a vCPU leave the guest (default SIGRTMIN)\n"
	"  --kick STYLE          what its handler does: flag (default), nothing, ends, kvmtool\n"
	"  --pmu MODEL           a PMU by libvpmu: intel-v1 to intel-v5, amd-k7, amd-core, amd-v2\n"
	"  --pmu-backend KIND    what counts: auto (default), perf, time, sim\n"
	"  --pmu-mhz N           cycles a microsecond, when it is time (default 1000)\n"
	"  --pmu-filter TEXT     deny:EVENT,… or allow:EVENT,…; an EVENT is the number of one\n"
	"                        (cycles of AMD: 0x76) or fixed0, fixed1, … for fixed counters\n"
	"  --pmu-raw             pass events without a common meaning to the host's PMU\n"
	"  --pmu-freeze          the guest can have counters frozen by their interrupt\n"
	"  --pmu-port            the guest can steer its PMU by a port, for tests of it\n"
	"  --no-dump             make the process non-dumpable, as after a change of user\n";

struct options {
	struct boot_options boot;
	struct pmu_options pmu;
	struct pmu_filter filter;	/* pmu.filter is NULL or this one's */
	unsigned long mem_mib, nr_cpus, nr_slots, kick_signal;
	enum memory_kind memory;
	enum kick_style kick;
	const char *threads;
	bool no_dump;
};

static const char *const memory_names[] = { "anon", "memfd", "memfd-private", "hugetlb", NULL };
static const char *const kick_names[] = { "flag", "nothing", "ends", "kvmtool", NULL };
static const char *const pmu_names[] = { "auto", "perf", "time", "sim", NULL };

static void __attribute__((noreturn)) usage(const char *problem, const char *what)
{
	fprintf(stderr, "kvmprof-vmm: %s%s\n%s", problem, what, usage_text);
	exit(2);
}

static unsigned long number(const char *text, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	/* strtoul() takes signs and spaces. */
	if (*text < '0' || *text > '9' || *end || !value || value > max)
		usage("not a number that fits: ", text);
	return value;
}

static int choice(const char *const *names, const char *text)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], text))
			return i;
	usage("unknown word: ", text);
}

static void take_filter(struct options *options, const char *value)
{
	if (pmu_filter_parse(value, &options->filter))
		usage("not a filter of events: ", value);
	options->pmu.filter = &options->filter.filter;
}

static void take_pmu_option(struct pmu_options *options, const char *name, const char *value)
{
	enum vpmu_model model;

	if (!strcmp(name, "pmu") && vpmu_model_by_name(value, &model))
		usage("no such PMU: ", value);
	if (!strcmp(name, "pmu"))
		options->model = value;
	else if (!strcmp(name, "pmu-backend"))
		options->backend = choice(pmu_names, value);
	else if (!strcmp(name, "pmu-mhz"))
		options->hz = number(value, 100000) * 1000000;
	else if (!strcmp(name, "pmu-raw"))
		options->raw = true;
	else if (!strcmp(name, "pmu-freeze"))
		options->freeze = true;
	else if (!strcmp(name, "pmu-port"))
		options->port = true;
}

static void take_option(struct options *options, const char *name, const char *value)
{
	if (!strcmp(name, "kernel"))
		options->boot.kernel = value;
	else if (!strcmp(name, "initrd"))
		options->boot.initrd = value;
	else if (!strcmp(name, "append"))
		options->boot.cmdline = value;
	else if (!strcmp(name, "mem"))
		options->mem_mib = number(value, MEMORY_MAX >> 20);
	else if (!strcmp(name, "cpus"))
		options->nr_cpus = number(value, MPTABLE_MAX_CPUS);
	else if (!strcmp(name, "memory"))
		options->memory = choice(memory_names, value);
	else if (!strcmp(name, "slots"))
		options->nr_slots = number(value, MEMORY_MAX_SLOTS);
	else if (!strcmp(name, "threads"))
		options->threads = value;
	else if (!strcmp(name, "kick-signal"))
		options->kick_signal = number(value, SIGRTMAX);
	else if (!strcmp(name, "kick"))
		options->kick = choice(kick_names, value);
	else if (!strcmp(name, "no-dump"))
		options->no_dump = true;
	else if (!strcmp(name, "pmu-filter"))
		take_filter(options, value);
	else
		take_pmu_option(&options->pmu, name, value);
	/* --name is for those who read the command line. */
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "kernel", required_argument, NULL, 'x' },
		{ "initrd", required_argument, NULL, 'x' },
		{ "append", required_argument, NULL, 'x' },
		{ "name", required_argument, NULL, 'x' },
		{ "mem", required_argument, NULL, 'x' },
		{ "cpus", required_argument, NULL, 'x' },
		{ "memory", required_argument, NULL, 'x' },
		{ "slots", required_argument, NULL, 'x' },
		{ "threads", required_argument, NULL, 'x' },
		{ "kick-signal", required_argument, NULL, 'x' },
		{ "kick", required_argument, NULL, 'x' },
		{ "no-dump", no_argument, NULL, 'x' },
		{ "pmu", required_argument, NULL, 'x' },
		{ "pmu-backend", required_argument, NULL, 'x' },
		{ "pmu-filter", required_argument, NULL, 'x' },
		{ "pmu-mhz", required_argument, NULL, 'x' },
		{ "pmu-raw", no_argument, NULL, 'x' },
		{ "pmu-freeze", no_argument, NULL, 'x' },
		{ "pmu-port", no_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	int c, index;

	while ((c = getopt_long_only(argc, argv, "", known, &index)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			exit(0);
		}
		if (c != 'x')
			usage("see above", "");
		take_option(options, known[index].name, optarg);
	}
	if (optind < argc)
		usage("not an option: ", argv[optind]);
	if (!options->boot.kernel)
		usage("--kernel is missing", "");
	if (options->mem_mib % 2)
		usage("--mem is not even", "");
	if (options->nr_slots > options->mem_mib / 2)
		usage("--slots: they are of 2 MiB at least", "");
}

static int create_vm(struct machine *machine)
{
	struct kvm_pit_config pit = { .flags = KVM_PIT_SPEAKER_DUMMY };
	uint64_t identity = IDENTITY_MAP_AT;

	machine->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (machine->kvm_fd < 0)
		return -errno;
	machine->vm_fd = ioctl(machine->kvm_fd, KVM_CREATE_VM, 0);
	if (machine->vm_fd < 0 || ioctl(machine->vm_fd, KVM_SET_TSS_ADDR, TSS_AT) ||
	    ioctl(machine->vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity) ||
	    ioctl(machine->vm_fd, KVM_CREATE_IRQCHIP, 0) ||
	    ioctl(machine->vm_fd, KVM_CREATE_PIT2, &pit))
		return -errno;
	serial_init(&machine->serial, machine->vm_fd);
	return 0;
}

static int check(const char *what, int err)
{
	if (err)
		fprintf(stderr, "kvmprof-vmm: %s: %s\n", what, strerror(-err));
	return err;
}

static int start(struct machine *machine, struct memory *memory, const struct options *options)
{
	uint64_t entry = 0;
	const char *why = NULL;
	int err;

	err = check("/dev/kvm", create_vm(machine));
	err = err ?: check("memory", memory_create(memory, machine->vm_fd, options->memory,
						   options->mem_mib << 20, options->nr_slots));
	if (!err) {
		err = boot_load(memory, &options->boot, &entry, &why);
		check(why, err);
	}
	if (!err) {
		err = pmu_create(machine, memory, &options->pmu, &why);
		check(why, err);
	}
	err = err ?: check("vCPUs", vcpus_create(machine));
	err = err ?: check("registers", boot_set_registers(machine->vcpus[0].fd, entry));
	return err ?: check("threads", vcpus_start(machine));
}

int main(int argc, char **argv)
{
	struct options options = {
		.boot.cmdline = "console=ttyS0 reboot=t panic=-1",
		.mem_mib = 256,
		.nr_cpus = 1,
		.nr_slots = 1,
		.kick_signal = SIGRTMIN,
		.threads = "vcpu",
		.pmu.hz = 1000000000,
	};
	static struct memory memory;
	struct machine machine;

	parse(argc, argv, &options);
	if (options.no_dump)
		prctl(PR_SET_DUMPABLE, 0);
	options.boot.nr_cpus = options.nr_cpus;
	machine = (struct machine){
		.nr_vcpus = options.nr_cpus,
		.thread_name = options.threads,
		.kick_style = options.kick,
		.kick_signal = options.kick_signal,
	};
	if (start(&machine, &memory, &options))
		return EXIT_FAILURE;
	return vcpus_wait(&machine);
}
