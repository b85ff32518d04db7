/* SPDX-License-Identifier: GPL-2.0-only */
/* A process and its mappings. */
#include "guest/process.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/hashmap.h"
#include "guest/guest-private.h"
#include "guest/path.h"
#include "guest/vma.h"

#define MAX_READS 250000	/* of one visit */
#define MAX_TRIES 3		/* to find the list the same before and after */
#define USER_END (1ULL << 56)	/* of the largest user half, with 5 levels */
#define PAGE 4096ULL

/* vm_flags, include/linux/mm.h: the same from 2.6 on. */
#define VM_READ 0x1
#define VM_WRITE 0x2
#define VM_EXEC 0x4
#define VM_MAYSHARE 0x80	/* maps' "s"; VM_SHARED is off when the file is read-only */

/* fmode_t, include/linux/fs.h: 6.5, 62d53c4a1dfe "fs: use backing_file container". */
#define FMODE_BACKING (1U << 25)

#define DEV_MINOR_BITS 20	/* of the kernel's own dev_t */

/* The page that 64-bit kernels have at the same place in every process, and when they do. */
#define VSYSCALL_START 0xffffffffff600000ULL
#define VSYSCALL_NONE 2		/* enum of vsyscall_mode: EMULATE, XONLY, NONE */

struct visit {
	const struct guest *guest;
	const struct user_layout *layout;
	const struct kernel_layout *kernel;
	const struct wire_task *task;
	struct kread k;
	u32 exec_id;
	struct kobject mm;
	u64 special_ops;
	struct path_place root;
	struct guest_process *process;
	struct hashmap files;	/* struct file, with the seed, to index + 1 */
	u64 seed;
	u64 end;		/* of the mapping before */
};

/* Whether the task is what it was when the sample was taken. */
static int check_task(struct visit *visit)
{
	const struct kernel_layout *layout = visit->kernel;
	u64 task = visit->task->task, mm;
	s32 tid, pid;
	int err = kread(&visit->k, task + layout->task_pid, &tid, sizeof(tid));

	if (!err)
		err = kread(&visit->k, task + layout->task_tgid, &pid, sizeof(pid));
	if (!err)
		err = kread_u64(&visit->k, task + layout->task_mm, &mm);
	if (!err && visit->layout->task_exec_id != LAYOUT_NONE)
		err = kread(&visit->k, task + visit->layout->task_exec_id, &visit->exec_id,
			    sizeof(visit->exec_id));
	if (err == -EFAULT)
		return -ESTALE;	/* its memory is gone */
	if (err)
		return err;
	return tid == visit->task->tid && pid == visit->task->pid && mm == visit->task->mm ?
	       0 : -ESTALE;
}

static int visit_begin(struct visit *visit, const struct guest *guest,
		       const struct wire_task *task)
{
	struct guest_view view;
	int err = guest_get_view(guest, &view);

	if (err)
		return err;
	if (!task->task || !task->mm)
		return -ENOENT;
	memset(visit, 0, sizeof(*visit));
	visit->guest = guest;
	visit->kernel = view.layout;
	visit->layout = &view.layout->user;
	visit->task = task;
	if (!layout_has_task(visit->kernel) || !layout_has_mappings(visit->layout))
		return -EOPNOTSUPP;
	kread_init(&visit->k, view.mem, &view.space, MAX_READS);
	visit->special_ops = guest_place(guest, PLACE_SPECIAL_OPS);
	return check_task(visit);
}

static int read_mm(struct visit *visit)
{
	return kobject_read(&visit->k, visit->task->mm, visit->layout->mm_bytes, &visit->mm);
}

/*
 * Of .mm as it was read. Where the kernel does not count changes, the top node of the tree says
 * more than the sums do: its children move as mappings below them change.
 */
static u64 make_stamp(struct visit *visit)
{
	const struct user_layout *layout = visit->layout;
	const struct kobject *mm = &visit->mm;
	const u64 words[] = {
		mm->address, visit->exec_id, kobject_u64(mm, layout->mm_tree),
		kobject_u64(mm, layout->mm_list), kobject_u32(mm, layout->mm_lock_seq),
		kobject_u64(mm, layout->mm_unmap_seq), kobject_u32(mm, layout->mm_map_count),
		kobject_u64(mm, layout->mm_total_vm), kobject_u64(mm, layout->mm_data_vm),
		kobject_u64(mm, layout->mm_exec_vm), kobject_u64(mm, layout->mm_stack_vm),
		kobject_u64(mm, layout->mm_brk),
	};
	u64 stamp = hash_bytes(words, sizeof(words));
	u8 node[VMA_NODE_BYTES];

	if (layout->mm_lock_seq == LAYOUT_NONE && layout->mm_tree != LAYOUT_NONE &&
	    !vma_read_root(&visit->k, layout, mm, node))
		stamp = hash_combine(stamp, hash_bytes(node, sizeof(node)));
	return stamp;
}

