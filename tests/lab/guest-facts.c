/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest-facts PID KALLSYMS: all that is read of the guest of VMM PID, for comparison with what the
 * guest says about itself. Facts go to standard output as "key value", symbols to the file.
 */
#include "guest-open.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/errors.h"
#include "base/file.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void print_build_id(const struct guest_build_id *id)
{
	for (unsigned int i = 0; i < id->size; i++)
		printf("%02x", id->data[i]);
	putchar('\n');
}

static void print_kernel(const struct guest *guest)
{
	const struct guest_kernel *kernel = guest_kernel(guest);
	struct wire_guest config;

	guest_capture_config(guest, &config);
	printf("release %s\nbanner %s\nstart %#llx\n", kernel->release, kernel->banner,
	       (unsigned long long)kernel->start.addr);
	printf("kaslr %#llx\nbtf %d\norc %d\n", (unsigned long long)kernel->kaslr_offset,
	       kernel->has_btf, kernel->has_orc);
	printf("build-id ");
	print_build_id(&kernel->build_id);
	printf("config %u\ncurrent-task %lld\nirq-stack %lld\n"
	       "pid %u\ntgid %u\ncomm %u\nstack %u\nmm %u\n",
	       config.valid, config.current_task_offset, config.irq_stack_offset,
	       config.task_pid_offset, config.task_tgid_offset, config.task_comm_offset,
	       config.task_stack_offset, config.task_mm_offset);
	printf("thread-size %u\nirq-stack-size %u\n", config.thread_size, config.irq_stack_size);
}

static void print_modules(const struct guest *guest)
{
	for (size_t i = 0; i < guest_nr_modules(guest); i++) {
		const struct guest_module *module = guest_module(guest, i);

		printf("module %s %#llx ", module->name, (unsigned long long)module->start.addr);
		print_build_id(&module->build_id);
	}
}

static int write_symbols(const struct guest *guest, const char *path)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int err = guest_write_kallsyms(guest, &text, &size);

	return err ? err : file_write_atomic(path, text, size);
}

/* How many of the kernel's functions have a rule at their start. */
static void print_rules(struct guest *guest)
{
	const struct symtab *symtab = guest_kernel_symbols(guest);
	size_t with = 0, all = 0;

	for (size_t i = 0; i < symtab_nr(symtab); i++) {
		const struct symbol *symbol = symtab_at(symtab, i);
		struct cfi_row row;

		if (!symbol_type_is_code(symbol->type) ||
		    symbol->start >= guest_kernel(guest)->text_end.addr)
			continue;
		all++;
		with += !guest_find_row(guest, GVA(symbol->start), &row);
	}
	printf("functions %zu\nwith-rule %zu\n", all, with);
}

static int examine(struct vm_host *host, const struct vm *vm, const char *kallsyms)
{
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
	_cleanup_(mem_process_close) struct mem_process *memory = NULL;
	struct guest *guest = NULL;
	int err = vm_open_memory(vm, &memory);

	if (!err)
		err = guest_cache_create(NULL, &cache);
	for (unsigned int turn = 0; turn < 2 && !err; turn++) {
		double begin = now_ms();

		guest_destroy(guest);
		guest = NULL;
		err = guest_create(mem_process_reader(memory), cache, &guest);
		if (!err)
			err = guest_open_identify(host, vm, guest);
		printf("%s %.0f\n", turn ? "again-ms" : "first-ms", now_ms() - begin);
	}
	if (!err) {
		double begin = now_ms();

		err = guest_refresh_modules(guest);
		printf("refresh-ms %.1f\n", now_ms() - begin);
		print_kernel(guest);
		print_modules(guest);
		print_rules(guest);
		err = err ?: write_symbols(guest, kallsyms);
	}
	guest_destroy(guest);
	return err;
}

int main(int argc, char **argv)
{
	return guest_open_main(argc, argv, "KALLSYMS", examine);
}
