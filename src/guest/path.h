/* SPDX-License-Identifier: GPL-2.0-only */
/* The name of an open file, as the guest's kernel itself makes it for /proc/PID/maps. */
#ifndef GUEST_PATH_H
#define GUEST_PATH_H

#include "guest/kread.h"

#define PATH_BYTES 4096		/* with the NUL */
#define PATH_STEPS 512		/* names and mount points on the way up; 256 of each at most */

/* A struct path. */
struct path_place {
	u64 mnt;	/* struct vfsmount * */
	u64 dentry;
};

int path_read_place(struct kread *k, const struct user_layout *layout, u64 address,
		    struct path_place *ret);

/*
 * Writes the name of @place to @ret: from @root, a process's root folder, or from the top of the
 * mounts when the place is not below it. Files without a folder, as shared anonymous memory and
 * memfds are, get the name that the kernel makes up for them. Without " (deleted)": *@ret_deleted
 * says so. -EBADMSG for names and trees that cannot be, -E2BIG when it gets too long.
 */
int path_name(struct kread *k, const struct user_layout *layout, struct path_place place,
	      struct path_place root, char ret[PATH_BYTES], bool *ret_deleted);

#endif
