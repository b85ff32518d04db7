#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# libvpmu as another VMM gets it: what it exports, and a program built by pkg-config alone, with C and
# with C++, against the shared and the static library.
set -u
. "$SRC/tests/lib/tap.sh"

library=$BUILD/src/vpmu
foreign=$(nm -D --defined-only "$library/libvpmu.so" | awk '{ print $3 }' |
	grep -vE '^(vpmu_[a-z0-9_]+|__asan.*|__ubsan.*|__odr_asan.*)$')
same "it exports nothing else" "" "$foreign"
missing=$(grep -oE '\bvpmu_[a-z0-9_]+\(' "$SRC/src/vpmu/vpmu.h" "$SRC/src/vpmu/backend-sim.h" -h |
	tr -d '(' | sort -u | while read -r name; do
	nm -D --defined-only "$library/libvpmu.so" | grep -q " $name\$" || echo "$name"
done)
same "and all that its headers tell of" "" "$missing"

# Installed by hand, for the build's own prefix is somewhere else.
mkdir -p "$TMPDIR/include/vpmu" "$TMPDIR/lib/pkgconfig"
cp "$SRC/src/vpmu/vpmu.h" "$SRC/src/vpmu/backend-sim.h" "$TMPDIR/include/vpmu/"
cp -P "$library"/libvpmu.so* "$library/libvpmu.a" "$TMPDIR/lib/"
sed -e "s|^prefix=.*|prefix=$TMPDIR|" -e "s|^libdir=.*|libdir=$TMPDIR/lib|" \
	"$BUILD/meson-private/libvpmu.pc" >"$TMPDIR/lib/pkgconfig/libvpmu.pc"
export PKG_CONFIG_PATH="$TMPDIR/lib/pkgconfig" LD_LIBRARY_PATH="$TMPDIR/lib"

cat >"$TMPDIR/user.c" <<'EOT'
#include <vpmu/backend-sim.h>
#include <vpmu/vpmu.h>

#include <stdio.h>

int main(void)
{
	struct vpmu_vm_options options = { sizeof(options) };
	struct vpmu_sim *sim;
	struct vpmu_vm *vm;
	struct vpmu *vpmu;
	uint64_t value;

	if (vpmu_geometry_init(&options.geometry, VPMU_AMD_K7) ||
	    vpmu_backend_sim(4, &sim, &options.backend) || vpmu_vm_create(&options, &vm) ||
	    vpmu_create(vm, 0, &vpmu))
		return 1;
	vpmu_wrmsr(vpmu, 0xc0010000, 1U << 22 | 3U << 16 | 0x76);
	vpmu_enter(vpmu, NULL);
	vpmu_sim_run(sim, 0, VPMU_EVENT_CYCLES, 0, true, 42);
	vpmu_exit(vpmu, NULL);
	vpmu_rdmsr(vpmu, 0xc0010004, &value);
	vpmu_destroy(vpmu);
	vpmu_vm_destroy(vm);
	printf("%d\n", (int)value);
	return 0;
}
EOT
if nm "$library/libvpmu.a" 2>/dev/null | grep -q __asan; then
	skip "programs that use it" "the library is a sanitizer's"
	tap_done
	exit
fi
# shellcheck disable=SC2046 # lists of words
check "a C program" cc -Wall -Wextra -Werror -Wno-missing-field-initializers "$TMPDIR/user.c" \
	-o "$TMPDIR/shared" $(pkg-config --cflags --libs libvpmu)
same "it runs" 42 "$("$TMPDIR/shared")"
# shellcheck disable=SC2046
check "a C++ program" g++ -Wall -x c++ "$TMPDIR/user.c" -o "$TMPDIR/plus" \
	$(pkg-config --cflags --libs libvpmu)
same "it runs, too" 42 "$("$TMPDIR/plus")"
# shellcheck disable=SC2046
check "a static one" cc -static "$TMPDIR/user.c" -o "$TMPDIR/static" \
	$(pkg-config --cflags --static --libs libvpmu)
same "and it runs" 42 "$(LD_LIBRARY_PATH='' "$TMPDIR/static")"
tap_done
