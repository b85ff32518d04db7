# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian kernels, fetched once as packages and unpacked in the cache:
# $LAB_CACHE/kernels/VERSION/{release,vmlinux,boot/vmlinuz-RELEASE,lib/modules/RELEASE}; those of
# other architectures than amd64 are in a folder of its name beside them.

kernels_folder() {
	case $LAB_ARCH in
	amd64) echo "$LAB_CACHE/kernels" ;;
	*) echo "$LAB_CACHE/kernels/$LAB_ARCH" ;;
	esac
}

# kernel_apt get|cache ARGS…: the package tools, for the architecture at hand.
kernel_apt() {
	local tool=$1
	shift

	case $LAB_ARCH in
	amd64) "apt-$tool" -q -o APT::Sandbox::User=root "$@" ;;
	*) "$LAB_REPO/scripts/foreign-root" "$LAB_ARCH" "${tool/get/apt}" "$@" ;;
	esac
}

# Those that lab hosts run, and that are there from the start.
kernel_own() {
	local version
	for version in "${LAB_KERNELS[@]}" 6.1-cloud; do
		[ "$1" != "$version" ] || return 0
	done
	return 1
}

# Debian 12's kernels of i386, without and with PAE: for guests.
kernel_i386() {
	[ "$1" = 686 ] || [ "$1" = 686-pae ]
}

# Of arm64, with pages of 16 KiB: for guests.
kernel_16k() {
	[ "$1" = 6.12-16k ]
}

# kernel_arch VERSION: the architecture that it is of; of most kernels, the one at hand.
kernel_arch() {
	if kernel_i386 "$1"; then
		echo i386
	elif kernel_16k "$1"; then
		echo arm64
	else
		echo "$LAB_ARCH"
	fi
}

# What looks like a kernel's name; whether there is one shows when it is fetched.
kernel_known() {
	[[ $1 =~ ^[0-9]+\.[0-9]+(-cloud)?(@[a-z-]+)?$ ]] || kernel_i386 "$1" || kernel_16k "$1"
}

# kernel_newest VERSION FLAVOUR: the newest package of backports.
kernel_newest() {
	kernel_apt cache search --names-only \
		"^linux-image-${1//./\\.}\\.[0-9]+\\+deb12-$2\$" |
		awk '{ print $1 }' | sort -V | tail -n 1
}

# The package that holds kernel VERSION in its generic flavour: the cloud flavour has no 9p.
kernel_package() {
	case $1 in
	6.1) kernel_apt cache depends "linux-image-$LAB_ARCH" | awk '$1 == "Depends:" { print $2; exit }' ;;
	6.1-cloud)
		kernel_apt cache depends "linux-image-cloud-$LAB_ARCH" |
			awk '$1 == "Depends:" { print $2; exit }'
		;;
	686*) kernel_apt cache depends "linux-image-$1" | awk '$1 == "Depends:" { print $2; exit }' ;;
	*-16k) kernel_newest "${1%-16k}" "$LAB_ARCH-16k" ;;
	*) kernel_newest "$1" "$LAB_ARCH" ;;
	esac
}

# package_download FOLDER PACKAGE
package_download() {
	[ -n "$2" ] && (cd "$1" && kernel_apt get download "$2") >&2
}

kernel_download() {
	local version=$1 folder=$2 package

	if ! kernel_own "$version" && ! kernel_i386 "$version" && ! kernel_16k "$version"; then
		[ "$LAB_ARCH" = amd64 ] || die "no other kernels of $LAB_ARCH than ${LAB_KERNELS[*]}"
		suite_download "$version" "$folder"
		return
	fi
	package=$(kernel_package "$version" || :)
	! package_download "$folder" "$package" || return 0
	# No package lists yet, or ones so old that the mirror has moved on.
	kernel_apt get update >&2 || note "apt-get update failed"
	package=$(kernel_package "$version" || :)
	[ -n "$package" ] || die "no Debian package of kernel $version"
	package_download "$folder" "$package" || die "cannot download $package"
}

