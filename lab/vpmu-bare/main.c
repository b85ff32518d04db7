/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that tests its PMU, for kvmprof-vmm --pmu MODEL --pmu-port: the command line names model
 * and backend, "model=amd-core backend=sim cpus=2". Without a model only what the tests rest on is
 * tested, which any PC will do for.
 */
#include "guest.h"
#include "model.h"

int main(const char *cmdline);

/* Compilers make calls of these out of structures that are set or copied. */
void *memset(void *to, int value, unsigned long size);
void *memcpy(void *to, const void *from, unsigned long size);

void *memset(void *to, int value, unsigned long size)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, unsigned long size)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
	return to;
}

/* The value of "@name=" in @text, to the next space. False: it is not there, or does not fit. */
static bool find_word(const char *text, const char *name, char *ret, unsigned int size)
{
	for (; *text; text++) {
		unsigned int i = 0, length = 0;

		while (name[i] && text[i] == name[i])
			i++;
		if (name[i])
			continue;
		while (text[i + length] && text[i + length] != ' ' && length < size - 1) {
			ret[length] = text[i + length];
			length++;
		}
		ret[length] = '\0';
		return true;
	}
	return false;
}

int main(const char *cmdline)
{
	char name[16], backend[8] = "", cpus[2];

	cpu_init(find_word(cmdline, "cpus=", cpus, sizeof(cpus)) && cpus[0] == '2');
	test_machine();
	test_processors();
	if (find_word(cmdline, "model=", name, sizeof(name))) {
		find_word(cmdline, "backend=", backend, sizeof(backend));
		if (!model_choose(name, backend[0] == 't'))
			bail_out("unknown model", 0, 0);
		test_cpuid();
		test_registers();
		if (backend[0] == 's')
			test_simulated();
		else
			test_time();
	}
	plan();
	machine_off();
}
