/* SPDX-License-Identifier: GPL-2.0-only */
/* tracefs' description of kvm:kvm_exit, shortened, in the forms that kernels have. */
#ifndef BUILD_EXITS_H
#define BUILD_EXITS_H

#define BUILD_EXITS_HEAD                                                                        \
	"name: kvm_exit\nID: 1234\nformat:\n"                                                   \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                  \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                  \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"          \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* x86 of 6.1 to 7.3, arch/x86/kvm/trace.h */
#define BUILD_EXITS_X86                                                                         \
	BUILD_EXITS_HEAD                                                                        \
	"\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"                    \
	"\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"                    \
	"\tfield:u32 isa;\toffset:24;\tsize:4;\tsigned:0;\n"                                    \
	"\tfield:u64 info1;\toffset:32;\tsize:8;\tsigned:0;\n\n"                                \
	"print fmt: \"vcpu %u reason %s%s%s rip 0x%lx\", REC->vcpu_id, (REC->isa == 1) ? "      \
	"__print_symbolic(REC->exit_reason & 0xffff, { 0, \"EXCEPTION_NMI\" }, "                \
	"{ 12, \"HLT\" }, { 33, \"INVALID_STATE\" }) : "                                        \
	"__print_symbolic(REC->exit_reason, { 0x000, \"read_cr0\" }, { 0x078, \"hlt\" }, "      \
	"{ 0x400, \"npf\" }, { -1, \"invalid_guest_state\" }), "                                \
	"(REC->isa == 1 && REC->exit_reason & ~0xffff) ? \" \" : \"\", (REC->isa == 1) ? "      \
	"__print_flags(REC->exit_reason & ~0xffff, \" \", { 0x80000000, \"FAILED_VMENTRY\" })"  \
	" : \"\", REC->guest_rip\n"

#define BUILD_EXITS_ARM64_FIELDS                                                                \
	BUILD_EXITS_HEAD                                                                        \
	"\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;\n"                                     \
	"\tfield:unsigned int esr_ec;\toffset:12;\tsize:4;\tsigned:0;\n"                        \
	"\tfield:unsigned long vcpu_pc;\toffset:16;\tsize:8;\tsigned:0;\n\n"

/* arm64 of 6.1 and of 6.12, arch/arm64/kvm/trace_arm.h: numbers are written otherwise. */
#define BUILD_EXITS_ARM64                                                                       \
	BUILD_EXITS_ARM64_FIELDS                                                                \
	"print fmt: \"%s: HSR_EC: 0x%04x (%s), PC: 0x%016lx\", __print_symbolic(REC->ret, "     \
	"{0, \"IRQ\" }, {1, \"SERROR\" }, {2, \"TRAP\" }, {0xbadca11, \"HYP_GONE\" }), "        \
	"REC->esr_ec, __print_symbolic(REC->esr_ec, { (0x00), \"UNKNOWN\" }, "                  \
	"{ (0x01), \"WFx\" }, { (0x24), \"DABT_LOW\" }), REC->vcpu_pc\n"
#define BUILD_EXITS_ARM64_NEW                                                                   \
	BUILD_EXITS_ARM64_FIELDS                                                                \
	"print fmt: \"%s: HSR_EC: 0x%04x (%s), PC: 0x%016lx\", __print_symbolic(REC->ret, "     \
	"{0, \"IRQ\" }, {2, \"TRAP\" }), REC->esr_ec, __print_symbolic(REC->esr_ec, "           \
	"{ (((0x00UL))), \"UNKNOWN\" }, { (((0x01UL))), \"WFx\" }, "                            \
	"{ (((0x1aUL))), \"ERET\" }), REC->vcpu_pc\n"

#endif
