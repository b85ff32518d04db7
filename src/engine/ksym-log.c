/* SPDX-License-Identifier: GPL-2.0-only */
/* Code that the guest's kernel made, as records of what came and went. */
#include "engine/ksym-log.h"

#include <string.h>

#include "guest/ksyms.h"

struct round {
	struct ksym_log *log;
	struct perfdata_writer *writer;
	u64 time;
	u64 left_out;
	int error;	/* of memory or of writing */
};

void ksym_log_deinit(struct ksym_log *log)
{
	vec_deinit(&log->entries);
	hashmap_deinit(&log->by_start);
}

static int write_gone(struct round *round, struct ksym_log_entry *entry)
{
	const struct perfdata_ksymbol gone = {
		.start = entry->start, .len = entry->len, .gone = true, .name = "",
		.time = round->time,
	};

	entry->live = false;
	return perfdata_writer_ksymbol(round->writer, &gone);
}

static bool is_full(const struct ksym_log *log)
{
	return log->nr_came >= KSYM_LOG_MAX;
}

/*
 * The entry of that address, a new one if there is none. -ENOSPC: there is none, and no record is
 * left for what is new. No two addresses have the same key.
 */
static int find_entry(struct ksym_log *log, u64 start, struct ksym_log_entry **ret)
{
	u64 key = hash_combine(log->seed, start);
	u64 *slot = is_full(log) ? hashmap_get(&log->by_start, key) :
				   hashmap_put(&log->by_start, key, NULL);
	int err = 0;

	if (!slot || (!*slot && is_full(log)))
		return is_full(log) ? -ENOSPC : -ENOMEM;
	if (!*slot) {
		err = vec_push(&log->entries, ((struct ksym_log_entry){ .start = start }));
		if (!err)
			*slot = log->entries.nr;
	}
	if (!err)
		*ret = &log->entries.data[*slot - 1];
	return err;
}

static int leave_out(struct round *round)
{
	round->left_out++;
	return 0;
}

static int note(struct round *round, const struct guest_ksym *ksym)
{
	const struct perfdata_ksymbol record = {
		.start = ksym->start.addr, .len = ksym->end.addr - ksym->start.addr,
		.bpf = ksym->bpf, .name = ksym->name, .time = round->time,
	};
	u64 hash = hash_bytes(ksym->name, strlen(ksym->name));
	struct ksym_log_entry *entry;
	int err = find_entry(round->log, record.start, &entry);

	if (err)
		return err == -ENOSPC ? leave_out(round) : err;
	if (entry->live && !entry->seen && (entry->hash != hash || entry->len != record.len))
		err = write_gone(round, entry);
	entry->seen = true;
	if (err || entry->live)
		return err;
	if (is_full(round->log))
		return leave_out(round);
	round->log->nr_came++;
	entry->hash = hash;
	entry->len = record.len;
	entry->live = true;
	return perfdata_writer_ksymbol(round->writer, &record);
}

static int visit(void *ctx, const struct guest_ksym *ksym)
{
	struct round *round = ctx;

	return round->error = note(round, ksym);
}

int ksym_log_update(struct ksym_log *log, const struct guest *guest,
		    struct perfdata_writer *writer, u64 time)
{
	struct round round = { .log = log, .writer = writer, .time = time };
	int err;

	if (!log->seed)
		log->seed = hash_new_seed() | 1;
	vec_for_each(&log->entries, entry)
		entry->seen = false;
	err = guest_for_each_ksym(guest, visit, &round);
	log->left_out = MAX(log->left_out, round.left_out);
	if (err || round.error)
		return round.error;
	vec_for_each(&log->entries, entry)
		if (entry->live && !entry->seen && !err)
			err = write_gone(&round, entry);
	return err;
}
