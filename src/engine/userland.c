/* SPDX-License-Identifier: GPL-2.0-only */
/* The user space of one guest while it is recorded. */
#include "engine/userland.h"

#include <string.h>

#include "base/errors.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "base/strbuf.h"

#define CHECK_NS 20000000ULL	/* how long a list of mappings is believed */
#define MAX_READS 256		/* of processes in a second */
#define MAX_MEMORY_READS 500000	/* of guest memory for that, 0.2 s */
#define MAX_BYTES (256ULL << 20)	/* of what is known of processes */
#define FILES_PER_READ 4	/* new ones, whose build ids are read, count as a process */
#define MAX_RECORDS 2000000	/* of mappings in one recording */
#define RETRY_NS 200000000ULL	/* after reads that failed; after the first CHECK_NS, doubled */
#define MAX_KIN 2000000		/* processes compared in a second, and what is copied of them */

/* Of a mapping. */
struct shown {
	struct object *object;		/* NULL: not asked yet */
	bool fresh;			/* not in the list that was read before */
};

/* What was read of a process at a time. Its own, and of samples that wait. */
struct userland_view {
	struct guest_process *seen;
	struct shown *shown;		/* owned: of each mapping */
	u64 number;			/* its process' */
	unsigned int users;
	size_t bytes;			/* of .seen and .shown */
	bool old;			/* not its process' any more: its bytes are in .old_bytes */
};

struct process {
	u64 pid, mm;			/* by which samples name it */
	char comm[WIRE_COMM_LEN];	/* of the last sample's task */
	struct userland_view *view;	/* NULL: could not be read */
	u64 life;			/* number of the one that .view is of */
	u64 number;			/* of that, too, and of no other in any process */
	bool told;			/* what it has mapped was written, in this life */
	u64 next_check;			/* ns */
	u64 retry;			/* ns, after the next read that fails; 0: CHECK_NS */
	u64 used;			/* ns, of the last sample */
};

struct userland {
	struct userland_options options;
	struct objects *objects;
	VEC(struct process *) processes;
	struct hashmap by_mm;		/* pid and mm to index + 1 of .processes */
	struct userland_counts counts;

	/* What the lookups are about; .view NULL: nothing is known. */
	struct userland_view *view;
	struct process *current;	/* .view's; NULL: none, or of a sample entered again */
	struct process *again;		/* whose .view was, as it is now; NULL: of no such sample */
	const struct wire_sample *wire;
	const struct object *waits_for;
	bool checked;			/* .current's list is that of this sample */
	u64 since;			/* of .current's program: struct life */
	u64 last_number;		/* that a process was given */
	bool forgot;			/* processes whose mappings were written */
	int error;			/* of the writer, sticks */
	u64 second;			/* of the last read of a process */
	unsigned int reads;		/* in that second */
	u64 memory_reads;		/* the same, of guest memory */
	u64 kin;			/* the same, of .options.max_kin */
	u64 bytes;			/* of all processes */
	u64 old_bytes;			/* of views that only samples keep that wait */
	u64 records;			/* of mappings, written */
};

int userland_create(const struct userland_options *options, struct userland **ret)
{
	_cleanup_(userland_destroy) struct userland *userland = calloc(1, sizeof(*userland));
	int err;

	if (!userland)
		return -ENOMEM;
	userland->options = *options;
	userland->options.objects.guest = options->guest;
	userland->options.max_reads = options->max_reads ?: MAX_MEMORY_READS;
	userland->options.max_kin = options->max_kin ?: MAX_KIN;
	userland->options.max_bytes = options->max_bytes ?: MAX_BYTES;
	userland->options.max_records = options->max_records ?: MAX_RECORDS;
	err = objects_create(&userland->options.objects, &userland->objects);
	if (err)
		return err;
	*ret = TAKE_PTR(userland);
	return 0;
}

static void view_destroy(struct userland_view *view)
{
	if (!view)
		return;
	guest_process_destroy(view->seen);
	free(view->shown);
	free(view);
}
DEFINE_CLEANUP(struct userland_view *, view_destroy)

