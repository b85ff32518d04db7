/* SPDX-License-Identifier: GPL-2.0-only */
/* The lives of a guest's tasks. */
#include "engine/lives.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "guest/tasks.h"

#define NO_TASK_PID 0xffffffffU	/* perf prints it as -1 */

/*
 * How much older than the sample that shows it a beginning may be: samples of other CPUs come that
 * much late. Well within what a reader waits for.
 */
#define SLACK_NS 100000000ULL

#define CHECK_NS 1000000000ULL	/* how long a task is believed to be the one that it was */

struct task_life {
	u32 pid, tid;
	bool lives;
	u64 task, mm;		/* by which samples know it */
	u64 start_time;		/* 0: not known */
	u32 ppid;
	u64 comm;		/* hash of the last one written; 0: none was */
	u64 last;		/* ns: when it lived, or ended */
	u64 next_check;		/* ns */
	struct life life;	/* of its process; what counts is that of the main thread */
};

struct lives {
	const struct guest *guest;
	struct perfdata_writer *writer;
	struct hashmap by_tid;	/* tid, hashed with .seed, to index + 1 of .tasks */
	u64 seed;
	VEC(struct task_life) tasks;
	size_t next_look;
	u64 number;		/* of the last life */
	bool forgot;		/* tasks that were seen: what is new may not be */
};

int lives_create(const struct guest *guest, struct perfdata_writer *writer, struct lives **ret)
{
	struct lives *lives = calloc(1, sizeof(*lives));

	if (!lives)
		return -ENOMEM;
	lives->guest = guest;
	lives->seed = hash_new_seed();
	lives->writer = writer;
	*ret = lives;
	return 0;
}

void lives_destroy(struct lives *lives)
{
	if (!lives)
		return;
	hashmap_deinit(&lives->by_tid);
	vec_deinit(&lives->tasks);
	free(lives);
}

/* No two have the same. */
static u64 key_of(const struct lives *lives, u32 tid)
{
	return hash_combine(lives->seed, tid);
}

static struct task_life *find(const struct lives *lives, u32 tid)
{
	u64 *slot = hashmap_get(&lives->by_tid, key_of(lives, tid));

	return slot && *slot ? &lives->tasks.data[*slot - 1] : NULL;
}

/* A place for a task that was never seen. Others move. */
static struct task_life *add(struct lives *lives, u32 tid)
{
	struct task_life task = { .tid = tid };
	u64 *slot;

	if (lives->tasks.nr >= LIVES_MAX) {
		lives->tasks.nr = lives->next_look = 0;
		hashmap_clear(&lives->by_tid);
		lives->forgot = true;
	}
	slot = hashmap_put(&lives->by_tid, key_of(lives, tid), NULL);
	if (!slot || vec_push(&lives->tasks, task))
		return NULL;
	*slot = lives->tasks.nr;
	return &lives->tasks.data[lives->tasks.nr - 1];
}

/* The idle tasks and what is no task have no beginning that a reader knows of. */
static bool has_beginning(u32 tid)
{
	return tid && tid != NO_TASK_PID;
}

/* A leader's parent is another process, a thread's its leader. */
static struct perfdata_task task_record(const struct task_life *task, u64 time)
{
	u32 parent = task->tid == task->pid ? task->ppid : task->pid;

	return (struct perfdata_task){
		.pid = task->pid, .tid = task->tid, .ppid = parent, .ptid = parent, .time = time,
	};
}

static int write_fork(struct lives *lives, const struct task_life *task, u64 time)
{
	const struct perfdata_task record = task_record(task, time);

	return has_beginning(task->tid) ? perfdata_writer_fork(lives->writer, &record) : 0;
}

static int end(struct lives *lives, struct task_life *task, u64 time)
{
	const struct perfdata_task record = task_record(task, time);

	task->lives = false;
	task->last = MAX(task->last, time);
	return has_beginning(task->tid) ? perfdata_writer_exit(lives->writer, &record) : 0;
}

/* A COMM record when the name is not the last one, or @exec. @comm may lack the NUL. */
static int write_comm(struct lives *lives, struct task_life *task, const char *comm, bool exec,
		      u64 time)
{
	char text[WIRE_COMM_LEN + 1];
	u64 hash;

	memcpy(text, comm, WIRE_COMM_LEN);
	text[WIRE_COMM_LEN] = '\0';
	hash = hash_bytes(text, strlen(text)) | 1;
	if (!exec && task->comm == hash)
		return 0;
	task->comm = hash;
	return perfdata_writer_comm(lives->writer, task->pid, task->tid, text, exec, time);
}

