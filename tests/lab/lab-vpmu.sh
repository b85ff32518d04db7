#!/bin/sh
# lab: host=6.1 timeout=420 slow
# SPDX-License-Identifier: GPL-2.0-only
# A guest with a PMU by libvpmu, under kvmprof-vmm: its kernel finds the PMU, stock perf in it counts
# cycles, samples them, and finds where the program spends them. The lab host has no PMU: what counts
# is time.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab
mhz=1000

# The guest's whole user land: busybox, perf with its libraries, and the program that it looks at.
tree=$TMPDIR/tree
mkdir -p "$tree"/bin "$tree"/dev "$tree"/proc "$tree"/sys "$tree"/tmp
cp "$(command -v busybox)" "$tree/bin/busybox"
for applet in cat dmesg grep head mount reboot sed sh tail; do
	ln -s busybox "$tree/bin/$applet"
done
cp "$(command -v perf)" "$BUILD/lab/workloads/cputree-fp" "$tree/bin/"
ldd "$(command -v perf)" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "$tree${library%/*}"
	cp -L "$library" "$tree$library"
done
cp "$SRC/tests/lab/vpmu-guest" "$tree/init"
(cd "$tree" && find . | cpio -o -H newc --quiet) >"$TMPDIR/initrd"
rm -rf "$tree"

# within NAME VALUE LOW HIGH
within() {
	if [ "${2:-x}" -ge "$3" ] 2>/dev/null && [ "$2" -le "$4" ]; then
		pass "$1"
	else
		fail "$1" "'$2' is not between $3 and $4"
	fi
}

# said WORD: what the guest said of it
said() {
	tr -d '\r' <"$dir/console.log" | sed -n "s/^vpmu: $1 //p" | head -n 1
}

# percent SYMBOL: its share of the tree's samples, in whole percent
percent() {
	tr -d '\r' <"$dir/console.log" | awk -v symbol="$1" '
		/^vpmu: share/ && $NF ~ /_leaf$/ { all += $4 }
		/^vpmu: share/ && $NF == symbol { its = $4 }
		END { if (all) print int(100 * its / all + 0.5) }'
}

# run MODEL: the guest with that PMU
run() {
	"$lab" guest start "$1" --kernel 6.1 --initrd "$TMPDIR/initrd" --vmm kvmprof-vmm --mem 512M \
		--vmm-args "--pmu $1 --pmu-backend time --pmu-mhz $mhz" --ready '^vpmu: finished' --wait 280
}

model=amd-core
check "$model: the guest comes to its end" run "$model"
dir=$("$lab" guest dir "$model")
check "$model: the VMM ends well" sh -c "for i in \$(seq 100); do
	grep -q 'RDPMC instructions' $dir/vmm.log && exit; sleep 0.2; done; exit 1"
cat "$dir/vmm.log"
tr -d '\r' <"$dir/console.log" | grep '^vpmu:'

contains "the guest's kernel has a driver" "$(said driver)" "AMD PMU driver"
same "it finds six counters" 6 "$(said counters)"
same "its NMI watchdog has one of them" 1 "$(said watchdog)"
cycles=$(said cycles | cut -d, -f1)
within "perf stat: cycles of about three seconds" "$cycles" $((2 * mhz * 1000000)) $((7 * mhz * 1000000 / 2))
same "perf stat: five at once, each on a counter" 5 "$(said many)"
same "perf stat: instructions stand still" 0 "$(said instructions | cut -d, -f1)"
contains "which the host is told" "$(cat "$dir/vmm.log")" "event 0xc0 refused"
same "perf record ends well" 0 "$(said record)"
within "alpha_leaf has half" "$(percent alpha_leaf)" 46 54
within "beta_leaf has three tenths" "$(percent beta_leaf)" 26 34
within "gamma_leaf has two tenths" "$(percent gamma_leaf)" 16 24
within "its samples have call chains" "$(said chains)" 200 100000
same "nothing is wrong in the guest's log" 0 "$(said oops)"
pmis=$(sed -n 's/.* interrupts \([0-9]*\) .*/\1/p' "$dir/vmm.log")
within "the guest has had as many NMIs as the VMM sent" "$(said nmi)" $((pmis * 95 / 100)) "$pmis"
tap_done
