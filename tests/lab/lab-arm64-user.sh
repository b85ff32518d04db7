#!/bin/sh
# lab: flavour=arm64-vhe,arm64-nvhe host=6.1,6.12 timeout=1500 mem=4G icount slow
# SPDX-License-Identifier: GPL-2.0-only
# Guest user space on an arm64 host: Debian's programs and libraries, which have no frame pointers
# that could be relied on, and programs of lab/userland in C, checked in the same way as in lab-user.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/userland.sh"

lab=$SRC/lab/lab
# The others take compilers for the guest that Debian has for its own architecture only.
user_programs="tree python pipeline threads dlopen deleted static"
built=$(mktemp -d /var/tmp/kvmprof-user.XXXXXX)
out=$TMPDIR
label="$LAB_FLAVOUR $LAB_KERNEL"
userland_copy "$built"

# As on Intel hosts: one slow processor does all.
printf '#!/bin/sh\nexec %s/user-guest %s %s\n' "$built" "$built" "$user_programs" >"$TMPDIR/start"
check "a guest starts" "$lab" guest start user --kernel "$LAB_KERNEL" --root --mem 1G --wait 900 \
	--script "$TMPDIR/start"
for _ in $(seq 150); do
	! "$lab" guest output user | grep -q '^userland started' || break
	sleep 4
done
contains "its programs run" "$("$lab" guest output user)" "userland started"
"$KVMPROF" record --vm user -e cycles -F 79 --duration 100 -o "$out/all.data" \
	--buildid-dir "$out/all.debug" >"$out/all.said" 2>&1
echo $? >"$out/all.status"
"$lab" guest stop user
userland_check all 97 95
chains_judge
tap_done
