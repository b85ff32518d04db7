#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The names of addresses all over real objects, against stock perf's: what perf names we name, and
# alike. What is known of an object by part has fewer names, but none that is wrong.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
command -v perf >/dev/null || skip_all "no perf"
export PERF_CONFIG=/dev/null
unset DEBUGINFOD_URLS
cd "$TMPDIR" || exit 1
mkdir nothing

# names FILE CACHE OPTIONS…: perf's into perfs.txt, ours into ours.txt
names() {
	perf --buildid-dir "$PWD/$2" script -i "$1" -F comm,ip,sym,symoff,dso >perfs.txt 2>perf.err
	file=$1 cache=$2
	shift 2
	"$KVMPROF" script --buildid-dir "$PWD/$cache" -i "$file" -F comm,ip,sym,symoff,dso \
		"$@" >ours.txt 2>ours.err
}

# alike NAME OBJECT NAMED [WRONG]: at least NAMED per cent of perf's names are ours, and at most WRONG
# per cent (0.1) of all others
alike() {
	if ! [ -e "$2" ]; then
		skip "$1" "no $2"
		return
	fi
	"$BUILD/tests/make-addresses" data "$2" && names data nothing
	{
		objdump -d -C -j .plt -j .plt.sec "$2"
		nm "$2"
		nm -D "$2"
	} >stubs.txt 2>/dev/null
	check "$1" python3 "$SRC/tests/golden/names-compare.py" perfs.txt ours.txt "$3" "${4:-0.1}" \
		stubs.txt
}

libc=$(ldd "$KVMPROF" | awk '$1 == "libc.so.6" { print $3 }')
alike "the C library" "$(realpath "$libc")" 99.9
alike "the loader" /lib64/ld-linux-x86-64.so.2 99.9
libstdcxx=$(c++ -print-file-name=libstdc++.so.6 2>/dev/null)
alike "a stripped C++ library" "$(realpath -m "$libstdcxx")" 99.9
alike "C++" "$BUILD/lab/userland/userland-cxx" 99.9
alike "Rust" "$BUILD/lab/userland/userland-rust" 99.9
alike "a static program" "$BUILD/lab/userland/userland-static" 99.9
alike "lazy binding" "$BUILD/tests/libcfi-fixture.so" 99.9
alike "Python" "$(realpath -m "$(command -v python3)")" 98
alike "many calls through the linker's stubs" "$(realpath -m "$(command -v perf)")" 99.9
alike "kvmprof" "$KVMPROF" 99.9

# What one address can be called, and what is between functions.
cat >odd.S <<'END'
	.text
	.macro function name, binding, type, size
	\binding \name
	.type \name, \type
	.if \size
	.size \name, \size
	.endif
	.endm
	.globl main
	.type main, @function
main:	.skip 32, 0x90
	.size main, . - main
	.skip 32, 0x90				/* nobody's */
	function weak_one, .weak, @function, 32
	function _one_under, .globl, @function, 32
	function two_of_them, .globl, @function, 32
	function the_other_longer, .globl, @function, 32
	function of_no_size, .globl, @function, 0
	function a_local, .local, @function, 32
weak_one: _one_under: two_of_them: the_other_longer: of_no_size: a_local:
	.skip 32, 0x90
	function no_size, .globl, @function, 0
no_size: .skip 64, 0x90
	function no_size_1, .local, @function, 0
	function no_size_2, .local, @function, 0
no_size_1: no_size_2: .skip 32, 0x90
label:	.skip 32, 0x90
	function chosen_late, .globl, @gnu_indirect_function, 32
chosen_late: .skip 32, 0x90
	function alone, .globl, @function, 16
alone:	.skip 64, 0x90
	function last, .globl, @function, 0
last:	.skip 32, 0x90
	.section .text.unlikely, "ax"
	function main.cold, .local, @function, 16
main.cold: .skip 32, 0x90
	.section .hidden_away, "ax"
	function elsewhere, .local, @function, 16
elsewhere: .skip 32, 0x90
bare_label: .skip 32, 0x90
	.section .note.GNU-stack, "", @progbits
END
cat >calls.c <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[99];

	snprintf(text, sizeof(text), "%d%s%f", getpid(), getenv("HOME"), pow(argc, atof(argv[1])));
	return puts(text) + rand() + time(NULL) + sleep(strlen(argv[2])) + strcmp(text, argv[3]);
}
END
if cc -O1 -Wl,--build-id -o odd odd.S && cc -O1 -Wl,--build-id -no-pie -o odd-fixed odd.S; then
	alike "odd symbols" "$PWD/odd" 100
	alike "odd symbols at fixed addresses" "$PWD/odd-fixed" 100
	strip -o odd-stripped odd
	strip --only-keep-debug -o odd.debug odd
	alike "stripped" "$PWD/odd-stripped" 100
	objcopy --add-gnu-debuglink=odd.debug odd-stripped odd-linked
	alike "stripped, with a debug file" "$PWD/odd-linked" 100
	alike "a debug file alone" "$PWD/odd.debug" 0
else
	skip "odd symbols" "no compiler"
fi
for form in -Wl,-z,now -Wl,-z,lazy "-Wl,-z,lazy -fcf-protection" "-Wl,-z,lazy -no-pie" \
	"-fno-plt" "-Wl,-z,lazy -no-pie -fcf-protection -Wl,-z,ibtplt"; do
	# shellcheck disable=SC2086 # words
	if cc -O1 -Wl,--build-id $form -o calls calls.c -lm 2>cc.err; then
		# What calls do not go to has no names of binutils'.
		wrong=0.1
		[ "${form%ibtplt}" = "$form" ] || wrong=21
		alike "stubs of $form" "$PWD/calls" 98 $wrong
		strip calls
		alike "stubs of $form, stripped" "$PWD/calls" 100 $wrong
	else
		skip "stubs of $form" "$(head -n 1 cc.err)"
	fi
done

# Of the same objects without their last page, where the sections are described.
for object in "$(realpath "$libc")" "$(realpath -m "$libstdcxx")"; do
	[ -e "$object" ] || continue
	size=$(wc -c <"$object")
	same "a part of ${object##*/}" "a part" \
		"$("$BUILD/tests/make-partial" "$object" part $(((size - 1) / 4096)) 1)"
	"$BUILD/tests/make-addresses" data "$object" && names data part --symbol-sources cache
	check "no name of it is wrong" python3 "$SRC/tests/golden/names-compare.py" perfs.txt ours.txt \
		40 0
done
tap_done
