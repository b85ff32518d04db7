/* SPDX-License-Identifier: GPL-2.0-only */
/* KVM's structures in the host kernel, in the forms of old and new releases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-kvm.h"

static struct build_kvm host;
static const enum build_kvm_form forms[] = { BUILD_KVM_ARRAYS, BUILD_KVM_TREES };

static void start(enum build_kvm_form form)
{
	assert_int_equal(build_kvm_init(&host, form), 0);
}

static void stop(void)
{
	build_kvm_deinit(&host);
}

static const struct mem_slot pc_slots[] = {
	{ .gpa = 0, .size = 0xa0000, .hva = 0x7f0000000000 },
	{ .gpa = 0xc0000, .size = 0x20000, .hva = 0x7f00000c0000, .flags = MEM_SLOT_READONLY },
	{ .gpa = 0x100000, .size = 0x7ff00000, .hva = 0x7f0000100000 },
	{ .gpa = 0xfffc0000, .size = 0x40000, .hva = 0x7e0000000000, .flags = MEM_SLOT_READONLY },
	{ .gpa = 0x100000000, .size = 0x40000000, .hva = 0x7f0080000000 },
};

static void test_slots(void **state)
{
	static struct mem_slots got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		start(forms[i]);
		build_kvm_slots(&host, 42 | MEM_SLOTS_UPDATING, pc_slots, NULL,
				ARRAY_SIZE(pc_slots));
		assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), 0);
		assert_int_equal(got.generation, 42);
		assert_int_equal(got.nr, ARRAY_SIZE(pc_slots));
		assert_int_equal(got.cut, 0);
		assert_memory_equal(got.slots, pc_slots, sizeof(pc_slots));
		build_kvm_slots(&host, 44, NULL, NULL, 0);
		assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), 0);
		assert_int_equal(got.generation, 44);
		assert_int_equal(got.nr, 0);
		stop();
	}
}

/* KVM's own slots, ones being moved and empty ones are left out. */
static void test_slots_left_out(void **state)
{
	static const s16 last_ids[] = { 512, INT16_MAX };
	static struct mem_slots got;
	struct mem_slot slots[6];
	s16 ids[6] = { 0, 1, 0, 0, 0, 5 };

	(void)state;
	for (u32 i = 0; i < 6; i++)
		slots[i] = (struct mem_slot){ .gpa = i << 20, .size = 0x1000, .hva = 0x1000 };
	slots[1].flags = 1 << 16;
	slots[5].size = 0;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		start(forms[i]);
		for (int j = 0; j < 3; j++)
			ids[2 + j] = last_ids[i] - 1 - j;
		build_kvm_slots(&host, 1, slots, ids, 6);
		assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), 0);
		assert_int_equal(got.nr, 1);
		assert_int_equal(got.slots[0].gpa, 0);
		/* One less is the VMM's. */
		ids[2] = last_ids[i] - 4;
		build_kvm_slots(&host, 2, slots, ids, 6);
		assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), 0);
		assert_int_equal(got.nr, 2);
		stop();
	}
}

static void test_slots_cut(void **state)
{
	static struct mem_slot slots[MEM_MAX_SLOTS + 100];
	static struct mem_slots got;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(slots); i++)
		slots[i] = (struct mem_slot){ .gpa = (u64)i << 20, .size = 0x1000, .hva = i << 12 };
	start(BUILD_KVM_TREES);
	build_kvm_slots(&host, 1, slots, NULL, ARRAY_SIZE(slots));
	assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), 0);
	assert_int_equal(got.nr, MEM_MAX_SLOTS);
	assert_int_equal(got.cut, 100);
	assert_memory_equal(got.slots, slots, MEM_MAX_SLOTS * sizeof(slots[0]));
	stop();
}

