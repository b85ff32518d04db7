# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Boot images (initramfs), cached under the hash of all that is in them.

LAB_ROOT_MODULES=(virtio_pci 9p 9pnet_virtio overlay)

# What a guest needs for the disks of an Intel lab host.
LAB_DISK_MODULES=(virtio_pci virtio_blk overlay)

# host_modules: those of a lab host, one a line. On arm64 KVM is built in.
host_modules() {
	printf '%s\n' "${LAB_ROOT_MODULES[@]}"
	[ "$LAB_ARCH" != amd64 ] || echo kvm_amd
}

# tree_pack DIR: the folder as an archive that the kernel unpacks, on stdout.
tree_pack() {
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio --null --create --format=newc --owner=0:0 --reproducible --quiet)
}

# tree_modules DIR VERSION MODULE…: copy modules and what they depend on, numbered in load order.
# Built-in ones are skipped.
tree_modules() {
	local dir=$1 version=$2 root release module path name count=100
	shift 2

	root=$(kernel_dir "$version")
	release=$(cat "$root/release")
	mkdir -p "$dir/modules"
	for module in "$@"; do
		modprobe -d "$root" -S "$release" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
		name=$(basename "$path")
		case $name in
		*.xz) xz -dc "$path" >"$dir/modules/$count-${name%.xz}" ;;
		*.zst) zstd -dcq "$path" >"$dir/modules/$count-${name%.zst}" ;;
		*) cp "$path" "$dir/modules/$count-$name" ;;
		esac
		count=$((count + 1))
	done
}

# The statically linked one of the architecture at hand.
busybox_path() {
	if [ "$LAB_ARCH" = amd64 ] || [ "$(uname -m)" = aarch64 ]; then
		type -P busybox || die "no busybox (package busybox-static)"
	else
		echo "$("$LAB_REPO/scripts/foreign-root" "$LAB_ARCH")/bin/busybox"
	fi
}

tree_busybox() {
	local dir=$1 busybox applet

	busybox=$(busybox_path)
	mkdir -p "$dir"/{bin,dev,proc,sys,tmp}
	cp "$busybox" "$dir/bin/busybox"
	# Names only: this machine's has the same, and runs here.
	for applet in $(busybox --list); do
		[ -e "$dir/bin/$applet" ] || ln -s busybox "$dir/bin/$applet"
	done
}

# image_build OUT INIT VERSION MODULE…
# Runs in a subshell of its own: it leaves through the trap.
image_build() {
	local out=$1 init=$2 version=$3 temp
	shift 3

	temp=$(mktemp -d "$LAB_CACHE/images/.build.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$temp'" EXIT
	mkdir "$temp/tree"
	tree_busybox "$temp/tree"
	cp "$init" "$temp/tree/init"
	chmod 755 "$temp/tree/init"
	[ $# -eq 0 ] || tree_modules "$temp/tree" "$version" "$@"
	tree_pack "$temp/tree" >"$temp/image"
	mv "$temp/image" "$out"
}

# image_get NAME INIT VERSION MODULE…: print the image's path; build it where it is missing.
# VERSION is only looked at when there are modules.
image_get() {
	local name=$1 init=$2 version=$3 release=none busybox key out
	shift 3

	# In an Intel lab host there is one of each name, and a hash takes long.
	if [ -e "$LAB_STATE/io/intel" ]; then
		echo "$LAB_CACHE/images/$name"-*.cpio
		return
	fi
	[ $# -eq 0 ] || release=$(kernel_release "$version")
	busybox=$(busybox_path)
	key=$({ cat "$init" "$LAB_DIR/lib/images.sh" "$busybox"; echo "$release $*"; } |
		sha256sum | cut -c 1-16)
	out=$LAB_CACHE/images/$name-$key.cpio
	if [ ! -e "$out" ]; then
		need_tools cpio busybox xz modprobe
		mkdir -p "$LAB_CACHE/images"
		(
			flock 9
			[ -e "$out" ] || image_build "$out" "$init" "$version" "$@"
		) 9>"$LAB_CACHE/images/.lock"
	fi
	echo "$out"
}

# The lab host's image.
image_host() {
	local -a modules

	mapfile -t modules < <(host_modules)
	image_get "host-$1" "$LAB_DIR/lib/host-boot.sh" "$1" "${modules[@]}"
}

# A guest without modules: one image for every kernel.
image_guest() {
	image_get guest "$LAB_DIR/lib/guest-boot.sh" none
}

# image_base KERNEL: the image that all guests of its architecture start from.
image_base() {
	local LAB_ARCH=$LAB_ARCH

	LAB_ARCH=$(kernel_arch "$1")
	image_guest
}

# A guest that has the lab host's user land.
image_guest_root() {
	image_get "root-$1" "$LAB_DIR/lib/guest-boot.sh" "$1" "${LAB_ROOT_MODULES[@]}"
}

# The same in an Intel lab host. Made outside of it, with the modules of kernel $2, for guests that
# know that kernel as $1.
image_guest_disks() {
	image_get "disks-$1" "$LAB_DIR/lib/guest-boot.sh" "${2:-$1}" "${LAB_DISK_MODULES[@]}"
}

# prepare_all [VERSION…]: all that a lab host cannot fetch for itself, of these kernels. The other
# kernels that the cache has are there for its guests, too.
prepare_all() {
	local version
	[ $# -gt 0 ] || set -- "${LAB_KERNELS[@]}"
	for version in "$@"; do
		image_host "$version" >/dev/null
		image_guest_root "$version" >/dev/null
	done
	image_guest >/dev/null
}