int guest_process_stamp(const struct guest *guest, const struct wire_task *task, u64 *ret)
{
	struct visit visit;
	int err = visit_begin(&visit, guest, task);

	if (!err)
		err = read_mm(&visit);
	if (!err)
		*ret = make_stamp(&visit);
	return err;
}

static int read_key(struct visit *visit, const struct kobject *inode, struct guest_file_key *ret)
{
	const struct user_layout *layout = visit->layout;
	u32 dev;
	int err = kread(&visit->k, kobject_u64(inode, layout->inode_sb) + layout->sb_dev, &dev,
			sizeof(dev));

	if (err)
		return err;
	*ret = (struct guest_file_key){
		.inode = inode->address,
		.ino = kobject_u64(inode, layout->inode_number),
		.major = dev >> DEV_MINOR_BITS,
		.minor = dev & ((1U << DEV_MINOR_BITS) - 1),
		.generation = kobject_u32(inode, layout->inode_generation),
	};
	return 0;
}

/*
 * A mapping of an overlay is one of the file below it. From 6.7 on (def3ae83da02 "fs: store real
 * path instead of fake path in backing file f_path") the name that the process opened it by is
 * behind the struct file; before that it is in the file.
 */
static u64 user_path(const struct user_layout *layout, const struct kobject *file)
{
	if (layout->backing_user_path != LAYOUT_NONE &&
	    kobject_u32(file, layout->file_mode) & FMODE_BACKING)
		return file->address + layout->backing_user_path;
	return file->address + layout->file_path;
}

static int read_path(struct visit *visit, const struct kobject *file,
		     struct guest_mapped_file *mapped)
{
	struct path_place place;
	char path[PATH_BYTES] = "";
	int err = path_read_place(&visit->k, visit->layout, user_path(visit->layout, file),
				  &place);

	if (!err)
		err = path_name(&visit->k, visit->layout, place, visit->root, path,
				&mapped->deleted);
	if (err)
		visit->process->partial = true;
	mapped->path = strdup(path);
	return mapped->path ? 0 : -ENOMEM;
}

static int read_file(struct visit *visit, u64 address, struct guest_mapped_file *ret)
{
	const struct user_layout *layout = visit->layout;
	struct guest_mapped_file mapped = { .file = address };
	struct kobject file, inode;
	int err = kobject_read(&visit->k, address, layout->file_bytes, &file);

	if (!err)
		err = kobject_read(&visit->k, kobject_u64(&file, layout->file_inode),
				   layout->inode_bytes, &inode);
	if (!err)
		err = read_key(visit, &inode, &mapped.key);
	if (!err)
		err = read_path(visit, &file, &mapped);
	if (err)
		return err;
	mapped.size = kobject_u64(&inode, layout->inode_size);
	mapped.regular = S_ISREG(kobject_u32(&inode, layout->inode_mode) & 0xffff);
	*ret = mapped;
	return 0;
}

/* Errors that end a visit. Memory that is not there does not: the guest may have freed it. */
static bool is_fatal(int err)
{
	return err && err != -EFAULT && err != -EBADMSG;
}

static int add_file(struct visit *visit, u64 address, u32 *ret_index)
{
	struct guest_process *process = visit->process;
	struct guest_mapped_file file;
	u64 *place = hashmap_put(&visit->files, address ^ visit->seed, NULL);
	int err;

	if (!place)
		return -ENOMEM;
	if (*place) {
		*ret_index = *place - 1;
		return 0;
	}
	if (process->files.nr == GUEST_PROCESS_MAX_FILES)
		return -E2BIG;
	err = read_file(visit, address, &file);
	if (err)
		return err;
	err = vec_push(&process->files, file);
	if (err) {
		free(file.path);
		return err;
	}
	*place = process->files.nr;
	*ret_index = process->files.nr - 1;
	if (address == kobject_u64(&visit->mm, visit->layout->mm_exe_file))
		process->exe = *ret_index;
	return 0;
}