/* What cannot be a set of slots is read again, and given up in the end. */
static void test_slots_torn(void **state)
{
	static struct mem_slots got = { .nr = 7 };
	struct mem_slot slots[3];
	u64 memslots = 0, node = 0, root, left, reads;

	(void)state;
	memcpy(slots, pc_slots, sizeof(slots));
	slots[1].gpa = 0x1000;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		start(forms[i]);
		build_kvm_slots(&host, 1, slots, NULL, 3);
		assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), -EAGAIN);
		slots[0].gpa = 0x000fffffffffff000;
		slots[0].size = 0xfffffffffffff000;
		build_kvm_slots(&host, 1, slots, NULL, 1);
		assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), -EAGAIN);
		slots[0] = pc_slots[0];
		stop();
	}
	/* A tree that has become a ring. */
	start(BUILD_KVM_TREES);
	build_kvm_slots(&host, 1, pc_slots, NULL, ARRAY_SIZE(pc_slots));
	kernel_read_u64(&host.kernel, build_kvm_member(&host, host.kvm, "kvm", "memslots"),
			&memslots);
	root = build_kvm_member(&host, memslots, "kvm_memslots", "gfn_tree");
	kernel_read_u64(&host.kernel, root, &node);
	left = build_kvm_member(&host, node, "rb_node", "rb_left");
	build_kvm_put(&host, left, node, 8);
	reads = mem_fake_reads(host.memory);
	assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), -EAGAIN);
	assert_true(mem_fake_reads(host.memory) - reads < 8 * (INT16_MAX + 10));
	/* A node that is gone. */
	build_kvm_put(&host, left, 0xffff888ffffff000, 8);
	assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), -EAGAIN);
	build_kvm_put(&host, root, 0, 8);
	assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), 0);
	assert_int_equal(got.nr, 0);
	stop();
}

static void test_slots_errors(void **state)
{
	static struct mem_slots got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		start(forms[i]);
		build_kvm_slots(&host, 1, pc_slots, NULL, ARRAY_SIZE(pc_slots));
		got.nr = 7;
		for (u64 after = 0; after < 9; after++) {
			mem_fake_fail(host.memory, after, -EPERM);
			assert_int_equal(kvm_read_slots(&host.reader, host.kvm, &got), -EPERM);
			assert_int_equal(got.nr, 7);
		}
		mem_fake_fail(host.memory, 0, 0);
		/* The struct kvm itself is gone. */
		assert_int_equal(kvm_read_slots(&host.reader, 0xffff888fffff0000, &got), -EFAULT);
		stop();
	}
}

static void test_vcpus(void **state)
{
	static const u32 counts[] = { 0, 1, 2, 64, 65, 200 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms) * ARRAY_SIZE(counts); i++) {
		u32 nr = counts[i / ARRAY_SIZE(forms)];
		struct vm vm = { 0 };

		start(forms[i % ARRAY_SIZE(forms)]);
		for (u32 j = 0; j < nr; j++)
			build_kvm_vcpu(&host, j * 2, j == 1 ? 0 : 1000 + j);
		assert_int_equal(kvm_read_vcpus(&host.reader, host.kvm, &vm), 0);
		assert_int_equal(vm.vcpus.nr, nr);
		for (u32 j = 0; j < nr; j++) {
			assert_int_equal(vm.vcpus.data[j].id, j * 2);
			assert_int_equal(vm.vcpus.data[j].tid, j == 1 ? 0 : 1000 + j);
		}
		vec_deinit(&vm.vcpus);
		stop();
	}
}

