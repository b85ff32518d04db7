/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One of the guest's processes as seen from outside: who it is, what it has mapped, and from which
 * files. The guest runs on while it is read and may lie in every byte.
 */
#ifndef GUEST_PROCESS_H
#define GUEST_PROCESS_H

#include "base/vec.h"
#include "guest/guest.h"

#define GUEST_PROCESS_MAX_MAPPINGS 65536
#define GUEST_PROCESS_MAX_FILES 4096
#define GUEST_NO_FILE UINT32_MAX

enum guest_mapping_kind {
	GUEST_MAPPING_FILE,
	GUEST_MAPPING_ANON,
	GUEST_MAPPING_JIT,	/* anonymous and executable: code that the process made itself */
	GUEST_MAPPING_HEAP,	/* [heap] */
	GUEST_MAPPING_STACK,	/* [stack], the main thread's */
	GUEST_MAPPING_VDSO,	/* [vdso], an ELF image */
	GUEST_MAPPING_VVAR,	/* [vvar] and its parts: data of the vDSO */
	GUEST_MAPPING_VSYSCALL,	/* [vsyscall] */
	GUEST_MAPPING_UPROBES,	/* [uprobes]: instructions moved out of the way of a probe */
};

struct guest_mapping {
	gva_t start, end;	/* of whole pages; ascending, no two overlap */
	u64 offset;		/* of .start in the file, bytes; 0 without a file */
	u8 prot;		/* PROT_READ, PROT_WRITE, PROT_EXEC */
	bool shared;
	u8 kind;		/* enum guest_mapping_kind */
	u32 file;		/* index of .files; GUEST_NO_FILE: none, or not to be read */
};

/*
 * What a file's bytes are known by. A file system that makes its inodes up as they are used may
 * give .ino and .generation to another file once .inode is no more in memory.
 */
struct guest_file_key {
	u64 inode;		/* address of the guest's struct inode */
	u64 ino;
	u32 major, minor;	/* of the file system, as /proc/PID/maps has it */
	u32 generation;
};

struct guest_mapped_file {
	struct guest_file_key key;	/* of what holds the bytes: below an overlay */
	u64 size;
	char *path;		/* guest's bytes, owned; "" when it could not be read */
	bool deleted;		/* what maps shows as " (deleted)" */
	bool regular;		/* S_ISREG: has a page cache */
	u64 file;		/* address of the struct file, which says how mappings share it */
};

struct guest_process {
	u64 task, mm;		/* as they were asked for */
	s32 pid;		/* the guest's tgid */
	u64 start_time;		/* of the process, ns of the guest's boot time */
	u64 stamp;		/* guest_process_stamp() of before the list was read */
	bool partial;		/* changed under us, or not all of it could be read */
	u32 exe;		/* index of .files: what is run; GUEST_NO_FILE: not mapped */
	struct mmu_space space;	/* its page tables; .root 0 when they are not known */
	VEC(struct guest_mapping) mappings;
	VEC(struct guest_mapped_file) files;
};

/*
 * Reads the process of @task, as a sample has it. Paths are those that perf, run in the guest,
 * records as a process maps them: from the root folder of the process itself. In a container that
 * is the container's view; it differs from what /proc/PID/maps shows to a reader outside of a
 * chroot. Two mapped files may have the same key: opened twice.
 *
 * -ENOENT: the guest is not identified, or a kernel thread; -EOPNOTSUPP: this kernel's types are
 * not known; -ESTALE: the task is no more what it was in the sample; -EAGAIN: the process is
 * changing too fast; else what reading failed with. A list that could not be read to its end, or
 * only while it changed, is returned as .partial: what is in it is in order and within bounds.
 */
int guest_process_read(const struct guest *guest, const struct wire_task *task,
		       struct guest_process **ret);

/* The same; adds how often guest memory was read to *@reads, on failure too. */
int guest_process_read_counted(const struct guest *guest, const struct wire_task *task, u64 *reads,
			       struct guest_process **ret);
void guest_process_destroy(struct guest_process *process);
DEFINE_CLEANUP(struct guest_process *, guest_process_destroy)

/* Bytes of memory that it takes. */
size_t guest_process_size(const struct guest_process *process);

/* A copy of all of it. */
int guest_process_copy(const struct guest_process *process, struct guest_process **ret);

/*
 * What reading the object of mapping @i takes, as a process of its own: that mapping and, when it
 * is one of a file, the file and others of it, GUEST_EXCERPT_MAPPINGS at most. For who reads it
 * later, or in another thread.
 */
#define GUEST_EXCERPT_MAPPINGS 256
int guest_process_excerpt(const struct guest_process *process, size_t i,
			  struct guest_process **ret);

/*
 * A number that changes when the mappings do, from a few reads: when it is the same as .stamp, the
 * list need not be read again. Exact from 6.4 on, where the kernel counts; before that a mapping
 * that is replaced by one of the same size and kind may go unseen. The errors of
 * guest_process_read().
 */
int guest_process_stamp(const struct guest *guest, const struct wire_task *task, u64 *ret);

/* The mapping that holds @address, or NULL. */
const struct guest_mapping *guest_process_find(const struct guest_process *process, gva_t address);

/* What maps shows for mappings without a file: "[heap]", "[vdso]"; "" for plain memory. */
const char *guest_mapping_label(const struct guest_mapping *mapping);

#endif