/* By the name that the kernel itself gave it; fs/proc/task_mmu.c shows it. */
static u8 special_kind(struct visit *visit, const struct kobject *vma)
{
	u64 mapping = kobject_u64(vma, visit->layout->vma_private), name;
	char text[8] = "";

	if (!visit->special_ops || visit->layout->special_name == LAYOUT_NONE ||
	    kobject_u64(vma, visit->layout->vma_ops) != visit->special_ops)
		return GUEST_MAPPING_ANON;
	if (kread_u64(&visit->k, mapping + visit->layout->special_name, &name) ||
	    kread(&visit->k, name, text, 7))
		return GUEST_MAPPING_ANON;
	if (!strcmp(text, "[vdso]"))
		return GUEST_MAPPING_VDSO;
	if (!strncmp(text, "[vvar", 5))
		return GUEST_MAPPING_VVAR;
	return !strncmp(text, "[uprobe", 7) ? GUEST_MAPPING_UPROBES : GUEST_MAPPING_ANON;
}

static u8 anonymous_kind(struct visit *visit, const struct kobject *vma,
			 const struct guest_mapping *mapping)
{
	const struct user_layout *layout = visit->layout;
	u64 start = mapping->start.addr, end = mapping->end.addr;
	u64 stack = kobject_u64(&visit->mm, layout->mm_start_stack);
	u64 vdso = kobject_u64(&visit->mm, layout->mm_vdso);
	u8 kind = special_kind(visit, vma);

	if (kind != GUEST_MAPPING_ANON)
		return kind;
	if (vdso && start == vdso)
		return GUEST_MAPPING_VDSO;
	if (start < kobject_u64(&visit->mm, layout->mm_brk) &&
	    end > kobject_u64(&visit->mm, layout->mm_start_brk))
		return GUEST_MAPPING_HEAP;
	if (start <= stack && end >= stack)
		return GUEST_MAPPING_STACK;
	return mapping->prot & PROT_EXEC ? GUEST_MAPPING_JIT : GUEST_MAPPING_ANON;
}

static u8 prot_of(u64 flags)
{
	return (flags & VM_READ ? PROT_READ : 0) | (flags & VM_WRITE ? PROT_WRITE : 0) |
	       (flags & VM_EXEC ? PROT_EXEC : 0);
}

/* One that was freed or is being changed at this moment does not agree with all this. */
static bool is_sane(const struct visit *visit, const struct kobject *vma, u64 first, u64 last)
{
	const struct user_layout *layout = visit->layout;
	u64 start = kobject_u64(vma, layout->vma_start), end = kobject_u64(vma, layout->vma_end);

	return kobject_u64(vma, layout->vma_mm) == visit->task->mm && start < end &&
	       end <= USER_END && start % PAGE == 0 && end % PAGE == 0 && start >= visit->end &&
	       (!last || (first == start && last == end - 1));
}

static int add_vma(void *ctx, u64 address, u64 first, u64 last)
{
	struct visit *visit = ctx;
	const struct user_layout *layout = visit->layout;
	struct guest_mapping mapping = { .kind = GUEST_MAPPING_FILE, .file = GUEST_NO_FILE };
	struct kobject vma;
	u64 file, flags;
	int err = kobject_read(&visit->k, address, layout->vma_bytes, &vma);

	if (is_fatal(err))
		return err;
	if (err || !is_sane(visit, &vma, first, last)) {
		visit->process->partial = true;
		return 0;
	}
	mapping.start = GVA(kobject_u64(&vma, layout->vma_start));
	mapping.end = GVA(kobject_u64(&vma, layout->vma_end));
	flags = kobject_u64(&vma, layout->vma_flags);
	mapping.prot = prot_of(flags);
	mapping.shared = flags & VM_MAYSHARE;
	file = kobject_u64(&vma, layout->vma_file);
	if (file) {
		mapping.offset = kobject_u64(&vma, layout->vma_pgoff) *
				 mmu_page_bytes(&visit->k.space);
		err = add_file(visit, file, &mapping.file);
	} else {
		mapping.kind = anonymous_kind(visit, &vma, &mapping);
	}
	if (is_fatal(err))
		return err;
	if (err)
		visit->process->partial = true;
	visit->end = mapping.end.addr;
	return vec_push(&visit->process->mappings, mapping);
}