static void test_vcpus_torn(void **state)
{
	struct vm vm = { 0 };
	u64 vcpu;

	(void)state;
	start(BUILD_KVM_TREES);
	vcpu = build_kvm_vcpu(&host, 0, 100);
	build_kvm_put(&host, build_kvm_member(&host, host.kvm, "kvm", "online_vcpus"), 1 << 20, 4);
	assert_int_equal(kvm_read_vcpus(&host.reader, host.kvm, &vm), -EAGAIN);
	/* More are announced than the array has. */
	build_kvm_put(&host, build_kvm_member(&host, host.kvm, "kvm", "online_vcpus"), 3, 4);
	assert_int_equal(kvm_read_vcpus(&host.reader, host.kvm, &vm), 0);
	assert_int_equal(vm.vcpus.nr, 1);
	/* Another VM's by now. */
	build_kvm_put(&host, build_kvm_member(&host, vcpu, "kvm_vcpu", "kvm"), 0x1234, 8);
	assert_int_equal(kvm_read_vcpus(&host.reader, host.kvm, &vm), -EAGAIN);
	/* A node that points to itself. */
	build_kvm_put(&host, build_kvm_member(&host, vcpu, "xa_node", "slots"), vcpu | 2, 8);
	build_kvm_put(&host, build_kvm_member(&host, host.kvm, "kvm", "vcpu_array.xa_head"),
		      vcpu | 2, 8);
	assert_int_equal(kvm_read_vcpus(&host.reader, host.kvm, &vm), -EAGAIN);
	vec_deinit(&vm.vcpus);
	stop();
}

static const char *kind(u8 type, u8 active, u8 es_active, enum vm_vendor vendor)
{
	const char *got = "unset";

	build_kvm_put(&host, build_kvm_member(&host, host.kvm, "kvm", "arch.vm_type"), type, 1);
	build_kvm_put(&host, build_kvm_member(&host, host.kvm, "kvm_svm", "sev_info.active"),
		      active, 1);
	build_kvm_put(&host, build_kvm_member(&host, host.kvm, "kvm_svm", "sev_info.es_active"),
		      es_active, 1);
	assert_int_equal(kvm_read_confidential(&host.reader, host.kvm, vendor, &got), 0);
	return got;
}

static void test_confidential(void **state)
{
	(void)state;
	start(BUILD_KVM_TREES);
	assert_null(kind(0, 0, 0, VM_VENDOR_AMD));
	assert_string_equal(kind(0, 1, 0, VM_VENDOR_AMD), "SEV");
	assert_string_equal(kind(0, 1, 1, VM_VENDOR_AMD), "SEV-ES");
	assert_string_equal(kind(2, 1, 0, VM_VENDOR_AMD), "SEV");
	assert_string_equal(kind(3, 1, 1, VM_VENDOR_AMD), "SEV-ES");
	assert_string_equal(kind(4, 1, 1, VM_VENDOR_AMD), "SEV-SNP");
	assert_string_equal(kind(1, 0, 0, VM_VENDOR_AMD), "software-protected");
	assert_string_equal(kind(5, 0, 0, VM_VENDOR_INTEL), "TDX");
	/* What we do not know we do not touch. */
	assert_non_null(kind(9, 0, 0, VM_VENDOR_INTEL));
	/* Behind struct kvm, Intel has other things than SEV's. */
	assert_null(kind(0, 1, 1, VM_VENDOR_INTEL));
	stop();
}

static void put_save(u64 vmcb, const char *member, u64 value, size_t size)
{
	build_kvm_put(&host, build_kvm_member(&host, vmcb, "vmcb", member), value, size);
}

