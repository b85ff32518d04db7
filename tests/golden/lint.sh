#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The checks of `make lint` find what they are for. Each fault is planted in a small tree of its own.
set -eu
. "$SRC/tests/lib/tap.sh"

tree=$TMPDIR/tree
mkdir -p "$tree/scripts" "$tree/doc" "$tree/src/base" "$tree/src/vm" "$tree/src/cmd"
cp "$SRC"/scripts/check-* "$tree/scripts/"
cat >"$tree/doc/architecture.md" <<'EOT'
| 0 | `src/base` | | errors |
| 2 | `src/vm` | BPF | VMs |
| 7 | `src/cmd` | | main |
EOT

# plant FILE LINE…: a file with its licence line
plant() {
	local file=$tree/$1
	shift
	printf '%s\n' '/* SPDX-License-Identifier: GPL-2.0-only */' "$@" >"$file"
}

# finds SCRIPT TEXT: it fails and says so
finds() {
	git -C "$tree" add -A
	status "$1: $2" 1 "$tree/scripts/$1"
	contains "$1: $2, told" "$tap_output" "$2"
}

plant src/base/a.h '#ifndef A' '#define A' 'struct a;' '#endif'
plant src/vm/vm.c '#include "base/a.h"' '#include <bpf/libbpf.h>'
plant src/cmd/main.c '#include "vm/vm.h"'
plant src/vm/vm.h '#include "base/a.h"'
git -C "$tree" init -q
git -C "$tree" add -A
for check in check-layers check-headers check-source; do
	check "$check: nothing to find" "$tree/scripts/$check"
done

plant src/base/b.c '#include "vm/vm.h"'
finds check-layers 'src/base/b.c:2: base (layer 0) includes vm/vm.h (layer 2)'
plant src/base/b.c '#include <bpf/bpf.h>'
finds check-layers 'base does not use BPF'
plant src/base/b.c '#include "a.h"'
finds check-layers 'write it with its folder'
plant src/base/b.c '#include "base/b-private.h"'
plant src/vm/b.c '#include "base/b-private.h"'
finds check-layers 'src/vm/b.c:2: base/b-private.h is private to base'
rm "$tree/src/vm/b.c"
mkdir "$tree/src/extra"
finds check-layers 'src/extra:0: is not in the table'
rmdir "$tree/src/extra"

plant src/base/b.h 'size_t f(void);'
finds check-headers 'src/base/b.h: does not compile alone'
plant src/base/b.h 'struct b { int c; };'
finds check-headers 'redefinition'
rm "$tree/src/base/b.h"

plant src/base/b.c 'void f(char *s)' '{' '	strcpy(s, "x");' '}'
finds check-source 'src/base/b.c:4: strcpy() is banned'
plant src/base/b.c 'void f(void)' '{' "$(printf '\tg();\n%.0s' $(seq 101))" '}'
finds check-source 'a function of 101 lines'
plant src/base/b.c "/* $(printf '%0100d' 0) */"
finds check-source 'src/base/b.c:2: 106 columns'
plant src/base/b.c 'int x; '
finds check-source 'src/base/b.c:2: white space at the end'
plant src/base/b.c '/* see /home/''somebody/notes */'
finds check-source "a path of somebody's machine"
echo 'int x;' >"$tree/src/base/b.c"
finds check-source 'src/base/b.c:1: no SPDX-License-Identifier'
printf 'x\0y' >"$tree/src/base/b.c"
finds check-source 'src/base/b.c:0: is binary'
plant src/base/b.c '/* strcpy(a, b) and "gets(x)" in words */' 'const char *s = "system(x)";'
check 'check-source: words in comments and strings are not calls' "$tree/scripts/check-source"
plant src/base/vmlinux.h 'struct task_struct;'
finds check-source 'src/base/vmlinux.h:0: is generated'

tap_done
