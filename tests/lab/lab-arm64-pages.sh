#!/bin/sh
# lab: flavour=arm64-vhe host=6.1 guest=6.12-16k timeout=900 icount slow
# SPDX-License-Identifier: GPL-2.0-only
# A guest whose kernel has pages of 16 KiB, on a host with pages of 4: its kernel's chains, its
# names, and its programs' by the rules in their files, which are read of its page cache.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab

# The size of its pages, by the kernel's own word.
cat >"$TMPDIR/page-size" <<'EOT'
#!/bin/sh
grep -m 1 KernelPageSize /proc/self/smaps
EOT
check "guest starts" "$lab" guest start pages --kernel 6.12-16k --wait 300 \
	--script "$TMPDIR/page-size" --workload cputree-nofp --workload cputree-nofp \
	--workload syscalls-nofp
contains "its pages have 16 KiB" "$("$lab" guest output pages)" "16 kB"
"$KVMPROF" record --vm pages -F 499 --duration 12 -o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
same "record ends well" 0 $?
cat "$TMPDIR/said"
contains "the guest's kernel is known" "$(cat "$TMPDIR/said")" "-arm64-16k)"
"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/script"
chains account "$TMPDIR/said" --min-samples 1000
chains user "$TMPDIR/script" --comm 'cputree-nofp|syscalls-nofp' --sigmas 0
chains complete "$TMPDIR/script" --comm 'cputree-nofp|syscalls-nofp'
chains shares "$TMPDIR/script" --comm cputree-nofp --binary "$BUILD/lab/workloads/cputree-nofp" \
	--want alpha=50,beta=30,gamma=20 --min-samples 300
# The trampoline that is mapped beside programs has no symbols, for perf in the guest neither.
chains names "$TMPDIR/script" --comms cputree-nofp,syscalls-nofp --max-unknown 4
chains named "$TMPDIR/script" --comm cputree-nofp --binary "$BUILD/lab/workloads/cputree-nofp"
chains_judge
tap_done