static u64 make_svm_vcpu(u64 *ret_vmcb)
{
	u64 vcpu = build_kvm_vcpu(&host, 0, 100);
	u64 vmcb = build_kvm_alloc(&host, 0x1000);

	for (u32 i = 0; i < 17; i++)
		build_kvm_put(&host, build_kvm_member(&host, vcpu, "kvm_vcpu", "arch.regs") + i * 8,
			      0x1000 + i, 8);
	if (host.form == BUILD_KVM_TREES) {
		u64 regs = build_kvm_member(&host, vcpu, "kvm_vcpu", "arch.regs");

		build_kvm_put(&host, regs + 16 * 8, 0xbad, 8);
		build_kvm_put(&host, build_kvm_member(&host, vcpu, "kvm_vcpu", "arch.rip"),
			      0x1010, 8);
	}
	build_kvm_put(&host, build_kvm_member(&host, vcpu, "vcpu_svm", "vmcb01.ptr"), vmcb, 8);
	/* The vCPU runs a guest of its own now: not the one that we are after. */
	build_kvm_put(&host, build_kvm_member(&host, vcpu, "vcpu_svm", "vmcb"), 0x6666, 8);
	build_kvm_put(&host, vmcb + 0x90, 1, 8);	/* nested paging */
	put_save(vmcb, "save.rip", 0xbad, 8);
	put_save(vmcb, "save.rsp", 0xbad, 8);
	put_save(vmcb, "save.rflags", 0x246, 8);
	put_save(vmcb, "save.cr0", 0x80050033, 8);
	put_save(vmcb, "save.cr3", 0x100a000, 8);
	put_save(vmcb, "save.cr4", 0x6b0, 8);
	put_save(vmcb, "save.efer", 0x1d01, 8);
	put_save(vmcb, "save.lstar", 0xffffffff81e00080, 8);
	put_save(vmcb, "save.gs.base", 0xffff88803ec00000, 8);
	put_save(vmcb, "save.kernel_gs_base", 0x11, 8);
	put_save(vmcb, "save.fs.base", 0x7f0011, 8);
	put_save(vmcb, "save.cs.base", 0x222, 8);
	put_save(vmcb, "save.ss.base", 0x333, 8);
	put_save(vmcb, "save.cs.attrib", 0x0a9b, 2);
	*ret_vmcb = vmcb;
	return vcpu;
}

static void test_nested(void **state)
{
	u64 vcpu, vmcb, used;
	bool nested;

	(void)state;
	start(BUILD_KVM_TREES);
	vcpu = make_svm_vcpu(&vmcb);
	used = build_kvm_member(&host, vcpu, "vcpu_svm", "vmcb");
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_AMD, &nested), 0);
	assert_true(nested);
	build_kvm_put(&host, used, vmcb, 8);
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_AMD, &nested), 0);
	assert_false(nested);
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_INTEL, &nested),
			 -EOPNOTSUPP);
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_ARM, &nested), -EOPNOTSUPP);
	/* Intel's is in the vCPU itself. */
	host.layout.vmx_loaded = used - vcpu;
	host.layout.vmx_vmcs01 = 0x410;
	build_kvm_put(&host, used, vcpu + 0x410, 8);
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_INTEL, &nested), 0);
	assert_false(nested);
	build_kvm_put(&host, used, vcpu + 0x418, 8);
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_INTEL, &nested), 0);
	assert_true(nested);
	host.layout.svm_vmcb_used = LAYOUT_ABSENT;
	assert_int_equal(kvm_read_nested(&host.reader, vcpu, VM_VENDOR_AMD, &nested), -EOPNOTSUPP);
	stop();
}

