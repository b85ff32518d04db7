#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A recording that cannot begin: no file, and the command after -- does not run. With or without KVM.
set -eu
. "$SRC/tests/lib/tap.sh"

cd "$TMPDIR"
HOME=$TMPDIR
export HOME
unset XDG_CACHE_HOME
guest=no-guest-has-this-name-$$

status 'no such guest' 1 "$KVMPROF" record --vm "$guest" -o out.data -- touch ran
same 'the command has not run, and there is no file' '' "$(ls)"
status 'the same without a command' 1 "$KVMPROF" record --vm "$guest" -o out.data
same 'and no file' '' "$(ls)"
status 'no folder for the file' 1 "$KVMPROF" record --vm "$guest" -o no/out.data -- touch ran
contains 'is said' "$tap_output" 'cannot write no/out.data'
same 'before anything is done' '' "$(ls)"
status 'an option of ours after the command is the command'"'"'s' 1 \
	"$KVMPROF" record --vm "$guest" touch ran --no-such-option
status 'but not before it' 2 "$KVMPROF" record --no-such-option touch ran
same 'neither has run' '' "$(ls)"
for habit in -g -ag '--call-graph dwarf' --call-graph=dwarf,8192 --call-graph=fp; do
	# shellcheck disable=SC2086 # of words
	status "perf's habit: $habit" 2 "$KVMPROF" record $habit -p 1 --vm "$guest" touch ran
	contains "$habit: is no error" "$tap_output" 'exclude each other'
done
status 'no mode of perf' 2 "$KVMPROF" record --call-graph dwarfs --vm "$guest" touch ran
contains 'which it has is said' "$tap_output" 'fp, dwarf and lbr'
same 'and nothing has run' '' "$(ls)"
for name in - ''; do
	status "no recording into '$name'" 2 "$KVMPROF" record --vm "$guest" -o "$name" touch ran
	contains "'$name': is said" "$tap_output" "-o takes a file's name"
done

if [ -e /sys/module/kvm_amd ] || [ -e /sys/module/kvm_intel ]; then
	skip 'an event of KVM without KVM' 'there is KVM here'
else
	status 'an event of KVM without KVM' 1 "$KVMPROF" record -e kvm:kvm_exit -o out.data touch ran
	missing='KVM is '
	[ ! -e /sys/module/kvm_pvm ] || missing='KVM here is kvm_pvm'
	contains 'KVM is missing, not the event' "$tap_output" "event 'kvm:kvm_exit': $missing"
	lacks 'which has nothing to do with it' "$tap_output" 'no such event'
	status 'another that there is not' 1 "$KVMPROF" record -e nosuch -o out.data touch ran
	contains 'is as ever' "$tap_output" 'no such event (see'
fi

tap_done
