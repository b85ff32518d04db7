# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian kernels, fetched once as packages and unpacked in the cache:
# $LAB_CACHE/kernels/VERSION/{release,vmlinux,boot/vmlinuz-RELEASE,lib/modules/RELEASE}.

kernel_known() {
	local version
	for version in "${LAB_KERNELS[@]}"; do
		[ "$1" != "$version" ] || return 0
	done
	return 1
}

# The package that holds kernel VERSION in its generic flavour: the cloud flavour has no 9p.
kernel_package() {
	case $1 in
	6.1) apt-cache depends linux-image-amd64 | awk '$1 == "Depends:" { print $2; exit }' ;;
	*)
		apt-cache search --names-only "^linux-image-${1//./\\.}\\.[0-9]+\\+deb12-amd64\$" |
			awk '{ print $1 }' | sort -V | tail -n 1
		;;
	esac
}

# package_download FOLDER PACKAGE
package_download() {
	[ -n "$2" ] && (cd "$1" && apt-get -q -o APT::Sandbox::User=root download "$2") >&2
}

kernel_download() {
	local version=$1 folder=$2 package

	package=$(kernel_package "$version")
	! package_download "$folder" "$package" || return 0
	# No package lists yet, or ones so old that the mirror has moved on.
	apt-get -q update >&2 || die "cannot fetch kernel $version: apt-get update failed"
	package=$(kernel_package "$version")
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
	*) die "$file is compressed in an unknown way" ;;
	esac
	tail -c "+$((offset + 1))" "$file" | { head -c $((length - 4)) && cat >/dev/null; } | "$@"
}

# Runs in a subshell of its own: it leaves through the trap.
kernel_fetch() {
	local version=$1 temp release

	need_tools apt-get apt-cache dpkg-deb depmod xz zstd
	note "fetching kernel $version"
	temp=$(mktemp -d "$LAB_CACHE/kernels/.fetch.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$temp'" EXIT
	mkdir "$temp/deb" "$temp/root"
	kernel_download "$version" "$temp/deb"
	dpkg-deb -x "$temp"/deb/*.deb "$temp/root"
	release=$(ls "$temp/root/lib/modules")
	depmod -b "$temp/root" "$release"
	vmlinuz_unpack "$temp/root/boot/vmlinuz-$release" >"$temp/root/vmlinux"
	echo "$release" >"$temp/root/release"
	chmod 755 "$temp/root"
	mv -T "$temp/root" "$LAB_CACHE/kernels/$version"
}

# Print the folder of kernel VERSION; fetch it first where it is missing.
kernel_dir() {
	local version=$1 dir=$LAB_CACHE/kernels/$1

	kernel_known "$version" || die "unknown kernel '$version' (known: ${LAB_KERNELS[*]})"
	if [ ! -e "$dir/vmlinux" ]; then
		mkdir -p "$LAB_CACHE/kernels"
		(
			flock 9
			[ -e "$dir/vmlinux" ] || kernel_fetch "$version"
		) 9>"$LAB_CACHE/kernels/.lock"
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