static void test_peek_svm(void **state)
{
	struct vcpu_regs regs;
	u64 vcpu, vmcb;

	(void)state;
	start(BUILD_KVM_TREES);
	vcpu = make_svm_vcpu(&vmcb);
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), 0);
	assert_int_equal(regs.arch, VCPU_ARCH_X86_64);
	assert_int_equal(regs.pc, 0x1010);
	assert_int_equal(regs.flags, 0x246);
	assert_int_equal(regs.gpr[X86_RAX], 0x1000);
	assert_int_equal(regs.gpr[X86_RCX], 0x1001);
	assert_int_equal(regs.gpr[X86_RDX], 0x1002);
	assert_int_equal(regs.gpr[X86_RBX], 0x1003);
	assert_int_equal(regs.gpr[X86_RSP], 0x1004);
	assert_int_equal(regs.gpr[X86_RBP], 0x1005);
	assert_int_equal(regs.gpr[X86_RSI], 0x1006);
	assert_int_equal(regs.gpr[X86_RDI], 0x1007);
	assert_int_equal(regs.gpr[X86_R8], 0x1008);
	assert_int_equal(regs.gpr[X86_R15], 0x100f);
	assert_int_equal(regs.x86.cr3, 0x100a000);
	assert_int_equal(regs.x86.cr4, 0x6b0);
	assert_int_equal(regs.x86.efer, 0xd01);
	assert_int_equal(regs.x86.lstar, 0xffffffff81e00080);
	assert_int_equal(regs.x86.gs_base, 0xffff88803ec00000);
	assert_int_equal(regs.x86.kernel_gs_base, 0x11);
	assert_int_equal(regs.x86.fs_base, 0x7f0011);
	assert_int_equal(regs.x86.cs_base, 0);
	assert_int_equal(regs.user, 0);
	assert_int_equal(regs.bits, 64);
	/* A 32-bit program under a 64-bit kernel. */
	put_save(vmcb, "save.cpl", 3, 1);
	put_save(vmcb, "save.cs.attrib", 0x0cfb, 2);
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), 0);
	assert_int_equal(regs.user, 1);
	assert_int_equal(regs.bits, 32);
	assert_int_equal(regs.x86.cs_base, 0x222);
	assert_int_equal(regs.x86.ss_base, 0x333);
	/* Real mode. */
	put_save(vmcb, "save.cr0", 0x10, 8);
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), 0);
	assert_int_equal(regs.bits, 16);
	build_kvm_put(&host, vmcb + 0x90, 0, 8);
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), -EOPNOTSUPP);
	build_kvm_put(&host, build_kvm_member(&host, vcpu, "vcpu_svm", "vmcb01.ptr"), 0x5555, 8);
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), -EFAULT);
	host.layout.svm_vmcb = LAYOUT_ABSENT;
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), -EOPNOTSUPP);
	stop();
}

/* RIP behind the other registers, as it was up to 7.1. */
static void test_peek_svm_rip(void **state)
{
	struct vcpu_regs regs;
	u64 vmcb, vcpu;

	(void)state;
	start(BUILD_KVM_ARRAYS);
	vcpu = make_svm_vcpu(&vmcb);
	assert_int_equal(kvm_peek_svm(&host.reader, vcpu, &regs), 0);
	assert_int_equal(regs.pc, 0x1010);
	stop();
}

#define URET_LIST_BYTES 64

/* KVM's list of such MSRs: LSTAR is the @nr-th of it; too many: none is. */
static u64 make_uret_list(u32 nr)
{
	u64 list = build_kvm_alloc(&host, URET_LIST_BYTES);

	build_kvm_put(&host, list, 0xc0000084, 4);
	if (nr < URET_LIST_BYTES / 4)
		build_kvm_put(&host, list + nr * 4, 0xc0000082, 4);
	return list;
}

static void put_vcpu(u64 vcpu, const char *type, const char *member, u64 value)
{
	build_kvm_put(&host, build_kvm_member(&host, vcpu, type, member), value, 8);
}

static void test_find_lstar(void **state)
{
	(void)state;
	start(BUILD_KVM_TREES);
	assert_int_equal(kvm_vmx_find_lstar(&host.reader, make_uret_list(1)), 0x400 + 24 + 8);
	assert_int_equal(kvm_vmx_find_lstar(&host.reader, make_uret_list(3)), 0x400 + 72 + 8);
	assert_int_equal(kvm_vmx_find_lstar(&host.reader, make_uret_list(16)), LAYOUT_ABSENT);
	assert_int_equal(kvm_vmx_find_lstar(&host.reader, 0), LAYOUT_ABSENT);
	assert_int_equal(kvm_vmx_find_lstar(&host.reader, 0x5555), LAYOUT_ABSENT);
	host.layout.vmx_uret_data = LAYOUT_ABSENT;
	assert_int_equal(kvm_vmx_find_lstar(&host.reader, make_uret_list(1)), LAYOUT_ABSENT);
	stop();
}