static void clear_lists(struct guest_process *process)
{
	vec_for_each(&process->files, file)
		free(file->path);
	process->files.nr = process->mappings.nr = 0;
	process->exe = GUEST_NO_FILE;
	process->partial = false;
}

/* In no process's list; maps shows it behind the others. */
static int add_vsyscall(struct visit *visit)
{
	const struct user_layout *layout = visit->layout;
	u64 vma = guest_place(visit->guest, PLACE_GATE_VMA), flags;
	u64 mode_at = guest_place(visit->guest, PLACE_VSYSCALL_MODE);
	struct guest_mapping mapping = {
		.start = GVA(VSYSCALL_START), .end = GVA(VSYSCALL_START + PAGE),
		.kind = GUEST_MAPPING_VSYSCALL, .file = GUEST_NO_FILE,
	};
	u32 mode;

	if (!vma || !mode_at || kread(&visit->k, mode_at, &mode, sizeof(mode)) ||
	    mode >= VSYSCALL_NONE || kread_u64(&visit->k, vma + layout->vma_flags, &flags) ||
	    kobject_u64(&visit->mm, layout->mm_task_size) <= 1ULL << 32)
		return 0;
	mapping.prot = prot_of(flags);
	return vec_push(&visit->process->mappings, mapping);
}

/* One reading. *@ret_same: it was the same list from the first to the last. */
static int read_lists(struct visit *visit, bool *ret_same)
{
	struct guest_process *process = visit->process;
	int err = read_mm(visit);

	if (err)
		return err == -EFAULT ? -ESTALE : err;
	clear_lists(process);
	hashmap_clear(&visit->files);
	visit->end = 0;
	process->stamp = make_stamp(visit);
	err = vma_for_each(&visit->k, visit->layout, &visit->mm, add_vma, visit);
	if (err == -EFAULT || err == -EBADMSG || err == -E2BIG) {
		process->partial = true;
		err = 0;
	}
	if (!err)
		err = add_vsyscall(visit);
	if (err)
		return err;
	*ret_same = !check_task(visit) && !read_mm(visit) && make_stamp(visit) == process->stamp;
	return 0;
}

static int read_until_same(struct visit *visit)
{
	bool same = false;
	int err = 0;

	for (unsigned int i = 0; !err && !same && i < MAX_TRIES; i++)
		err = read_lists(visit, &same);
	if (err)
		return err;
	if (!same && !visit->process->mappings.nr)
		return -EAGAIN;
	visit->process->partial |= !same;
	return check_task(visit) == -ESTALE ? -ESTALE : 0;
}

/* What it can be known by later, and where its memory is. None of it is worth failing for. */
static void read_identity(struct visit *visit)
{
	const struct user_layout *layout = visit->layout;
	struct guest_process *process = visit->process;
	u64 task = visit->task->task, leader, fs, pgd;
	struct mmu_mapping at;

	if (layout->task_leader == LAYOUT_NONE || layout->task_start_time == LAYOUT_NONE ||
	    kread_u64(&visit->k, task + layout->task_leader, &leader) ||
	    kread_u64(&visit->k, leader + layout->task_start_time, &process->start_time))
		process->start_time = 0;
	if (layout->task_fs == LAYOUT_NONE || layout->fs_root == LAYOUT_NONE ||
	    kread_u64(&visit->k, task + layout->task_fs, &fs) ||
	    path_read_place(&visit->k, layout, fs + layout->fs_root, &visit->root))
		visit->root = (struct path_place){ 0 };
	if (visit->kernel->mm_pgd == LAYOUT_NONE ||
	    kread_u64(&visit->k, visit->task->mm + visit->kernel->mm_pgd, &pgd) ||
	    mmu_translate(&visit->k.space, visit->k.mem, GVA(pgd), &at))
		return;
	process->space = visit->k.space;
	process->space.root = at.gpa.addr;
}

int guest_process_read_counted(const struct guest *guest, const struct wire_task *task, u64 *reads,
			       struct guest_process **ret)
{
	_cleanup_(guest_process_destroy) struct guest_process *process = NULL;
	struct visit visit;
	int err = visit_begin(&visit, guest, task);

	if (err)
		return err;
	process = visit.process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->task = task->task;
	process->mm = task->mm;
	process->pid = task->pid;
	visit.seed = hash_new_seed();
	read_identity(&visit);
	err = read_until_same(&visit);
	hashmap_deinit(&visit.files);
	*reads += MAX_READS - visit.k.left;
	if (err)
		return err;
	*ret = TAKE_PTR(process);
	return 0;
}

