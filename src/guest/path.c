/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * File names: up the dentries, across mount points. fs/d_path.c, prepend_path(), the same from 3.x
 * to 7.x.
 */
#include "guest/path.h"

#include <stdio.h>

#define NAME_BYTES 255

/* Built from its end. */
struct name {
	char bytes[PATH_BYTES];
	u32 start;
};

static void name_init(struct name *name)
{
	name->start = PATH_BYTES - 1;
	name->bytes[name->start] = '\0';
}

static int prepend(struct name *name, const char *part, u32 len)
{
	if (len > name->start)
		return -E2BIG;
	name->start -= len;
	memcpy(name->bytes + name->start, part, len);
	return 0;
}

int path_read_place(struct kread *k, const struct user_layout *layout, u64 address,
		    struct path_place *ret)
{
	u64 words[2];
	int err;

	if (MAX(layout->path_mnt, layout->path_dentry) > 8)
		return -EOPNOTSUPP;
	err = kread(k, address, words, sizeof(words));
	if (err)
		return err;
	ret->mnt = words[layout->path_mnt / 8];
	ret->dentry = words[layout->path_dentry / 8];
	return 0;
}

/* The dentry's own name. @slash: one that is no file's may have slashes in it. */
static int read_name(struct kread *k, const struct user_layout *layout,
		     const struct kobject *dentry, bool slash, char ret[NAME_BYTES + 1],
		     u32 *ret_len)
{
	u32 len = kobject_u32(dentry, layout->dentry_name_len);
	int err;

	if (!len || len > NAME_BYTES)
		return -EBADMSG;
	err = kread(k, kobject_u64(dentry, layout->dentry_name), ret, len);
	if (err)
		return err;
	if (memchr(ret, '\0', len) || (!slash && memchr(ret, '/', len)))
		return -EBADMSG;	/* torn by a rename, or worse */
	ret[len] = '\0';
	*ret_len = len;
	return 0;
}

static int read_dentry(struct kread *k, const struct user_layout *layout, u64 address,
		       struct kobject *ret)
{
	return kobject_read(k, address, layout->dentry_bytes, ret);
}

static int prepend_dentry(struct kread *k, const struct user_layout *layout,
			  const struct kobject *dentry, struct name *name)
{
	char part[NAME_BYTES + 1];
	u32 len;
	int err = read_name(k, layout, dentry, false, part, &len);

	if (!err)
		err = prepend(name, part, len);
	return err ?: prepend(name, "/", 1);
}

/* From the mount's root to the place where it is mounted. -ENOENT: it is the top of all. */
static int leave_mount(const struct user_layout *layout, const struct kobject *mount,
		       struct path_place *at)
{
	u64 parent = kobject_u64(mount, layout->mount_parent);

	if (parent == mount->address)
		return -ENOENT;
	at->mnt = parent + layout->mount_mnt;
	at->dentry = kobject_u64(mount, layout->mount_mountpoint);
	return 0;
}

/* One step up. -ENOENT: there is nothing above. */
static int step(struct kread *k, const struct user_layout *layout, struct path_place *at,
		struct kobject *mount, struct name *name)
{
	struct kobject dentry;
	u64 address = at->mnt - layout->mount_mnt, parent;
	int err = 0;

	if (mount->address != address)
		err = kobject_read(k, address, layout->mount_bytes, mount);
	if (err)
		return err;
	if (at->dentry == kobject_u64(mount, layout->mount_root))
		return leave_mount(layout, mount, at);
	err = read_dentry(k, layout, at->dentry, &dentry);
	if (err)
		return err;
	parent = kobject_u64(&dentry, layout->dentry_parent);
	if (parent == at->dentry)
		return -ENOENT;		/* a folder that was mounted elsewhere, and left */
	at->dentry = parent;
	return prepend_dentry(k, layout, &dentry, name);
}

static int climb(struct kread *k, const struct user_layout *layout, struct path_place at,
		 struct path_place root, struct name *name)
{
	struct kobject mount = { .address = 0 };

	for (unsigned int i = 0; i < PATH_STEPS; i++) {
		int err;

		if (at.dentry == root.dentry && at.mnt == root.mnt)
			return 0;
		err = step(k, layout, &at, &mount, name);
		if (err)
			return err == -ENOENT ? 0 : err;
	}
	return -E2BIG;
}

/*
 * A dentry above which there is nothing and that is not its mount's root: simple_dname() of
 * shared memory, and so that of files for which nothing better is known.
 */
static int make_up_name(struct kread *k, const struct user_layout *layout,
			const struct kobject *dentry, char ret[PATH_BYTES])
{
	char part[NAME_BYTES + 1];
	u32 len;
	int err = read_name(k, layout, dentry, true, part, &len);

	if (err)
		return err;
	snprintf(ret, PATH_BYTES, "%s%s", part[0] == '[' ? "anon_inode:" : "/", part);
	return 0;
}

static bool is_without_folder(struct kread *k, const struct user_layout *layout,
			      struct path_place place)
{
	u64 address = place.mnt - layout->mount_mnt, root;

	return !kread_u64(k, address + layout->mount_root, &root) && root != place.dentry;
}

int path_name(struct kread *k, const struct user_layout *layout, struct path_place place,
	      struct path_place root, char ret[PATH_BYTES], bool *ret_deleted)
{
	struct kobject dentry;
	struct name name;
	bool top;
	int err = read_dentry(k, layout, place.dentry, &dentry);

	if (err)
		return err;
	top = kobject_u64(&dentry, layout->dentry_parent) == place.dentry;
	if (top && is_without_folder(k, layout, place)) {
		err = make_up_name(k, layout, &dentry, ret);
		if (!err)
			*ret_deleted = ret[0] == '/';
		return err;
	}
	name_init(&name);
	err = climb(k, layout, place, root, &name);
	if (!err && name.start == PATH_BYTES - 1)
		err = prepend(&name, "/", 1);
	if (err)
		return err;
	memcpy(ret, name.bytes + name.start, PATH_BYTES - name.start);
	*ret_deleted = !top && !kobject_u64(&dentry, layout->dentry_hashed);
	return 0;
}