static void test_peek_vmx(void **state)
{
	struct vcpu_regs regs;
	u64 vcpu;
	u32 lstar;

	(void)state;
	start(BUILD_KVM_TREES);
	vcpu = build_kvm_vcpu(&host, 0, 100);
	lstar = kvm_vmx_find_lstar(&host.reader, make_uret_list(1));
	put_vcpu(vcpu, "kvm_vcpu", "arch.cr0", 0x80050033);
	put_vcpu(vcpu, "kvm_vcpu", "arch.cr3", 0x100a000);
	put_vcpu(vcpu, "kvm_vcpu", "arch.cr4", 0x6b0);
	put_vcpu(vcpu, "kvm_vcpu", "arch.efer", 0xd01);
	put_vcpu(vcpu, "vcpu_vmx", "msr_guest_kernel_gs_base", 0xffff88803ec00000);
	build_kvm_put(&host, vcpu + lstar, 0xffffffff81e00080, 8);
	assert_int_equal(kvm_peek_vmx(&host.reader, vcpu, lstar, &regs), 0);
	assert_int_equal(regs.arch, VCPU_ARCH_X86_64);
	assert_int_equal(regs.user, 1);
	assert_int_equal(regs.bits, 64);
	assert_int_equal(regs.pc, 0);
	assert_int_equal(regs.x86.cr0, 0x80050033);
	assert_int_equal(regs.x86.cr3, 0x100a000);
	assert_int_equal(regs.x86.cr4, 0x6b0);
	assert_int_equal(regs.x86.efer, 0xd01);
	assert_int_equal(regs.x86.lstar, 0xffffffff81e00080);
	assert_int_equal(regs.x86.kernel_gs_base, 0xffff88803ec00000);
	/* Not known is no reason to give up. */
	host.layout.vmx_kernel_gs_base = LAYOUT_ABSENT;
	assert_int_equal(kvm_peek_vmx(&host.reader, vcpu, LAYOUT_ABSENT, &regs), 0);
	assert_int_equal(regs.x86.lstar, 0);
	assert_int_equal(regs.x86.kernel_gs_base, 0);
	put_vcpu(vcpu, "kvm_vcpu", "arch.efer", 0);
	assert_int_equal(kvm_peek_vmx(&host.reader, vcpu, lstar, &regs), 0);
	assert_int_equal(regs.bits, 32);
	assert_int_equal(kvm_peek_vmx(&host.reader, 0x5555, lstar, &regs), -EFAULT);
	host.layout.vcpu_cr3 = LAYOUT_ABSENT;
	assert_int_equal(kvm_peek_vmx(&host.reader, vcpu, lstar, &regs), -EOPNOTSUPP);
	stop();
}

static void test_layout_member(void **state)
{
	struct btf *btf = btf__new_empty();
	int u8_id = btf__add_int(btf, "u8", 1, 0);
	int array = btf__add_array(btf, u8_id, u8_id, 10);
	u32 offset, size;

	(void)state;
	btf__add_struct(btf, "s", 16);
	btf__add_field(btf, "flag", u8_id, 3, 1);
	btf__add_field(btf, "bytes", array, 24, 0);
	assert_int_equal(vm_layout_member(btf, "s", "bytes", &offset, &size), 0);
	assert_int_equal(offset, 3);
	assert_int_equal(size, 10);
	offset = 7;
	assert_int_equal(vm_layout_member(btf, "s", "flag", &offset, &size), -EOPNOTSUPP);
	assert_int_equal(vm_layout_member(btf, "s", "byte", &offset, &size), -ENOENT);
	assert_int_equal(vm_layout_member(btf, "s", "bytes.x", &offset, &size), -ENOENT);
	assert_int_equal(vm_layout_member(btf, "t", "bytes", &offset, &size), -ENOENT);
	assert_int_equal(offset, 7);
	btf__free(btf);
}

