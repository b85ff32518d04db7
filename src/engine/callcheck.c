/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks of user-space return addresses, with a cache of verdicts. */
#include "engine/callcheck.h"

#include "arch/arm64-call.h"
#include "arch/x86-call.h"
#include "base/hashmap.h"

#define NR_VERDICTS 65536		/* direct mapped; 24 bytes each */
#define PTI_USER_ROOT 0x1000ULL		/* the user's table lies this far behind the kernel's */
#define VERDICT_AGE_NS 1000000000ULL	/* exec and dlclose change what an address holds */

struct verdict {
	u64 root;	/* address space; 0: empty */
	u64 ret_addr;
	u64 made;	/* ns */
	s32 result;
};

struct callcheck {
	const struct mem_reader *mem;
	struct verdict *verdicts;
};

int callcheck_create(const struct mem_reader *mem, struct callcheck **ret)
{
	struct callcheck *check = calloc(1, sizeof(*check));

	if (!check)
		return -ENOMEM;
	check->mem = mem;
	check->verdicts = calloc(NR_VERDICTS, sizeof(*check->verdicts));
	if (!check->verdicts) {
		free(check);
		return -ENOMEM;
	}
	*ret = check;
	return 0;
}

void callcheck_destroy(struct callcheck *check)
{
	if (!check)
		return;
	free(check->verdicts);
	free(check);
}

static bool is_call(const struct mmu_space *space, const u8 *before, size_t n)
{
	return space->arch == VCPU_ARCH_ARM64 ? arm64_call_ends_at(before, n) :
						x86_call_ends_at(before, n) ||
						x86_far_call_ends_at(before, n);
}

/*
 * With page-table isolation the kernel's table has the program, too, but not for execution: then
 * the user's says. Where there is none, that page holds anything, and must lead to the same place.
 */
static bool may_run(const struct callcheck *check, const struct mmu_space *space, gva_t addr,
		    const struct mmu_mapping *mapping)
{
	struct mmu_space user = *space;
	struct mmu_mapping same;

	if (mapping->access & MMU_EXEC)
		return true;
	if (space->arch == VCPU_ARCH_ARM64 || space->root & PTI_USER_ROOT)
		return false;
	user.root |= PTI_USER_ROOT;
	return !mmu_translate(&user, check->mem, addr, &same) &&
	       same.gpa.addr == mapping->gpa.addr && same.access & MMU_EXEC;
}

/*
 * The call may start in the page before, which may be missing: then the bytes in this page must
 * do, as a call that lies wholly in it.
 */
static int look(const struct callcheck *check, const struct mmu_space *space, gva_t ret_addr)
{
	u64 in_page = ret_addr.addr & 4095;
	struct mmu_mapping mapping;
	u8 bytes[X86_CALL_MAX];
	size_t size = space->arch == VCPU_ARCH_ARM64 ? ARM64_CALL_SIZE : sizeof(bytes);
	int err;

	err = mmu_translate(space, check->mem, GVA(ret_addr.addr - 1), &mapping);
	if (err)
		return -EFAULT;
	if (!may_run(check, space, GVA(ret_addr.addr - 1), &mapping))
		return -EBADMSG;
	err = mmu_read(space, check->mem, GVA(ret_addr.addr - size), bytes, size);
	if (err && in_page && in_page < size) {
		size = in_page;
		err = mmu_read(space, check->mem, GVA(ret_addr.addr - size), bytes, size);
		if (!err && !is_call(space, bytes, size))
			return -EFAULT;
	}
	if (err)
		return -EFAULT;
	return is_call(space, bytes, size) ? 0 : -EBADMSG;
}

int callcheck_user(struct callcheck *check, const struct mmu_space *space, gva_t ret_addr, u64 now)
{
	u64 hash = hash_combine(space->root, ret_addr.addr);
	struct verdict *verdict = &check->verdicts[hash % NR_VERDICTS];

	if (ret_addr.addr < 4096)
		return -EBADMSG;
	if (verdict->root == space->root && verdict->ret_addr == ret_addr.addr &&
	    now - verdict->made < VERDICT_AGE_NS)
		return verdict->result;
	*verdict = (struct verdict){
		.root = space->root,
		.ret_addr = ret_addr.addr,
		.made = now,
		.result = look(check, space, ret_addr),
	};
	return verdict->result;
}