/* Takes @seen over. */
static int view_create(struct guest_process *seen, u64 number, struct userland_view **ret)
{
	_cleanup_(view_destroy) struct userland_view *view = calloc(1, sizeof(*view));
	struct shown *shown = calloc(seen->mappings.nr + 1, sizeof(*shown));

	if (!view || !shown) {
		free(shown);
		guest_process_destroy(seen);
		return -ENOMEM;
	}
	view->seen = seen;
	view->shown = shown;
	view->number = number;
	view->users = 1;
	view->bytes = guest_process_size(seen) + seen->mappings.nr * sizeof(*shown);
	*ret = TAKE_PTR(view);
	return 0;
}

void userland_let_go(struct userland *userland, struct userland_view *view)
{
	if (!view || --view->users)
		return;
	if (view->old)
		userland->old_bytes -= view->bytes;
	else
		userland->bytes -= view->bytes;
	view_destroy(view);
}

struct userland_view *userland_hold(struct userland *userland)
{
	if (!userland->view || userland->old_bytes > userland->options.max_bytes / 4)
		return NULL;
	userland->view->users++;
	return userland->view;
}

/* Samples that wait may keep what the process has no more. */
static void drop_view(struct userland *userland, struct userland_view *view)
{
	if (!view)
		return;
	view->old = true;
	userland->bytes -= view->bytes;
	userland->old_bytes += view->bytes;
	userland_let_go(userland, view);
}

static void process_destroy(struct userland *userland, struct process *process)
{
	drop_view(userland, process->view);
	free(process);
}

void userland_destroy(struct userland *userland)
{
	if (!userland)
		return;
	vec_for_each(&userland->processes, process)
		process_destroy(userland, *process);
	vec_deinit(&userland->processes);
	hashmap_deinit(&userland->by_mm);
	objects_destroy(userland->objects);
	free(userland);
}

static u64 key_of(u64 pid, u64 mm)
{
	return hash_combine(pid, mm);
}

static int by_use(const void *a, const void *b)
{
	const struct process *const *x = a, *const *y = b;

	return ((*x)->used < (*y)->used) - ((*x)->used > (*y)->used);
}

/* Forgets the half that was not seen for longest. */
static int forget_old(struct userland *userland)
{
	size_t keep = userland->processes.nr / 2;

	userland->forgot = true;
	qsort(userland->processes.data, userland->processes.nr, sizeof(*userland->processes.data),
	      by_use);
	while (userland->processes.nr > keep)
		process_destroy(userland, userland->processes.data[--userland->processes.nr]);
	hashmap_clear(&userland->by_mm);
	for (size_t i = 0; i < keep; i++) {
		struct process *process = userland->processes.data[i];
		u64 *slot = hashmap_put(&userland->by_mm, key_of(process->pid, process->mm), NULL);

		if (!slot)
			return -ENOMEM;
		*slot = i + 1;
	}
	return 0;
}

static void process_reset(struct userland *userland, struct process *process, u64 pid, u64 mm)
{
	drop_view(userland, process->view);
	*process = (struct process){ .pid = pid, .mm = mm, .number = ++userland->last_number };
}

/* Two whose hash is the same, which a guest may bring about, take each other's place. */
static int find_process(struct userland *userland, u64 pid, u64 mm, struct process **ret)
{
	struct process *process;
	u64 *slot;
	int err;

	if (userland->processes.nr >= USERLAND_MAX_PROCESSES ||
	    userland->bytes > userland->options.max_bytes) {
		err = forget_old(userland);
		if (err)
			return err;
	}
	slot = hashmap_put(&userland->by_mm, key_of(pid, mm), NULL);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		process = calloc(1, sizeof(*process));
		if (!process || vec_push(&userland->processes, process)) {
			free(process);
			return -ENOMEM;
		}
		*slot = userland->processes.nr;
	}
	process = userland->processes.data[*slot - 1];
	if (process->pid != pid || process->mm != mm)
		process_reset(userland, process, pid, mm);
	*ret = process;
	return 0;
}

