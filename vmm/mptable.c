/* SPDX-License-Identifier: GPL-2.0-only */
/* Processors, one I/O APIC, and the 16 interrupts of an ISA bus on its pins of the same number. */
#include "mptable.h"

#include <errno.h>
#include <string.h>

#define TABLE_AT 0xf0000
#define LAPIC_AT 0xfee00000
#define IOAPIC_AT 0xfec00000
#define TABLE_SIZE 4096
#define NR_IRQS 16
#define APIC_VERSION 0x14
#define IOAPIC_VERSION 0x11

enum { ENTRY_CPU, ENTRY_BUS, ENTRY_IOAPIC, ENTRY_IRQ, ENTRY_LOCAL };
enum { INT_VECTORED, INT_NMI, INT_SMI, INT_EXTERNAL };

struct pointer {
	char signature[4];
	uint32_t table;
	uint8_t length, revision, checksum, features[5];
} __attribute__((packed));

struct header {
	char signature[4];
	uint16_t length;
	uint8_t revision, checksum;
	char oem[8], product[12];
	uint32_t oem_table;
	uint16_t oem_size, nr_entries;
	uint32_t lapic;
	uint32_t reserved;
} __attribute__((packed));

struct cpu {
	uint8_t type, apic_id, version, flags;
	uint32_t signature, features, reserved[2];
} __attribute__((packed));

struct bus {
	uint8_t type, id;
	char name[6];
} __attribute__((packed));

struct ioapic {
	uint8_t type, id, version, flags;
	uint32_t address;
} __attribute__((packed));

struct interrupt {
	uint8_t type, kind;
	uint16_t flags;
	uint8_t bus, irq, apic_id, pin;
} __attribute__((packed));

struct table {
	uint8_t bytes[TABLE_SIZE];
	size_t size;
	uint16_t nr_entries;
};

static uint8_t checksum(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint8_t sum = 0;

	while (size--)
		sum += *bytes++;
	return -sum;
}

static void add(struct table *table, const void *entry, size_t size)
{
	memcpy(table->bytes + table->size, entry, size);
	table->size += size;
	table->nr_entries++;
}

static void add_cpus(struct table *table, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		add(table, &(struct cpu){
			.type = ENTRY_CPU,
			.apic_id = i,
			.version = APIC_VERSION,
			.flags = 1 | (i ? 0 : 2),	/* enabled; the one that boots */
		}, sizeof(struct cpu));
}

static void add_interrupts(struct table *table, uint8_t ioapic)
{
	for (unsigned int irq = 0; irq < NR_IRQS; irq++)
		add(table, &(struct interrupt){
			.type = ENTRY_IRQ, .kind = INT_VECTORED, .irq = irq,
			.apic_id = ioapic, .pin = irq,
		}, sizeof(struct interrupt));
	add(table, &(struct interrupt){ .type = ENTRY_LOCAL, .kind = INT_EXTERNAL },
	    sizeof(struct interrupt));
	add(table, &(struct interrupt){
		.type = ENTRY_LOCAL, .kind = INT_NMI, .apic_id = 0xff, .pin = 1,
	}, sizeof(struct interrupt));
}

static void finish(struct table *table)
{
	struct header header = {
		.signature = "PCMP",
		.length = table->size,
		.revision = 4,
		.oem = "KVMPROF ",
		.product = "VMM         ",
		.nr_entries = table->nr_entries,
		.lapic = LAPIC_AT,
	};

	memcpy(table->bytes, &header, sizeof(header));
	header.checksum = checksum(table->bytes, table->size);
	memcpy(table->bytes, &header, sizeof(header));
}

int mptable_write(const struct memory *memory, unsigned int nr_cpus)
{
	struct pointer pointer = {
		.signature = "_MP_", .table = TABLE_AT + sizeof(pointer),
		.length = 1, .revision = 4,
	};
	struct table table = { .size = sizeof(struct header) };
	int err;

	if (!nr_cpus || nr_cpus > MPTABLE_MAX_CPUS)
		return -EINVAL;
	add_cpus(&table, nr_cpus);
	add(&table, &(struct bus){ .type = ENTRY_BUS, .name = "ISA   " }, sizeof(struct bus));
	add(&table, &(struct ioapic){
		.type = ENTRY_IOAPIC, .id = nr_cpus, .version = IOAPIC_VERSION, .flags = 1,
		.address = IOAPIC_AT,
	}, sizeof(struct ioapic));
	add_interrupts(&table, nr_cpus);
	finish(&table);
	pointer.checksum = checksum(&pointer, sizeof(pointer));
	err = memory_write(memory, TABLE_AT, &pointer, sizeof(pointer));
	if (err)
		return err;
	return memory_write(memory, TABLE_AT + sizeof(pointer), table.bytes, table.size);
}
