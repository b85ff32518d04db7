#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A recording and the cache folder are all that another machine needs: the same names there, by
# stock perf and by kvmprof, with programs and libraries that are not at their paths.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
command -v perf >/dev/null || skip_all "no perf"
export PERF_CONFIG=/dev/null
unset DEBUGINFOD_URLS
cd "$TMPDIR" || exit 1
libc=$(ldd "$KVMPROF" | awk '$1 == "libc.so.6" { print $3 }')
libstdcxx=$(c++ -print-file-name=libstdc++.so.6 2>/dev/null)

# The machine that records: a program, a library, and one of which only a part is known.
mkdir -p here/bin here/lib
# Not a dynamic one: perf 6.1 lets _init reach over the first of its stubs.
program=$BUILD/lab/userland/userland-static
[ -e "$program" ] || skip_all "no $program"
cp "$program" here/bin/program
cp "$(realpath "$libc")" here/lib/library.so
objects="$PWD/here/bin/program $PWD/here/lib/library.so"
if [ -e "$(realpath -m "$libstdcxx")" ]; then
	cp "$(realpath "$libstdcxx")" here/lib/part.so
	objects="$objects $PWD/here/lib/part.so"
fi
export HOME="$TMPDIR/here"
# shellcheck disable=SC2086 # words
"$BUILD/tests/make-addresses" -c here/data $objects || fail "a recording"
# perf 6.1 mistakes some of the linker's stubs (golden/names has them).
frames() {
	"$@" -F comm,ip,sym,symoff,dso 2>/dev/null | sed -E 's/ [^ ]*@plt/ @plt/'
}
frames perf script -i here/data >all.txt
contains "names from the files themselves" "$(grep compare all.txt | head -n 1)" compare
"$KVMPROF" cache add here/bin/program here/lib/library.so
if [ -e here/lib/part.so ]; then
	size=$(wc -c <here/lib/part.so)
	same "of one a part" "a part" "$("$BUILD/tests/make-partial" "$PWD/here/lib/part.so" \
		here/.debug $(((size - 1) / 4096)) 1)"
fi

# The other one.
mkdir elsewhere
cp -R here/data here/.debug elsewhere/
rm -r here
export HOME="$TMPDIR/elsewhere"
cd elsewhere || exit 1
frames perf script -i data >perfs.txt
frames "$KVMPROF" script -i data >ours.txt
# What is stored as a part has exported names only.
same "perf's names of whole files are as they were" \
	"$(grep -v '/part.so)$' ../all.txt | cksum)" "$(grep -v '/part.so)$' perfs.txt | cksum)"
same "and so are kvmprof's" "$(grep -v '/part.so)$' ../all.txt | cksum)" \
	"$(grep -v '/part.so)$' ours.txt | cksum)"
same "kvmprof's of a part are perf's" "$(grep '/part.so)$' perfs.txt | cksum)" \
	"$(grep '/part.so)$' ours.txt | cksum)"
if [ -e "$(realpath -m "$libstdcxx")" ]; then
	check "and some" [ "$(grep -c 'std::.*/part.so)$' ours.txt)" -gt 100 ]
fi
for options in '' --no-children '--sort dso,sym --no-children -g caller' '--sort comm -g none'; do
	# shellcheck disable=SC2086 # words
	perf report --stdio -i data $options >perfs.txt 2>/dev/null
	# shellcheck disable=SC2086 # words
	"$KVMPROF" report --stdio -i data $options >ours.txt
	check "report $options" python3 "$SRC/tests/golden/report-compare.py" ours.txt perfs.txt
done
contains "it has the names" "$(cat ours.txt)" program
mv .debug other
lacks "without the cache there are none" \
	"$(frames "$KVMPROF" script -i data | grep 'bin/program)$')" compare
contains "with it where it is said to be" \
	"$(frames "$KVMPROF" script --buildid-dir "$PWD/other" -i data | grep -m 1 compare)" compare
# perf buildid-cache --list wants the files themselves to be there, too.
for id in $(perf buildid-list -i data 2>/dev/null | awk '$2 ~ /here/ { print $1 }'); do
	check "the recording's $id is in it" [ -e "other/.build-id/$(echo "$id" | cut -c 1-2)" ]
done
tap_done