static struct object *object_of(struct userland *userland, struct userland_view *view, size_t i)
{
	const struct guest_mapping *mapping = &view->seen->mappings.data[i];

	if (!view->shown[i].object)
		view->shown[i].object = objects_get(userland->objects, view->seen, mapping);
	return view->shown[i].object;
}

/*
 * As perf has it: the path, else the kernel's name. But "[JIT]" for code without a file and not
 * "//anon", for which a reader would look into /tmp/perf-PID.map of this machine.
 */
static int mapping_name(const struct guest_process *process, const struct guest_mapping *mapping,
			struct strbuf *out)
{
	const char *label = guest_mapping_label(mapping);

	if (mapping->kind == GUEST_MAPPING_FILE && mapping->file < process->files.nr) {
		const struct guest_mapped_file *file = &process->files.data[mapping->file];

		strbuf_adds(out, file->path[0] ? file->path : "//unknown");
		if (file->deleted)
			strbuf_adds(out, " (deleted)");
	} else if (mapping->kind == GUEST_MAPPING_FILE) {
		strbuf_adds(out, "//unknown");
	} else {
		strbuf_adds(out, label[0] ? label : "[JIT]");
	}
	return strbuf_error(out);
}

static int write_mapping(struct userland *userland, struct process *process, size_t i)
{
	const struct guest_process *seen = process->view->seen;
	const struct guest_mapping *mapping = &seen->mappings.data[i];
	const struct object *object = object_of(userland, process->view, i);
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
	struct perfdata_mmap record = {
		.pid = process->pid,
		.tid = process->pid,
		.start = mapping->start.addr,
		.len = mapping->end.addr - mapping->start.addr,
		.pgoff = mapping->offset,
		.prot = mapping->prot,
		.flags = mapping->shared ? 1 /* MAP_SHARED */ : 2 /* MAP_PRIVATE */,
		/*
		 * What a process has when it is first seen it had before: samples of other vCPUs
		 * that are a little older come later.
		 */
		.time = process->told ? userland->wire->time : userland->since,
	};
	int err;

	if (object && object_build_id(object)->size) {
		record.build_id = object_build_id(object)->data;
		record.build_id_size = object_build_id(object)->size;
	}
	err = mapping_name(seen, mapping, &name);
	if (err)
		return err;
	record.filename = strbuf_cstr(&name);
	err = perfdata_writer_mmap(userland->options.writer, &record);
	/* A guest's name or range that fits no record is no reason to end the recording. */
	return err == -E2BIG || err == -EINVAL ? 0 : err;
}

static const struct guest_mapping *find_mapping(const struct userland_view *view, gva_t pc)
{
	return view ? guest_process_find(view->seen, pc) : NULL;
}

/* Whether @mapping shows the same object at the same place as @old. */
static bool is_same_mapping(const struct guest_process *before, const struct guest_mapping *old,
			    const struct guest_process *now, const struct guest_mapping *mapping)
{
	if (!old || old->start.addr != mapping->start.addr || old->end.addr != mapping->end.addr ||
	    old->offset != mapping->offset || old->kind != mapping->kind ||
	    old->prot != mapping->prot)
		return false;
	if (mapping->kind != GUEST_MAPPING_FILE)
		return true;
	return old->file < before->files.nr && mapping->file < now->files.nr &&
	       objects_same_key(&before->files.data[old->file].key,
				&now->files.data[mapping->file].key);
}

/* Marks the mappings that are not in @before, which may be NULL. */
static void mark_fresh(struct userland_view *view, const struct userland_view *before)
{
	for (size_t i = 0; i < view->seen->mappings.nr; i++) {
		const struct guest_mapping *mapping = &view->seen->mappings.data[i];
		const struct guest_mapping *old = find_mapping(before, mapping->start);

		view->shown[i].fresh =
			!old || !is_same_mapping(before->seen, old, view->seen, mapping);
	}
}

#define PROT_WRITE_BIT 2	/* PROT_WRITE */
#define PROT_EXEC_BIT 4		/* PROT_EXEC; perf records no others */

