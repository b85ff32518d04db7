#!/bin/sh
# lab: host=6.1 timeout=300
# SPDX-License-Identifier: GPL-2.0-only
# A guest without an operating system tests its PMU, as each model of libvpmu: lab/vpmu-bare. The
# simulated backend counts what the guest says, so that each count is known; the time backend counts
# what goes by. A point of the guest is a point here.
set -u
. "$SRC/tests/lib/tap.sh"

image=$BUILD/lab/vpmu-bare/vpmu-bare.bin

# relay LABEL LOG: the guest's points
relay() {
	why='' plan=none points=0
	while IFS= read -r line; do
		name="$1: ${line#* - }"
		case $line in
		'# '*) why="$why${line#\# }
" ;;
		'ok '*' # SKIP '*) skip "${name%% # SKIP *}" "${line##* # SKIP }" ;;
		'ok '*) pass "$name" ;;
		'not ok '*) fail "$name" "$why" ;;
		1..*) plan=${line#1..} ;;
		*) echo "# $1: $line" ;;
		esac
		case $line in
		'ok '* | 'not ok '*) why='' points=$((points + 1)) ;;
		esac
	done <"$2"
}

# guest MODEL BACKEND [OPTION…]
guest() {
	label="$1, $2" log=$TMPDIR/$1-$2 model=$1 backend=$2
	shift 2
	timeout 60 "$BUILD/vmm/kvmprof-vmm" --kernel "$image" --mem 16 --cpus 2 \
		--append "model=$model backend=$backend cpus=2" \
		--pmu "$model" --pmu-backend "$backend" --pmu-port "$@" >"$log" 2>"$log.vmm"
	same "$label: the VMM ends well" 0 $?
	sed 's/^/# /' "$log.vmm"
	relay "$label" "$log"
	same "$label: the guest comes to its end" "$plan" "$points"
}

for backend in sim time; do
	for model in intel-v1 amd-k7 amd-core; do
		guest "$model" "$backend"
	done
	for model in intel-v2 intel-v3 intel-v4 intel-v5 amd-v2; do
		guest "$model" "$backend" --pmu-freeze
	done
done
tap_done