/*
 * When a task begins that is seen at @now: ever, as far as the recording goes, unless its number
 * was another's, or may have been.
 */
static u64 birth_time(const struct lives *lives, const struct task_life *task, u64 now)
{
	u64 early = now > SLACK_NS ? now - SLACK_NS : 0;

	if (!task->last && !lives->forgot)
		return 0;
	return MAX(MIN(task->last + 1, now), early);
}

/* Who a sample's task is; what cannot be read is not known. */
struct identity {
	u32 pid, tid;
	u64 task, mm;
	u64 start_time;
	u32 ppid;
};

static int begin(struct lives *lives, struct task_life *task, const struct identity *who, u64 now,
		 u64 *ret_time)
{
	u64 time = birth_time(lives, task, now);
	int err = task->lives ? end(lives, task, time) : 0;

	*task = (struct task_life){
		.pid = who->pid,
		.tid = who->tid,
		.lives = true,
		.task = who->task,
		.mm = who->mm,
		.start_time = who->start_time,
		.ppid = who->ppid,
		.last = now,
		.next_check = now + CHECK_NS,
		.life = { .number = ++lives->number, .since = time },
	};
	*ret_time = time;
	return err ? err : write_fork(lives, task, time);
}

/* Takes it over where it was not known. @start_time 0 is not known and says nothing. */
static bool is_same_start(struct task_life *task, u64 start_time)
{
	if (!task->start_time)
		task->start_time = start_time;
	return !start_time || task->start_time == start_time;
}

/*
 * Whether a task that is known to have ended is there again, with the same start time: after
 * execve() in another thread than the main one, whose number and start time that thread takes
 * over while the main one ends. @task, @mm: where it is now; 0: not known.
 */
static bool is_back(const struct task_life *known, u64 task, u64 mm)
{
	return !known->lives && ((task && known->task != task) || (mm && known->mm != mm));
}

/* The main thread comes before another one of its process. */
static int begin_leader(struct lives *lives, const struct wire_task *wire,
			const struct guest_task_facts *facts, u64 now)
{
	const struct identity who = {
		.pid = wire->pid,
		.tid = wire->pid,
		.task = facts->leader,
		.mm = wire->mm,
		.start_time = facts->leader_start_time,
		.ppid = facts->has_parent ? (u32)facts->parent : NO_TASK_PID,
	};
	struct task_life *leader = find(lives, wire->pid);
	u64 time;
	int err;

	/* One that is known may have ended before the others of its process. */
	if (wire->pid == wire->tid || !facts->leader ||
	    (leader && leader->pid == who.pid && is_same_start(leader, who.start_time) &&
	     !is_back(leader, who.task, 0)))
		return 0;
	leader = leader ? leader : add(lives, wire->pid);
	if (!leader)
		return -ENOMEM;
	err = begin(lives, leader, &who, now, &time);
	if (err || !facts->leader_comm[0])
		return err;
	return write_comm(lives, leader, facts->leader_comm, false, time);
}

static int begin_seen(struct lives *lives, const struct wire_sample *wire,
		      const struct guest_task_facts *facts, struct task_life **ret)
{
	const struct wire_task *task = &wire->task;
	const struct identity who = {
		.pid = task->pid,
		.tid = task->tid,
		.task = task->task,
		.mm = task->mm,
		.start_time = facts->start_time,
		.ppid = facts->has_parent ? (u32)facts->parent : NO_TASK_PID,
	};
	struct task_life *seen;
	u64 time;
	int err = begin_leader(lives, task, facts, wire->time);

	if (err)
		return err;
	seen = find(lives, task->tid) ?: add(lives, task->tid);
	if (!seen)
		return -ENOMEM;
	err = begin(lives, seen, &who, wire->time, &time);
	if (!err)
		err = write_comm(lives, seen, task->comm, false, time);
	*ret = seen;
	return err;
}

/* Another program: what was mapped is gone. Other threads' memory is their process's. */
static int note_program(struct lives *lives, struct task_life *task, const struct wire_sample *wire)
{
	u64 before = task->mm;

	task->task = wire->task.task;
	/* A kernel thread takes on others' memory, for a while. */
	if (wire->flags & WIRE_F_KTHREAD || !wire->task.mm || before == wire->task.mm)
		return 0;
	task->mm = wire->task.mm;
	if (!before || task->tid != task->pid)
		return 0;
	task->life = (struct life){ .number = ++lives->number, .since = wire->time };
	return write_comm(lives, task, wire->task.comm, true, wire->time);
}