# vmlinuz_number FILE OFFSET SIZE: a field of the boot header (Documentation/arch/x86/boot.rst).
vmlinuz_number() {
	od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# vmlinuz_unpack FILE: the kernel proper, on stdout. It ends in its size, four bytes.
vmlinuz_unpack() {
	local file=$1 sectors offset length magic

	sectors=$(vmlinuz_number "$file" $((0x1f1)) 1)
	offset=$(vmlinuz_number "$file" $((0x248)) 4)
	length=$(vmlinuz_number "$file" $((0x24c)) 4)
	offset=$(((sectors + 1) * 512 + offset))
	magic=$(vmlinuz_number "$file" "$offset" 4)
	case $magic in
	1484404733) set -- xz -dc ;;     # fd 37 7a 58
	4247762216) set -- zstd -dcq ;;  # 28 b5 2f fd
	407642370) set -- lz4 -dcq ;;    # 02 21 4c 18
	*) die "$file is compressed in an unknown way" ;;
	esac
	tail -c "+$((offset + 1))" "$file" | { head -c $((length - 4)) && cat >/dev/null; } | "$@"
}

# kernel_arrange ROOT: trixie's packages and later ones have modules in /usr/lib, from 7.2 on all.
kernel_arrange() {
	local file

	mkdir -p "$1/boot" "$1/lib/modules"
	[ -d "$1/usr/lib/modules" ] || return 0
	rmdir "$1/lib/modules"
	mv "$1/usr/lib/modules" "$1/lib/"
	for file in "$1"/lib/modules/*/vmlinuz; do
		[ ! -e "$file" ] || mv "$file" "$1/boot/vmlinuz-$(basename "$(dirname "$file")")"
	done
}

# Runs in a subshell of its own: it leaves through the trap.
kernel_fetch() {
	local version=$1 temp release deb

	[ ! -d "$LAB_STATE" ] ||
		die "kernel $version is not in the cache: run 'lab/lab kernel $version' before the lab host"
	need_tools apt-get apt-cache dpkg-deb depmod xz zstd
	note "fetching kernel $version of $LAB_ARCH"
	temp=$(mktemp -d "$(kernels_folder)/.fetch.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$temp'" EXIT
	mkdir "$temp/deb" "$temp/root"
	kernel_download "$version" "$temp/deb"
	for deb in "$temp"/deb/*.deb; do
		dpkg-deb -x "$deb" "$temp/root"
	done
	kernel_arrange "$temp/root"
	release=$(cd "$temp/root/boot" && echo vmlinuz-*)
	release=${release#vmlinuz-}
	# Some of Debian's kernels are still to be had when their modules are no more.
	[ ! -d "$temp/root/lib/modules/$release" ] || depmod -b "$temp/root" "$release"
	case $LAB_ARCH in
	amd64 | i386) vmlinuz_unpack "$temp/root/boot/vmlinuz-$release" >"$temp/root/vmlinux" ;;
	*) ln -s "boot/vmlinuz-$release" "$temp/root/vmlinux" ;;
	esac
	echo "$release" >"$temp/root/release"
	chmod 755 "$temp/root"
	mv -T "$temp/root" "$(kernels_folder)/$version"
}

# Print the folder of kernel VERSION; fetch it first where it is missing.
kernel_dir() {
	local version=$1 store dir LAB_ARCH=$LAB_ARCH

	LAB_ARCH=$(kernel_arch "$version")
	store=$(kernels_folder)
	dir=$store/$version
	kernel_known "$version" || die "unknown kernel '$version' (${LAB_KERNELS[*]}, or see lab/README.md)"
	if [ ! -e "$dir/vmlinux" ]; then
		mkdir -p "$store"
		(
			flock 9
			[ -e "$dir/vmlinux" ] || kernel_fetch "$version"
		) 9>"$store/.lock"
	fi
	echo "$dir"
}

kernel_release() {
	local dir
	dir=$(kernel_dir "$1")
	cat "$dir/release"
}

kernel_show() {
	local dir release
	dir=$(kernel_dir "$1")
	release=$(cat "$dir/release")
	echo "release=$release"
	echo "vmlinuz=$dir/boot/vmlinuz-$release"
	echo "vmlinux=$dir/vmlinux"
	echo "modules=$dir/lib/modules/$release"
}
