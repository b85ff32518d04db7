#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Keeps the lab host's kernel from rewriting code that its CPUs run all the time. QEMU before 8.1 does
# not lock a page before it translates it: another CPU can be left with the breakpoint that is
# there while code is rewritten, and the kernel dies of an int3 in __schedule(),
# finish_task_switch() or kvm_vcpu_ioctl(). Held are
#   preempt_notifier_key, on while there is a VM;
#   perf_sched_events, on while a task has a perf event;
#   apic_sw_disabled, on while a vCPU has its local APIC disabled, as all have at first;
#   the tracepoints kvm_userspace_exit, to which deferred capture attaches, and kvm_entry and kvm_exit,
#   to which counting does. With two others attached already neither its key nor its static call
#   changes. One of the two is an event of perf that nobody counts; the other waits in an instance of
#   tracefs to be enabled by an event that never comes. Each costs the look at one flag.
# A VM that never runs and events that nobody reads cost next to nothing. Its vCPU lives on without a
# file, and who looks for guests by those does not see it.
use strict;
use warnings;
use POSIX ();

my $KVM_CREATE_VM = 0xae01;
my $KVM_CREATE_IRQCHIP = 0xae60;
my $KVM_CREATE_VCPU = 0xae41;
my $SYS_perf_event_open = 298;

open(my $kvm, '+<', '/dev/kvm') or die "hold: /dev/kvm: $!\n";
my $vm = ioctl($kvm, $KVM_CREATE_VM, 0) or die "hold: no VM: $!\n";

open(my $machine, '+<&=', $vm) or die "hold: no file of the VM: $!\n";
ioctl($machine, $KVM_CREATE_IRQCHIP, 0) or die "hold: no interrupt controller: $!\n";
my $vcpu = ioctl($machine, $KVM_CREATE_VCPU, 0) or die "hold: no vCPU: $!\n";
POSIX::close($vcpu);

# An event of this process, disabled. struct perf_event_attr, version 0.
sub hold_event {
	my ($type, $config) = @_;
	my $attr = pack('LLQQQQQ x16', $type, 64, $config, 0, 0, 0, 1);

	syscall($SYS_perf_event_open, $attr, 0, -1, -1, 0) >= 0 or die "hold: no event: $!\n";
}

my $SOFTWARE = 1;
my $DUMMY = 9;
hold_event($SOFTWARE, $DUMMY);

# hold_tracepoint(NAME, INSTANCE): from perf, and from tracefs in that instance
my $TRACEPOINT = 2;
my $tracing = '/sys/kernel/tracing';
my $never = 'kvm_xen_hypercall';
sub hold_tracepoint {
	my ($name, $instance) = @_;

	open(my $id, '<', "$tracing/events/kvm/$name/id") or die "hold: $name: $!\n";
	hold_event($TRACEPOINT, int(<$id>));
	-d $instance or mkdir $instance or die "hold: $instance: $!\n";
	open(my $trigger, '>>', "$instance/events/kvm/$never/trigger") or die "hold: $never: $!\n";
	defined syswrite($trigger, "enable_event:kvm:$name") or die "hold: $name: $!\n";
}

hold_tracepoint($_, "$tracing/instances/hold") for qw(kvm_userspace_exit kvm_entry kvm_exit);

$| = 1;
print "held\n";
sleep 1000 while 1;