/* Whether @task may still be that of @wire, without a look into the guest. */
static bool is_believed(const struct task_life *task, const struct wire_sample *wire)
{
	const struct wire_task *now = &wire->task;

	if (!has_beginning(task->tid))
		return task->lives;	/* the idle tasks of all CPUs have one number */
	return task->lives && task->pid == (u32)now->pid && task->task == now->task &&
	       (task->mm == now->mm || !now->mm) && wire->time < task->next_check;
}

/*
 * Reads who the task is. What starts at another time is another one; execve() in another thread
 * than the main one, which takes its place, leaves the time as it was.
 */
static int recognise(struct lives *lives, const struct wire_sample *wire, struct task_life **task)
{
	struct task_life *known = *task;
	struct guest_task_facts facts = { 0 };
	bool same, read = !guest_task_read(lives->guest, &wire->task, &facts);

	if (!known)
		return begin_seen(lives, wire, &facts, task);
	same = known->pid == (u32)wire->task.pid &&
	       (read ? is_same_start(known, facts.start_time) :
		       known->task == wire->task.task && known->lives);
	if (!same)
		return begin_seen(lives, wire, &facts, task);
	if (read && !facts.ended && is_back(known, wire->task.task, wire->task.mm))
		return begin_seen(lives, wire, &facts, task);
	known->next_check = wire->time + CHECK_NS;
	/* One that has ended may run a little yet. */
	return known->lives ? note_program(lives, known, wire) : 0;
}

/* That of the process, which the main thread knows. */
static void get_life(const struct lives *lives, const struct task_life *task, u64 now,
		     struct life *ret)
{
	const struct task_life *leader = task->tid == task->pid ? task : find(lives, task->pid);

	*ret = leader && leader->pid == task->pid ? leader->life : task->life;
	if (ret->since && ret->since + SLACK_NS < now)
		ret->since = now - SLACK_NS;
}

/* The samples of no known task have a name to be known by. */
static int enter_unknown(struct lives *lives, u64 time)
{
	static const char name[WIRE_COMM_LEN] = "[unknown]";
	struct task_life *task = find(lives, NO_TASK_PID) ?: add(lives, NO_TASK_PID);

	if (!task)
		return -ENOMEM;
	task->pid = NO_TASK_PID;
	return write_comm(lives, task, name, false, time);
}

int lives_enter(struct lives *lives, const struct wire_sample *wire, struct life *ret)
{
	struct life life = { .since = wire->time };
	struct task_life *task;
	int err = 0;

	*ret = life;
	if (!(wire->flags & WIRE_F_TASK))
		return enter_unknown(lives, wire->time);
	task = find(lives, wire->task.tid);
	if (!task || !is_believed(task, wire))
		err = recognise(lives, wire, &task);
	if (!err && task->lives)
		err = write_comm(lives, task, wire->task.comm, false, wire->time);
	if (err)
		return err;
	task->last = MAX(task->last, wire->time);
	get_life(lives, task, wire->time, ret);
	return 0;
}

static bool has_ended(const struct lives *lives, const struct task_life *task)
{
	const struct wire_task wire = { .task = task->task, .tid = task->tid, .pid = task->pid };
	struct guest_task_facts facts;
	int err = guest_task_read(lives->guest, &wire, &facts);

	if (err)
		return err == -ESTALE;
	return facts.ended || (task->start_time && facts.start_time &&
			       facts.start_time != task->start_time);
}

/* Looks at one that was not sampled just now. */
static int look_at(struct lives *lives, struct task_life *task, u64 now)
{
	u64 early = now > SLACK_NS ? now - SLACK_NS : 0;

	if (!task->lives || !has_beginning(task->tid) || !task->task || task->last >= now)
		return 0;
	if (has_ended(lives, task))
		return end(lives, task, MAX(task->last + 1, early));
	task->last = now;
	return 0;
}

int lives_look(struct lives *lives, u64 now)
{
	int err = 0;

	for (size_t i = 0; i < MIN(lives->tasks.nr, (size_t)LIVES_LOOK_AT) && !err; i++) {
		if (lives->next_look >= lives->tasks.nr)
			lives->next_look = 0;
		err = look_at(lives, &lives->tasks.data[lives->next_look++], now);
	}
	return err;
}