static int write_new(struct userland *userland, struct process *process)
{
	const struct userland_view *view = process->view;

	for (size_t i = 0; i < view->seen->mappings.nr; i++) {
		const struct guest_mapping *mapping = &view->seen->mappings.data[i];
		int err;

		if (!(mapping->prot & PROT_EXEC_BIT) || !view->shown[i].fresh)
			continue;
		if (userland->records >= userland->options.max_records) {
			userland->counts.left_out++;
			continue;
		}
		userland->records++;
		err = write_mapping(userland, process, i);
		if (err)
			return err;
	}
	return 0;
}

/* Takes @seen over, and writes what was not there before. */
static int replace(struct userland *userland, struct process *process, struct guest_process *seen)
{
	struct userland_view *before = process->view, *view;
	size_t nr_objects = objects_nr(userland->objects);
	int err = view_create(seen, process->number, &view);

	if (err)
		return err;
	mark_fresh(view, before);
	process->view = view;
	userland->bytes += view->bytes;
	drop_view(userland, before);
	userland->counts.partial += seen->partial;
	err = write_new(userland, process);
	userland->reads += (objects_nr(userland->objects) - nr_objects) / FILES_PER_READ;
	process->told = true;
	return err;
}

/*
 * A guest decides how many processes there are and how often they change, and to read one can take
 * long: only so many a second, and only so much of it.
 */
static int take_allowance(struct userland *userland)
{
	u64 second = userland->wire->time / 1000000000;

	if (second != userland->second) {
		userland->second = second;
		userland->reads = 0;
		userland->memory_reads = 0;
		userland->kin = 0;
	}
	return userland->reads++ < MAX_READS &&
	       userland->memory_reads < userland->options.max_reads ? 0 : -E2BIG;
}

/*
 * Whether addresses tell what a process was forked from. Not in execve(), where registers are of
 * the program before and the memory is not. And below 4 GiB they are too few: each run of a program
 * of 32 bits has code where most others have.
 */
static bool may_inherit(const struct wire_sample *wire)
{
	return !(wire->flags & WIRE_F_USER_GONE) && wire->user_sp >> 32;
}

/*
 * Whether the sample's process may be a fork of @other that runs the same program still: it has the
 * same name and executes and has its stack where @other has a file's code and memory of its own.
 * With randomized addresses no other program has; and without, it has the same file there.
 */
static bool is_kin(const struct userland *userland, const struct process *other)
{
	const struct wire_sample *wire = userland->wire;
	const struct guest_mapping *code, *stack;

	if (memcmp(other->comm, wire->task.comm, sizeof(other->comm)) || !other->view ||
	    other->view->seen->partial)
		return false;
	code = guest_process_find(other->view->seen, GVA(wire->user_pc));
	stack = guest_process_find(other->view->seen, GVA(wire->user_sp));
	return code && code->kind == GUEST_MAPPING_FILE && code->prot & PROT_EXEC_BIT && stack &&
	       stack->kind != GUEST_MAPPING_FILE && stack->prot & PROT_WRITE_BIT;
}

/*
 * What was forked, and has run another program or ended before it could be read, has what it was
 * forked from: to a reader of the recording, too. As long as there is an allowance for that, which
 * take_allowance() renews: each sample may be of such a process, and to look for its kin and copy
 * what that has mapped takes up to a millisecond.
 */
static int inherit(struct userland *userland, struct process *process)
{
	vec_for_each(&userland->processes, other) {
		struct guest_process *copy;
		int err;

		if (userland->kin++ >= userland->options.max_kin)
			return 0;
		if (*other == process || !is_kin(userland, *other))
			continue;
		err = guest_process_copy((*other)->view->seen, &copy);
		if (err)
			return err;
		userland->kin += copy->mappings.nr + copy->files.nr;
		copy->stamp = UINT64_MAX;	/* not its own */
		userland->counts.inherited++;
		return replace(userland, process, copy);
	}
	return 0;
}

