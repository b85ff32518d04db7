/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records between capture and the rest, fixed width, host byte order. BPF fills them into the
 * ring buffer; the ptrace mode fills the same ones in user space. A record never reaches a disk:
 * the stack bytes in it are the guest's secrets.
 */
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include "model/regs.h"

#define WIRE_COMM_LEN 16
#define WIRE_MAX_EVENTS 128		/* of a recording; kvm:* are some 90. A power of two */
#define WIRE_MAX_RAW 128		/* bytes; those of KVM's tracepoints are fewer */
#define WIRE_MAX_STACKS 5		/* exception, interrupt, thread, two of the user */
#define WIRE_MAX_STACK_BYTES 16384	/* one stack: THREAD_SIZE and IRQ_STACK_SIZE on x86-64 */
#define WIRE_PAGE 4096
#define WIRE_RED_ZONE 128		/* bytes below RSP that a user stack is copied with */
#define WIRE_MAX_USER_FRAMES 512	/* --max-depth can ask for as many */

/* Why a walk ended where it did. Kept in every chain and shown to the user. */
enum stop_reason {
	STOP_NONE,		/* not walked */
	STOP_COMPLETE,		/* reached the outermost frame */
	STOP_NOT_PRESENT,	/* a page of the stack is not mapped in the guest */
	STOP_HOST_FAULT,	/* the guest page is not resident on the host */
	STOP_NO_SLOT,		/* a guest physical address outside all memory slots */
	STOP_NO_RULE,		/* no unwinding rule covers the address */
	STOP_BAD_POINTER,	/* misaligned, not ascending or non-canonical stack pointer */
	STOP_BAD_RETURN,	/* a return address that follows no call in executable memory */
	STOP_DEPTH,		/* --max-depth frames and more to come */
	STOP_CHANGED,		/* page tables or stack changed under the walk */
	STOP_STACK_CUT,		/* the copy of the stack ended first */
	STOP_UNSUPPORTED,	/* a paging mode, stack or frame kind not known */
	STOP_NO_KERNEL,		/* the guest's kernel has not been identified */
	STOP_RULE_UNKNOWN,	/* whether a rule covers the address could not be read */
	STOP_SLOTS_STALE,	/* the memory slots had changed, so that nothing was walked */
	STOP_NOT_LOADED,	/* the rules there were still being read when it had to be done */
	STOP_REAL_MODE,		/* nothing to walk: firmware or a boot loader in real mode */
	STOP_FIRMWARE,		/* the same, without paging or in an address space of its own */
	STOP_SMM,		/* the same, in system management mode */
	STOP_NESTED,		/* the vCPU runs a guest of its guest */
	STOP_NR,
};

enum wire_flags {
	WIRE_F_USER = 1 << 0,		/* sampled in guest user mode */
	WIRE_F_MOVED = 1 << 1,		/* registers are later than the event (deferred, ptrace) */
	WIRE_F_SLOTS_STALE = 1 << 2,	/* the memory slots had changed; nothing was walked */
	WIRE_F_TASK = 1 << 3,		/* .task is filled */
	WIRE_F_CHANGED = 1 << 4,	/* a leaf entry differed when it was checked again */
	WIRE_F_NESTED = 1 << 5,		/* the vCPU runs a guest of its own; nothing was walked */
	WIRE_F_TASK_FAULT = 1 << 6,	/* the current task could not be read */
	WIRE_F_KTHREAD = 1 << 7,	/* the task has no user space */
	WIRE_F_USER_GONE = 1 << 8,	/* neither user stack nor the code at user_pc is mapped */
	WIRE_F_USER_32 = 1 << 9,	/* the user part is a 32-bit program's */
	WIRE_F_FLAT = 1 << 10,		/* kernel not known: walked as user mode is */
	WIRE_F_SMM = 1 << 11,		/* in system management mode; nothing was walked */
};

enum wire_stack_kind {
	WIRE_STACK_AT_SP,	/* the one that the stack pointer points into */
	WIRE_STACK_IRQ,
	WIRE_STACK_THREAD,
	WIRE_STACK_USER,	/* a second one: what a signal's handler has left for its own */
};

/* One copied piece of a stack, ascending addresses from @gva. */
struct wire_stack {
	u64 gva;
	u32 offset;	/* of the bytes, from the record's start */
	u32 size;	/* bytes copied; 0 when the first read failed */
	u8 kind;	/* enum wire_stack_kind */
	u8 stop;	/* enum stop_reason: why the copy ended; STOP_COMPLETE at the stack's end */
	u8 holes;	/* bit n: page n, counted from @gva's, was not mapped; its bytes are 0 */
	u8 pad[5];
};

