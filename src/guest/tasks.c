/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks; their list begins at init_task and comes back to it: task_struct.tasks. */
#include "guest/tasks.h"

#include "guest/guest-private.h"

#define READS_PER_TASK 12
#define READS_OF_FACTS 64

static int read_task(struct kread *k, const struct kernel_layout *layout, u64 address,
		     struct wire_task *ret)
{
	struct wire_task task = { .task = address };
	int err = kread(k, address + layout->task_pid, &task.tid, sizeof(task.tid));

	if (!err)
		err = kread(k, address + layout->task_tgid, &task.pid, sizeof(task.pid));
	if (!err)
		err = kread_u64(k, address + layout->task_mm, &task.mm);
	if (!err)
		err = kread_u64(k, address + layout->task_stack, &task.stack);
	if (!err)
		err = kread(k, address + layout->task_comm, task.comm, sizeof(task.comm));
	if (!err)
		*ret = task;
	return err;
}

int guest_for_each_process(const struct guest *guest, guest_task_fn *fn, void *ctx)
{
	u64 head = guest_place(guest, PLACE_INIT_TASK), at;
	struct guest_view view;
	struct kread k;
	u32 list;
	int err = guest_get_view(guest, &view);

	if (err)
		return err;
	list = view.layout->user.task_list;
	if (!head || list == LAYOUT_NONE || !layout_has_task(view.layout))
		return -EOPNOTSUPP;
	kread_init(&k, view.mem, &view.space, (u64)GUEST_MAX_PROCESSES * READS_PER_TASK);
	head += list;
	err = kread_u64(&k, head, &at);
	for (unsigned int i = 0; !err && at != head; i++) {
		struct wire_task task;

		if (i == GUEST_MAX_PROCESSES)
			return -EBADMSG;
		err = read_task(&k, view.layout, at - list, &task);
		if (!err)
			err = kread_u64(&k, at, &at);
		if (!err)
			err = fn(ctx, &task);
	}
	return err;
}

/* One whose memory was freed has other numbers. */
static int check_task(struct kread *k, const struct kernel_layout *layout,
		      const struct wire_task *task)
{
	s32 tid, pid;
	int err = kread(k, task->task + layout->task_pid, &tid, sizeof(tid));

	if (!err)
		err = kread(k, task->task + layout->task_tgid, &pid, sizeof(pid));
	if (err)
		return err;
	return tid == task->tid && pid == task->pid ? 0 : -ESTALE;
}

static void read_leader(struct kread *k, const struct kernel_layout *layout, u64 task,
			struct guest_task_facts *ret)
{
	const struct user_layout *user = &layout->user;

	if (user->task_leader == LAYOUT_NONE ||
	    kread_u64(k, task + user->task_leader, &ret->leader))
		return;
	if (user->task_start_time == LAYOUT_NONE ||
	    kread_u64(k, ret->leader + user->task_start_time, &ret->leader_start_time))
		ret->leader_start_time = 0;
	if (kread(k, ret->leader + layout->task_comm, ret->leader_comm, sizeof(ret->leader_comm)))
		ret->leader_comm[0] = '\0';
}

static void read_parent(struct kread *k, const struct kernel_layout *layout, u64 task,
			struct guest_task_facts *ret)
{
	u64 parent;

	ret->has_parent = layout->user.task_parent != LAYOUT_NONE &&
			  !kread_u64(k, task + layout->user.task_parent, &parent) &&
			  !kread(k, parent + layout->task_tgid, &ret->parent, sizeof(ret->parent));
}

int guest_task_read(const struct guest *guest, const struct wire_task *task,
		    struct guest_task_facts *ret)
{
	struct guest_task_facts facts = { 0 };
	const struct user_layout *user;
	struct guest_view view;
	struct kread k;
	u32 exit_state;
	int err = guest_get_view(guest, &view);

	if (err)
		return err;
	if (!task->task || !layout_has_task(view.layout))
		return -EOPNOTSUPP;
	user = &view.layout->user;
	kread_init(&k, view.mem, &view.space, READS_OF_FACTS);
	err = check_task(&k, view.layout, task);
	if (err)
		return err;
	if (user->task_start_time != LAYOUT_NONE &&
	    kread_u64(&k, task->task + user->task_start_time, &facts.start_time))
		facts.start_time = 0;
	read_leader(&k, view.layout, task->task, &facts);
	read_parent(&k, view.layout, task->task, &facts);
	if (user->task_exit_state != LAYOUT_NONE &&
	    !kread(&k, task->task + user->task_exit_state, &exit_state, sizeof(exit_state)))
		facts.ended = exit_state;
	*ret = facts;
	return 0;
}
