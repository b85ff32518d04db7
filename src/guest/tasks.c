/* SPDX-License-Identifier: GPL-2.0-only */
/* The list that begins at init_task and comes back to it: task_struct.tasks. */
#include "guest/tasks.h"

#include "guest/guest-private.h"

#define READS_PER_TASK 12

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