struct wire_task {
	u64 task;	/* guest's struct task_struct * */
	u64 mm;		/* 0 in a kernel thread */
	u64 stack;	/* lowest address of its kernel stack */
	s32 tid;	/* guest's task->pid */
	s32 pid;	/* guest's task->tgid */
	char comm[WIRE_COMM_LEN];	/* guest's bytes: may lack the NUL, may hold anything */
};

enum wire_type {
	WIRE_SAMPLE = 1,
};

/*
 * One sample. After it come the user frames (u64 return addresses, innermost first, without the
 * pc itself), then the stacks' bytes, each at its offset.
 */
struct wire_sample {
	u32 size;		/* bytes of the whole record */
	u16 type;		/* enum wire_type */
	u16 vcpu;		/* KVM's vcpu_id */
	u32 vm;			/* index that the recorder gave the VM */
	u32 tid;		/* host thread of the vCPU */
	u64 time;		/* CLOCK_MONOTONIC, ns */
	u64 period;		/* events that this sample stands for */
	u32 event;		/* index that the recorder gave the event */
	u32 flags;		/* enum wire_flags */
	u64 event_pc;		/* at the event itself; regs.pc where it cannot be read */
	struct vcpu_regs regs;
	struct wire_task task;
	u64 user_pc;		/* where user mode was left; regs.pc with WIRE_F_USER; 0: none */
	u64 user_sp;
	u64 user_root;		/* top page table of the user walk when CR3 was another's; 0: CR3 */
	u32 user_frames_offset;	/* from the record's start */
	u16 nr_user_frames;
	u8 user_stop;		/* enum stop_reason of the user-space walk */
	u8 nr_stacks;
	u16 raw_size;		/* bytes of .raw: of a tracepoint the first of its record */
	u8 pad[6];
	u8 raw[WIRE_MAX_RAW];
	struct wire_stack stacks[WIRE_MAX_STACKS];
};

/*
 * What capture must know about one guest's kernel, found in the guest's memory. Offsets in bytes.
 * All zero until the kernel is identified: then only registers are taken.
 *
 * Per-CPU offsets are added to the kernel's GS base and are signed: from 6.15 on (9d7de2aa8b41
 * "x86/percpu/64: Use relative percpu offsets") they are link addresses in the top 2 GiB and GS
 * base is the distance from there, before that they are small and positive.
 *
 * i386: the kernel's addresses are sign-extended wherever they are in a record, its registers'
 * too, so that they are in the upper half as those of any kernel. A per-CPU offset is the
 * variable's address; what is added to it is the base of the GDT's per-CPU segment.
 * .irq_stack_offset is not needed: stacks of interrupts are as long as a thread's and begin with
 * the stack pointer that was left for them.
 *
 * hardirq_stack_ptr is the end of the IRQ stack less 8 since 5.12 (951c2a51ae75 "x86/irq/64: Adjust
 * the per CPU irq stack pointer by 8"), the end itself before: round up to 16.
 *
 * arm64 adds TPIDR_EL1 to the address of a variable in the kernel's image. While the kernel runs,
 * SP_EL0 is the current task; __entry_task says it at any time. irq_stack_ptr there is the lowest
 * address of the IRQ stack. Stacks are told by their alignment: that and loaded_mm are not needed.
 */
struct wire_guest {
	u32 valid;			/* 1: the fields below hold */
	u32 task_pid_offset;
	u32 task_tgid_offset;
	u32 task_comm_offset;
	u32 task_stack_offset;
	u32 task_mm_offset;
	u32 thread_size;		/* bytes of a kernel stack, a power of two */
	u32 irq_stack_size;
	u32 pt_regs_top;		/* from the kernel stack's end to the user pt_regs' end */
	u32 mm_pgd_offset;		/* 0: not known */
	u32 task_alt_stack_offset;	/* sas_ss_sp, sas_ss_size; 0: not known */
	u32 pt_regs_size;		/* arm64: of the user pt_regs; 0: not known */
	s64 current_task_offset;	/* per-CPU current_task; arm64: __entry_task */
	s64 irq_stack_offset;		/* per-CPU hardirq_stack_ptr, see below; 0: unknown */
	s64 loaded_mm_offset;		/* per-CPU cpu_tlbstate.loaded_mm; 0: not known */
	u64 kernel_start;		/* of the kernel's half of the address space */
	u32 word;			/* bytes of a long in the kernel: 8, or 4 of i386 */
	u32 pad;
};

#endif