static void test_layout_percpu(void **state)
{
	struct btf *btf = btf__new_empty();
	int u64_id = btf__add_int(btf, "u64", 8, 0);
	int first = btf__add_var(btf, "first", BTF_VAR_STATIC, u64_id);
	int second = btf__add_var(btf, "second", BTF_VAR_GLOBAL_ALLOCATED, u64_id);
	int other = btf__add_var(btf, "other", BTF_VAR_GLOBAL_ALLOCATED, u64_id);
	u32 offset = 7;

	(void)state;
	assert_int_equal(vm_layout_percpu(btf, "first", &offset), -ENOENT);
	btf__add_datasec(btf, ".data", 8);
	btf__add_datasec_var_info(btf, other, 0, 8);
	btf__add_datasec(btf, ".data..percpu", 64);
	btf__add_datasec_var_info(btf, first, 0, 8);
	btf__add_datasec_var_info(btf, second, 48, 8);
	assert_int_equal(vm_layout_percpu(btf, "other", &offset), -ENOENT);
	assert_int_equal(offset, 7);
	assert_int_equal(vm_layout_percpu(btf, "second", &offset), 0);
	assert_int_equal(offset, 48);
	assert_int_equal(vm_layout_percpu(btf, "first", &offset), 0);
	assert_int_equal(offset, 0);
	btf__free(btf);
}

static void test_layout_unknown(void **state)
{
	struct btf *btf = btf__new_empty();
	struct vm_layout layout = { .kvm_mm = 7 };
	const char *why = NULL;

	(void)state;
	assert_int_equal(vm_layout_load(&layout, btf, NULL, &why), -EOPNOTSUPP);
	assert_non_null(why);
	assert_int_equal(layout.kvm_mm, 7);
	btf__free(btf);
	/* Without the vendor module's types everything but registers works. */
	start(BUILD_KVM_TREES);
	assert_int_equal(vm_layout_load(&layout, host.btf, NULL, &why), 0);
	assert_int_equal(layout.svm_vmcb, LAYOUT_ABSENT);
	assert_int_equal(layout.vcpu_id, 0x18);
	stop();
}

static void check_npt(const char *value, bool shadows)
{
	char dir[] = "/tmp/kvmprof-test.XXXXXX", path[128];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/module/kvm_amd/parameters/npt", dir);
	if (value)
		assert_int_equal(file_write_atomic(path, value, strlen(value)), 0);
	assert_int_equal(kvm_svm_shadows(dir), shadows);
	unlink(path);
	while (strlen(path) > strlen(dir)) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
}

static void test_shadow_paging(void **state)
{
	(void)state;
	check_npt("Y\n", false);
	check_npt("1\n", false);
	check_npt("N\n", true);
	check_npt("0\n", true);
	check_npt("", false);
	check_npt(NULL, false);
}

/* An arm64 vCPU in 16 KiB of memory; system register N holds N plus this. */
#define VCPU 0xffff000001234000ULL
#define CTXT_REGS 0x40
#define SYS_REGS 0x500
#define SYSREG_VALUE 0x5000

struct arm64_memory {
	struct kernel_mem kernel;
	u64 words[2048];
	size_t size;		/* bytes that are there */
	unsigned int reads;
};

static int read_arm64(struct kernel_mem *kernel, u64 addr, void *out, size_t size)
{
	struct arm64_memory *m = container_of(kernel, struct arm64_memory, kernel);

	m->reads++;
	if (addr - VCPU > m->size || size > m->size - (addr - VCPU))
		return -EFAULT;
	memcpy(out, (const u8 *)m->words + (addr - VCPU), size);
	return 0;
}

static void fill_arm64(struct arm64_memory *m, struct vm_layout *layout)
{
	*m = (struct arm64_memory){ .kernel.read = read_arm64, .size = sizeof(m->words) };
	*layout = (struct vm_layout){ .vcpu_ctxt_regs = CTXT_REGS, .vcpu_sys_regs = SYS_REGS };
	/* Far apart, in no order. */
	for (u32 i = 0; i < LAYOUT_NR_SYSREGS; i++)
		layout->sysregs[i] = 5 + (i * 7 + 3) % LAYOUT_NR_SYSREGS * 60;
	for (u64 i = 0; i < 34; i++)
		m->words[CTXT_REGS / 8 + i] = 0x100 + i;
	for (u64 i = SYS_REGS / 8; i < ARRAY_SIZE(m->words); i++)
		m->words[i] = SYSREG_VALUE + i - SYS_REGS / 8;
}