/*
 * What changed while it was read may stand still a moment later; what has too many mappings, or
 * other reasons, will not, and takes as long each time.
 */
static void set_next_check(const struct userland *userland, struct process *process, bool failed)
{
	u64 retry = process->retry ?: CHECK_NS;

	process->next_check = userland->wire->time + (failed ? retry : CHECK_NS);
	process->retry = failed ? MIN(2 * retry, RETRY_NS) : 0;
}

static int read_process(struct userland *userland, struct process *process)
{
	struct guest_process *seen;
	int err = take_allowance(userland);

	if (!err)
		err = guest_process_read_counted(userland->options.guest, &userland->wire->task,
						 &userland->memory_reads, &seen);
	set_next_check(userland, process, err || seen->partial);
	if (err) {
		userland->counts.failed++;
		log_debug("process %llu of the guest: %s", (unsigned long long)process->pid,
			  error_text(err));
		if (err == -ENOMEM)
			return err;
		if (process->view || !may_inherit(userland->wire))
			return 0;
		return inherit(userland, process);
	}
	if (process->view)
		userland->counts.reread++;
	else
		userland->counts.processes++;
	return replace(userland, process, seen);
}

/* Reads the process when it is new or has changed. */
static int check(struct userland *userland, struct process *process)
{
	u64 stamp;

	userland->checked = true;
	process->next_check = userland->wire->time + CHECK_NS;
	if (process->view &&
	    (guest_process_stamp(userland->options.guest, &userland->wire->task, &stamp) ||
	     (stamp == process->view->seen->stamp && !process->view->seen->partial)))
		return 0;
	return read_process(userland, process);
}

/* Memory is what a guest can make us run out of, now: next time it may be there. */
static int keep_error(struct userland *userland, int err)
{
	if (err && err != -ENOMEM)
		userland->error = err;
	return err;
}

static bool has_user_space(const struct wire_sample *wire)
{
	return wire->flags & WIRE_F_TASK && !(wire->flags & WIRE_F_KTHREAD) && wire->task.mm &&
	       wire->user_pc;
}

static void leave(struct userland *userland)
{
	userland->view = NULL;
	userland->current = userland->again = NULL;
	userland->waits_for = NULL;
}

/* What was seen of another process with that number, or of another program of it, is void. */
static void set_life(struct userland *userland, struct process *process, const struct life *life)
{
	if (process->life != life->number) {
		process_reset(userland, process, process->pid, process->mm);
		process->life = life->number;
		process->told = userland->forgot && !life->since;
	}
	userland->since = life->since;
}

int userland_enter(struct userland *userland, const struct wire_sample *wire,
		   const struct life *life)
{
	struct process *process;
	int err;

	leave(userland);
	if (!has_user_space(wire))
		return userland->error;
	userland->wire = wire;
	userland->checked = false;
	err = find_process(userland, (u32)wire->task.pid, wire->task.mm, &process);
	if (!err)
		set_life(userland, process, life);
	if (!err && (wire->time >= process->next_check || !process->next_check))
		err = check(userland, process);
	if (err)
		return keep_error(userland, err);
	process->used = wire->time;
	memcpy(process->comm, wire->task.comm, sizeof(process->comm));
	userland->current = process;
	userland->view = process->view;
	return userland->error;
}

void userland_enter_again(struct userland *userland, const struct wire_sample *wire,
			  struct userland_view *view, bool *ret_gone)
{
	u64 pid = (u32)wire->task.pid, stamp, *slot;
	struct process *process;

	leave(userland);
	slot = hashmap_get(&userland->by_mm, key_of(pid, wire->task.mm));
	/* 0: there was no memory for it when it came back. */
	process = slot && *slot ? userland->processes.data[*slot - 1] : NULL;
	if (process && process->number == view->number)
		userland->again = process;
	/* Another life; or forgotten, for many others. */
	*ret_gone = !userland->again ||
		    guest_process_stamp(userland->options.guest, &wire->task, &stamp);
	userland->wire = wire;
	userland->checked = true;
	userland->view = view;
}

