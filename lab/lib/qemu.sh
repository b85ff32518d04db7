# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The QEMU that emulates the lab host. Before 8.1 its TCG did not lock a page before it translated
# it: while a kernel rewrites its own code another CPU can be left with the breakpoint that is
# there meanwhile, and the lab host dies of an int3 oops. Debian 12 has 7.2; its backports have a
# good one, which is unpacked in the cache, $LAB_CACHE/qemu, and not installed.

QEMU_GOOD=8.1
QEMU_PACKAGES=(qemu-system-x86 qemu-system-data)

# qemu_version PROGRAM
qemu_version() {
	"$1" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'
}

# qemu_is_good PROGRAM
qemu_is_good() {
	local version
	version=$(qemu_version "$1")
	[ "$(printf '%s\n' "$QEMU_GOOD" "$version" | sort -V | head -n 1)" = "$QEMU_GOOD" ]
}

# Where apt has this release's packages from, and the name of the release: "URI CODENAME".
qemu_archive() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Component: main' |
		awk '$2 !~ /-/ { print; exit }'
}

# qemu_apt FOLDER WORD…: apt-get with a package list of its own in FOLDER: what is installed on this
# machine, and from where, stays as it is.
qemu_apt() {
	local folder=$1
	shift
	apt-get -q -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$folder/lists" -o Dir::Cache::pkgcache='' \
		-o Dir::Cache::srcpkgcache='' -o APT::Sandbox::User=root "$@"
}

# Leaves through the trap and fails where a step does: to be run in the background.
qemu_fetch() {
	local temp archive package

	need_tools apt-get dpkg-deb
	note "fetching a newer QEMU"
	temp=$(mktemp -d "$LAB_CACHE/.qemu.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$temp'" EXIT
	mkdir -p "$temp/lists/partial" "$temp/deb" "$temp/root"
	archive=$(qemu_archive)
	if [ -z "$archive" ]; then
		apt-get -q update >&2
		archive=$(qemu_archive)
	fi
	echo "deb ${archive% *} ${archive#* }-backports main" >"$temp/sources.list"
	qemu_apt "$temp" update >&2
	(cd "$temp/deb" && qemu_apt "$temp" download "${QEMU_PACKAGES[@]}") >&2
	for package in "$temp"/deb/*.deb; do
		dpkg-deb -x "$package" "$temp/root"
	done
	qemu_is_good "$temp/root/usr/bin/qemu-system-x86_64"
	chmod 755 "$temp/root"
	mv -T "$temp/root" "$LAB_CACHE/qemu"
}

qemu_fetch_once() {
	flock 9
	[ -e "$LAB_CACHE/qemu" ] || qemu_fetch
} 9>"$LAB_CACHE/.qemu.lock"

# Sets $lab_qemu, the command that emulates the lab host, and fetches it where it is missing.
# shellcheck disable=SC2034 # host.sh uses it
qemu_prepare() {
	local root=$LAB_CACHE/qemu

	if [ -n "${KVMPROF_LAB_QEMU-}" ]; then
		read -ra lab_qemu <<<"$KVMPROF_LAB_QEMU"
		return
	fi
	lab_qemu=(qemu-system-x86_64)
	! qemu_is_good qemu-system-x86_64 || return 0
	if [ ! -e "$root" ]; then
		mkdir -p "$LAB_CACHE"
		# In the background, as `|| :` would make it go on after an error.
		qemu_fetch_once &
		wait "$!" || :
	fi
	if [ -e "$root" ]; then
		lab_qemu=("$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/qemu"
			-L /usr/share/seabios)
	else
		note "no newer QEMU: with $(qemu_version qemu-system-x86_64) lab hosts die now and then"
	fi
}