int guest_process_read(const struct guest *guest, const struct wire_task *task,
		       struct guest_process **ret)
{
	u64 reads = 0;

	return guest_process_read_counted(guest, task, &reads, ret);
}

size_t guest_process_size(const struct guest_process *process)
{
	size_t size = sizeof(*process) + process->mappings.nr * sizeof(*process->mappings.data) +
		      process->files.nr * sizeof(*process->files.data);

	vec_for_each(&process->files, file)
		size += file->path ? strlen(file->path) + 1 : 0;
	return size;
}

static int copy_file(const struct guest_mapped_file *file, struct guest_process *to)
{
	struct guest_mapped_file copy = *file;
	int err;

	copy.path = strdup(file->path);
	if (!copy.path)
		return -ENOMEM;
	err = vec_push(&to->files, copy);
	if (err)
		free(copy.path);
	return err;
}

/* One that is the same process, with nothing mapped; NULL: no memory. */
static struct guest_process *make_same(const struct guest_process *process)
{
	struct guest_process *same = calloc(1, sizeof(*same));

	if (!same)
		return NULL;
	same->task = process->task;
	same->mm = process->mm;
	same->pid = process->pid;
	same->exe = GUEST_NO_FILE;
	same->space = process->space;
	return same;
}

int guest_process_copy(const struct guest_process *process, struct guest_process **ret)
{
	_cleanup_(guest_process_destroy) struct guest_process *copy = make_same(process);
	int err = 0;

	if (!copy)
		return -ENOMEM;
	copy->start_time = process->start_time;
	copy->stamp = process->stamp;
	copy->partial = process->partial;
	copy->exe = process->exe;
	for (size_t i = 0; !err && i < process->mappings.nr; i++)
		err = vec_push(&copy->mappings, process->mappings.data[i]);
	for (size_t i = 0; !err && i < process->files.nr; i++)
		err = copy_file(&process->files.data[i], copy);
	if (!err)
		*ret = TAKE_PTR(copy);
	return err;
}

int guest_process_excerpt(const struct guest_process *process, size_t i,
			  struct guest_process **ret)
{
	const struct guest_mapping *chosen = &process->mappings.data[i];
	_cleanup_(guest_process_destroy) struct guest_process *excerpt = make_same(process);
	bool of_file = chosen->file < process->files.nr;
	int err = 0;

	if (!excerpt)
		return -ENOMEM;
	if (of_file)
		err = copy_file(&process->files.data[chosen->file], excerpt);
	for (size_t at = 0; !err && at < process->mappings.nr; at++) {
		struct guest_mapping mapping = process->mappings.data[at];
		bool room = excerpt->mappings.nr < GUEST_EXCERPT_MAPPINGS - (at < i);

		if (at != i && (!room || !of_file || mapping.file != chosen->file))
			continue;
		mapping.file = of_file ? 0 : GUEST_NO_FILE;
		err = vec_push(&excerpt->mappings, mapping);
	}
	if (!err)
		*ret = TAKE_PTR(excerpt);
	return err;
}

void guest_process_destroy(struct guest_process *process)
{
	if (!process)
		return;
	clear_lists(process);
	vec_deinit(&process->files);
	vec_deinit(&process->mappings);
	free(process);
}

const struct guest_mapping *guest_process_find(const struct guest_process *process, gva_t address)
{
	size_t low = 0, high = process->mappings.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct guest_mapping *mapping = &process->mappings.data[middle];

		if (address.addr < mapping->start.addr)
			high = middle;
		else if (address.addr >= mapping->end.addr)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

const char *guest_mapping_label(const struct guest_mapping *mapping)
{
	static const char *const labels[] = {
		[GUEST_MAPPING_FILE] = "",
		[GUEST_MAPPING_ANON] = "",
		[GUEST_MAPPING_JIT] = "",
		[GUEST_MAPPING_HEAP] = "[heap]",
		[GUEST_MAPPING_STACK] = "[stack]",
		[GUEST_MAPPING_VDSO] = "[vdso]",
		[GUEST_MAPPING_VVAR] = "[vvar]",
		[GUEST_MAPPING_VSYSCALL] = "[vsyscall]",
		[GUEST_MAPPING_UPROBES] = "[uprobes]",
	};

	return labels[mapping->kind];
}