bool userland_has_changed(const struct userland *userland, gva_t pc)
{
	const struct userland_view *was = userland->view;
	const struct userland_view *now = userland->again ? userland->again->view : NULL;
	const struct guest_mapping *mapping;

	if (!now || now == was)
		return false;
	mapping = find_mapping(now, pc);
	return !mapping || !is_same_mapping(was->seen, find_mapping(was, pc), now->seen, mapping);
}

/* Lists that could not be read to their end are not read for every address that they lack. */
static bool may_check(const struct userland *userland, const struct process *process)
{
	if (userland->checked)
		return false;
	return (process->view && !process->view->seen->partial) ||
	       userland->wire->time >= process->next_check;
}

/* Reads the process when what is at @pc is not known: it may have been mapped since we looked. */
static int look_again(struct userland *userland, gva_t pc)
{
	struct process *process = userland->current;
	int err;

	if (!process || find_mapping(userland->view, pc) || !may_check(userland, process))
		return 0;
	err = keep_error(userland, check(userland, process));
	userland->view = process->view;
	return err;
}

int userland_find_row(struct userland *userland, gva_t pc, struct cfi_row *ret_row)
{
	const struct guest_mapping *mapping;
	struct userland_view *view;
	struct object *object;
	size_t i;
	int err;

	err = look_again(userland, pc);
	if (err)
		return err;
	view = userland->view;
	mapping = find_mapping(view, pc);
	if (!mapping)
		return view && !view->seen->partial ? -ENOENT : -ENODATA;
	i = mapping - view->seen->mappings.data;
	object = object_of(userland, view, i);
	if (!object)
		return mapping->kind == GUEST_MAPPING_FILE ? -ENODATA : -ENOENT;
	err = objects_find_row(userland->objects, object, view->seen, i,
			       pc.addr - mapping->start.addr + mapping->offset,
			       userland->wire->time, ret_row);
	if (err == -EAGAIN)
		userland->waits_for = object;
	return err;
}

const struct object *userland_waits_for(const struct userland *userland)
{
	return userland->waits_for;
}

bool userland_is_pending(const struct userland *userland, const struct object *object)
{
	return objects_is_pending(userland->objects, object);
}

bool userland_collect(struct userland *userland)
{
	return objects_collect(userland->objects);
}

int userland_wait(struct userland *userland, u64 deadline)
{
	return objects_wait(userland->objects, deadline);
}

void userland_stop_fetching(struct userland *userland)
{
	objects_stop_fetching(userland->objects);
}

void userland_stop_loading(struct userland *userland)
{
	objects_stop_loading(userland->objects);
}

void userland_get_counts(const struct userland *userland, struct userland_counts *ret)
{
	*ret = userland->counts;
	objects_get_counts(userland->objects, &ret->objects);
}

static void write_count(struct strbuf *out, const char *what, u64 nr)
{
	if (nr)
		strbuf_addf(out, "%s: %llu\n", what, (unsigned long long)nr);
}

void userland_counts_write(const struct userland_counts *counts, struct strbuf *out)
{
	const struct objects_counts *objects = &counts->objects;

	write_count(out, "processes read", counts->processes);
	write_count(out, "processes read again", counts->reread);
	write_count(out, "processes read in part", counts->partial);
	write_count(out, "processes that could not be read", counts->failed);
	write_count(out, "processes known by what forked them", counts->inherited);
	write_count(out, "mappings left out, for there are too many", counts->left_out);
	write_count(out, "objects with rules from guest memory", objects->from_guest);
	write_count(out, "objects with rules from files", objects->from_file);
	write_count(out, "objects with some rules not in guest memory", objects->partial);
	write_count(out, "objects without rules", objects->no_rules);
	write_count(out, "objects not in guest memory", objects->missing);
	write_count(out, "objects that make no sense", objects->bad);
	write_count(out, "objects over a limit", objects->limit);
	write_count(out, "objects not read to the end", objects->unread);
	write_count(out, "objects named by their exported functions only", objects->unnamed);
	write_count(out, "objects whose symbols could not be stored", objects->store_failed);
}