static void test_arm64(void **state)
{
	struct arm64_memory m;
	struct vm_layout layout;
	struct kvm_reader reader = { &m.kernel, &layout };
	struct vcpu_regs regs;

	(void)state;
	fill_arm64(&m, &layout);
	m.words[CTXT_REGS / 8 + 33] = 0x5;	/* PSTATE: EL1h */
	assert_int_equal(kvm_peek_arm64(&reader, VCPU, &regs), 0);
	assert_int_equal(regs.arch, VCPU_ARCH_ARM64);
	assert_int_equal(regs.gpr[0], 0x100);
	assert_int_equal(regs.gpr[ARM64_LR], 0x100 + 30);
	assert_int_equal(regs.arm64.sp_el0, 0x100 + 31);
	assert_int_equal(regs.pc, 0x100 + 32);
	assert_int_equal(regs.user, 0);
	assert_int_equal(regs.arm64.ttbr1, SYSREG_VALUE + layout.sysregs[LAYOUT_TTBR1_EL1]);
	assert_int_equal(regs.arm64.vbar, SYSREG_VALUE + layout.sysregs[LAYOUT_VBAR_EL1]);
	assert_int_equal(regs.arm64.tpidrro_el0,
			 SYSREG_VALUE + layout.sysregs[LAYOUT_TPIDRRO_EL0]);
	assert_int_equal(regs.gpr[ARM64_SP], SYSREG_VALUE + layout.sysregs[LAYOUT_SP_EL1]);
	/* A thread may stand still meanwhile. */
	assert_int_equal(m.reads, 2);
	/* In a program: SP_EL0. */
	m.words[CTXT_REGS / 8 + 33] = 0;
	assert_int_equal(kvm_peek_arm64(&reader, VCPU, &regs), 0);
	assert_int_equal(regs.user, 1);
	assert_int_equal(regs.gpr[ARM64_SP], 0x100 + 31);
}

static void test_arm64_missing(void **state)
{
	struct arm64_memory m;
	struct vm_layout layout;
	struct kvm_reader reader = { &m.kernel, &layout };
	struct vcpu_regs regs;
	u32 last = 0;

	(void)state;
	fill_arm64(&m, &layout);
	for (u32 i = 0; i < LAYOUT_NR_SYSREGS; i++)
		last = MAX(last, layout.sysregs[i]);
	for (m.size = 0; m.size < SYS_REGS + (last + 1) * 8; m.size += 8)
		assert_int_equal(kvm_peek_arm64(&reader, VCPU, &regs), -EFAULT);
	assert_int_equal(kvm_peek_arm64(&reader, VCPU, &regs), 0);
	layout.sysregs[LAYOUT_TCR_EL1] = 5000;	/* no such kernel */
	assert_int_equal(kvm_peek_arm64(&reader, VCPU, &regs), -EOPNOTSUPP);
	layout.sysregs[LAYOUT_TCR_EL1] = LAYOUT_ABSENT;
	assert_int_equal(kvm_peek_arm64(&reader, VCPU, &regs), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_slots_left_out),
		cmocka_unit_test(test_slots_cut),
		cmocka_unit_test(test_slots_torn),
		cmocka_unit_test(test_slots_errors),
		cmocka_unit_test(test_vcpus),
		cmocka_unit_test(test_vcpus_torn),
		cmocka_unit_test(test_confidential),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_peek_svm),
		cmocka_unit_test(test_peek_svm_rip),
		cmocka_unit_test(test_find_lstar),
		cmocka_unit_test(test_peek_vmx),
		cmocka_unit_test(test_shadow_paging),
		cmocka_unit_test(test_layout_member),
		cmocka_unit_test(test_layout_percpu),
		cmocka_unit_test(test_layout_unknown),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_arm64_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
