# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Kernels of other Debian releases, for guests. Each suite has package lists of its own in
# $LAB_CACHE/apt/SUITE: this machine's apt, what it has installed and its lists stay as they are.

# The first that has a package of the kernel counts.
LAB_SUITES=(trixie-backports trixie bullseye-security bullseye forky sid experimental)
SUITE_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
SUITE_LISTS_DAYS=1	# how old lists may be

# suite_site SUITE: where this machine's own packages of that kind come from.
suite_site() {
	local kind=bookworm

	case $1 in
	*-security) kind=bookworm-security ;;
	esac
	# shellcheck disable=SC2016 # apt's own words
	apt-get indextargets --format '$(CODENAME) $(SITE)' |
		awk -v kind="$kind" '$1 == kind { print $2; exit }'
}

# suite_configure SUITE FOLDER
suite_configure() {
	local suite=$1 folder=$2 site

	site=$(suite_site "$suite")
	[ -n "$site" ] || die "apt has no Debian 12 mirror to look for '$suite' on"
	mkdir -p "$folder"/{state/lists/partial,cache/archives/partial,etc/parts}
	: >"$folder/state/status"
	echo "deb [signed-by=$SUITE_KEYS] $site $suite main" >"$folder/etc/sources.list"
	cat >"$folder/apt.conf" <<-EOT
	Dir::State "$folder/state";
	Dir::State::status "$folder/state/status";
	Dir::Cache "$folder/cache";
	Dir::Etc::sourcelist "$folder/etc/sources.list";
	Dir::Etc::sourceparts "$folder/etc/parts";
	Dir::Etc::preferences "$folder/etc/preferences";
	Dir::Etc::preferencesparts "$folder/etc/parts";
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	EOT
}

# suite_apt SUITE COMMAND…: an apt program that sees nothing but that suite.
suite_apt() {
	local suite=$1
	shift

	APT_CONFIG=$LAB_CACHE/apt/$suite/apt.conf "$@"
}

# suite_update SUITE: fails when the mirror does not have the suite (any more).
suite_update() {
	local folder=$LAB_CACHE/apt/$1

	[ -e "$folder/apt.conf" ] || suite_configure "$1" "$folder"
	[ -z "$(find "$folder/updated" -mtime "-$SUITE_LISTS_DAYS" 2>/dev/null)" ] || return 0
	suite_apt "$1" apt-get -q --error-on=any update >&2 || return 1
	: >"$folder/updated"
}

# suite_package SUITE VERSION FLAVOUR: the newest package of that kernel, such as
# linux-image-5.10.0-46-amd64 or linux-image-7.3.4+deb13-cloud-amd64.
suite_package() {
	suite_apt "$1" apt-cache pkgnames "linux-image-$2." |
		grep -E "^linux-image-${2//./\\.}\\.[0-9]+([-+][0-9a-z.+]+)?-$3\$" |
		sort -V | tail -n 1
}

# suite_files SUITE PACKAGE: what has its files; from 7.0 on the image's package is an empty one.
suite_files() {
	echo "$2"
	suite_apt "$1" apt-cache depends "$2" |
		awk '$1 == "Depends:" && $2 ~ /^linux-(base|binary|modules)-[0-9]/ { print $2 }'
}

# suite_download NAME FOLDER: the packages of kernel VERSION[-cloud][@SUITE].
suite_download() {
	local name=$1 folder=$2 version=${1%%[-@]*} flavour=amd64 suite package
	local -a suites=("${LAB_SUITES[@]}") files

	case $name in
	*@*) suites=("${name##*@}") ;;
	esac
	case $name in
	*-cloud | *-cloud@*) flavour=cloud-amd64 ;;
	esac
	for suite in "${suites[@]}"; do
		suite_update "$suite" || continue
		package=$(suite_package "$suite" "$version" "$flavour" || :)
		[ -n "$package" ] || continue
		mapfile -t files < <(suite_files "$suite" "$package")
		(cd "$folder" && suite_apt "$suite" apt-get -q download "${files[@]}") >&2 ||
			die "cannot download $package"
		return 0
	done
	die "no Debian package of kernel '$name' on this mirror (suites: ${suites[*]})"
}
