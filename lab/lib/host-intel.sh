# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2034,SC2154,SC2317 # of what is set here and there, some is for host.sh, some from it
# The Intel lab host: Bochs, whose processor has VMX with EPT. It shares no files: it gets four disks.
#
#   sda  per run      a loader, the kernel and its initramfs, with the kernel command line
#   sdb  lab-system   constant, cached: the Debian programs that a job may use
#   sdc  lab-job      per run: this repository, its build, what the job's words name, the job
#   sdd  lab-out      per run: what the job leaves in $LAB_OUT, and its exit status
#
# Its standard output and error come by two serial lines. See README.md.

# The programs of these packages, and the libraries that those load.
INTEL_PACKAGES=(bash dash busybox-static cpio coreutils grep sed mawk findutils util-linux mount
	procps kmod iproute2 tar gzip diffutils debianutils libc-bin base-files base-passwd hostname
	'python3*-minimal' 'libpython3*-minimal' 'libpython3*-stdlib' qemu-system-x86
	qemu-system-common qemu-system-data seabios linux-perf)
INTEL_KERNEL=6.1-cloud
INTEL_GUEST_KERNEL=6.1		# the name that guests have the same kernel by
INTEL_MODULES=(kvm_intel ata_piix sd_mod overlay)
INTEL_INSTRUCTIONS=50000000	# emulated instructions that make an emulated second

# Half of a boot would go by with what these leave out.
INTEL_QUICK="cryptomgr.notests=1 initcall_blacklist=load_system_certificate_list"
INTEL_COMMAND_LINE="console=ttyS0,115200 loglevel=4 panic=-1 oops=panic mitigations=off nokaslr nosmp"
INTEL_COMMAND_LINE+=" scsi_mod.scan=sync $INTEL_QUICK"

# Instead of those of the other lab hosts (images.sh).
host_modules() {
	printf '%s\n' "${INTEL_MODULES[@]}"
}

# ---- the constant disk ----

# intel_installed PATTERN…: those of the packages that are installed, with their versions.
intel_installed() {
	dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' "$@" 2>/dev/null |
		sed -n 's/^installed //p' | sort
}

# intel_libraries FILE…: the paths of the libraries that they load, by link and by file.
intel_libraries() {
	printf '%s\n' "$@" | "$LAB_DIR/lib/libraries.py"
}

# intel_system_files: the paths that the constant disk has of this machine.
intel_system_files() {
	local list programs

	list=$(intel_installed "${INTEL_PACKAGES[@]}" | awk '{ print $1 }' | xargs dpkg-query -L | sort -u |
		grep -E '^/(bin|sbin|lib|lib64|usr|etc)/' |
		grep -vE '^/usr/(include|share/(doc|man|info|locale|lintian|bug|applications|icons)/)' |
		while read -r path; do
			[ -d "$path" ] || ! [ -e "$path" ] || echo "$path"
		done)
	mapfile -t programs < <(grep -E '/s?bin/|\.so([.0-9]*)$' <<<"$list")
	{
		echo "$list"
		intel_libraries "${programs[@]}"
		printf '%s\n' /etc/{passwd,group,ld.so.cache,alternatives} /usr/bin/awk \
			/lib64/ld-linux-x86-64.so.2
		find /etc/alternatives -type l
		# Made as the packages were installed. Without them Python compiles each module that it loads.
		find /usr/lib/python3*/ -name '*.pyc' |
			sed -nE 's|(.*)/__pycache__/(.*)\.cpython-[0-9]+\.pyc$|\1/\2.py &|p' |
			awk 'NR == FNR { listed[$0]; next } $1 in listed { print $2 }' <(echo "$list") -
	} | LC_ALL=C sort -u
}

# intel_copy TREE: copies what standard input names, to the same places.
intel_copy() {
	tar -C / -c --no-recursion --ignore-failed-read -f - -T <(sed 's|^/||' | sort -u) 2>/dev/null |
		tar -C "$1" -x -p --keep-directory-symlink -f -
}

# intel_skeleton TREE: the folders that are links on Debian, and those that are mounted on.
intel_skeleton() {
	mkdir -p "$1"/{usr/{bin,sbin,lib,lib64},etc,proc,sys,dev,run,tmp,root,var/tmp,boot}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$1/"
}

# intel_disk FILE LABEL TREE SPARE: a disk with TREE, and SPARE MiB free.
intel_disk() {
	local size files

	size=$(du -sm --apparent-size "$3" | cut -f 1)
	files=$(find "$3" | wc -l)
	: >"$1"	# or it says that it makes one
	mke2fs -q -F -t ext4 -b 4096 -m 0 -O ^has_journal,^resize_inode -E root_owner=0:0,lazy_itable_init=1 \
		-N $((files + 4096)) -L "$2" -d "$3" "$1" $((size + size / 8 + files / 128 + 8 + $4))M >&2 ||
		die "cannot make the disk $2"
}

# intel_unsign FILE…: cuts the signatures off modules, which the kernel would be long to check.
intel_unsign() {
	local file size length

	for file in "$@"; do
		[ "$(tail -c 28 "$file" | tr -d '\0')" = "~Module signature appended~" ] || continue
		size=$(stat -c %s "$file")
		# The four bytes before the marker's line and its 28: big-endian.
		length=$(tail -c 32 "$file" | od -A n -t u1 -N 4 |
			awk '{ print (($1 * 256 + $2) * 256 + $3) * 256 + $4 }')
		truncate -s $((size - 28 - 12 - length)) "$file"
	done
}

# intel_initramfs OUT: not compressed, for to read more is quicker there than to undo that.
intel_initramfs() {
	local tree=$1.tree

	mkdir "$tree"
	tree_busybox "$tree"
	cp "$LAB_DIR/lib/intel-boot.sh" "$tree/init"
	chmod 755 "$tree/init"
	tree_modules "$tree" "$INTEL_KERNEL" "${INTEL_MODULES[@]}"
	intel_unsign "$tree"/modules/*
	tree_pack "$tree" >"$1"
	rm -rf "$tree"
}

# intel_boot_image OUT DIR: a disk that boots, without a command line; DIR is for what it is made of.
intel_boot_image() {
	intel_initramfs "$2/initrd"
	gcc -m32 -c -o "$2/loader.o" "$LAB_DIR/lib/intel-loader.S" ||
		die "cannot assemble the loader of Intel lab hosts"
	ld -m elf_i386 -Ttext=0x7c00 --oformat binary -o "$2/loader" "$2/loader.o"
	"$LAB_DIR/lib/boot-disk.py" "$2/loader" "$(kernel_dir "$INTEL_KERNEL")/vmlinux" "$2/initrd" "$1"
}

# intel_guest_files TREE IMAGE…: what guests are started from, where lab/lab looks for it.
intel_guest_files() {
	local kernel=$1$LAB_CACHE/kernels/$INTEL_GUEST_KERNEL from release

	from=$(kernel_dir "$INTEL_KERNEL")
	release=$(cat "$from/release")
	mkdir -p "$kernel/boot" "$1$LAB_CACHE/images"
	cp "$from/release" "$kernel/"
	: >"$kernel/vmlinux"	# that it is there says that it was fetched
	cp "$from/boot/vmlinuz-$release" "$kernel/boot/"
	cp "${@:2}" "$1$LAB_CACHE/images/"
}

# intel_system_build OUT IMAGE…: with images of guests
# Runs in a subshell of its own: it leaves through the trap.
intel_system_build() {
	local out=$1 temp

	note "making the Intel lab host's system"
	temp=$(mktemp -d "$LAB_CACHE/images/.build.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$temp'" EXIT
	intel_skeleton "$temp/tree"
	intel_system_files >"$temp/list"
	intel_copy "$temp/tree" <"$temp/list"
	intel_guest_files "$temp/tree" "${@:2}"
	intel_disk "$temp/disk" lab-system "$temp/tree" 0
	intel_boot_image "$temp/boot" "$temp"
	rm -f "$LAB_CACHE"/images/intel-*
	mv "$temp/list" "${out%.disk}.list"
	mv "$temp/boot" "${out%.disk}.boot"
	mv "$temp/disk" "$out"
}

# intel_system: print the path of the constant disk; build it where it is missing. Beside it are .list,
# the files of this machine that are on it, and .boot, what it is booted from.
intel_system() {
	local key out
	local -a images

	need_tools bochs-bin gcc ld mke2fs debugfs cpio busybox modprobe readelf python3
	images=("$(image_guest)" "$(image_guest_disks "$INTEL_GUEST_KERNEL" "$INTEL_KERNEL")")
	key=$({ cat "$LAB_DIR"/lib/{host-intel.sh,intel-*,boot-disk.py,images.sh,kernels.sh,libraries.py}
		intel_installed "${INTEL_PACKAGES[@]}" libc6 libbpf1
		basename -a "${images[@]}"
		kernel_release "$INTEL_KERNEL"
		echo "$LAB_CACHE"
	} | sha256sum | cut -c 1-16)
	out=$LAB_CACHE/images/intel-$key.disk
	if [ ! -e "$out" ]; then
		mkdir -p "$LAB_CACHE/images"
		(
			flock 9
			[ -e "$out" ] || intel_system_build "$out" "${images[@]}"
		) 9>"$LAB_CACHE/images/.lock"
	fi
	echo "$out"
}

# ---- the disks of one run ----

# intel_job_paths WORD…: what the job needs of this machine: the repository, the build without what
# only the linker wants, the working folder's name, files that its words name.
intel_job_paths() {
	local word path

	find "$LAB_REPO" -xdev \( -name .git -o -path "$LAB_REPO/build*" \) -prune -o -print
	find "$LAB_BUILD" -xdev \( -name '*.[pa]' -o -name 'meson-*' -o -path "$LAB_BUILD/tests/test-*" \
		-o -path "$LAB_BUILD/fuzz" -o -path "$LAB_BUILD/test-logs" \) -prune -o -print
	pwd -P
	for word in "$@"; do
		if [[ $word == /* ]] || [ -e "$word" ]; then
			path=$(realpath -ms "$word")
		else
			path=$(type -P -- "$word") || continue
		fi
		[ ! -e "$path" ] || find "$path" -xdev
		# A program that is not on the constant disk comes with its libraries.
		[ ! -f "$path" ] || [ ! -x "$path" ] || intel_libraries "$path"
	done
	[ ! -e "$LAB_BUILD/src/cmd/kvmprof" ] || intel_libraries "$LAB_BUILD/src/cmd/kvmprof"
}

# intel_job_disk DIR SYSTEM WORD…
intel_job_disk() {
	local dir=$1 system=$2
	shift 2

	intel_skeleton "$dir/job"
	intel_job_paths "$@" | LC_ALL=C sort -u | comm -23 - "${system%.disk}.list" | intel_copy "$dir/job"
	mkdir -p "$dir/job/run/kvmprof-lab"
	mv "$dir/io" "$dir/job/run/kvmprof-lab/io"
	intel_disk "$dir/job.disk" lab-job "$dir/job" 4
	rm -rf "$dir/job"
}

# intel_out_disk DIR OUT: what is in OUT, if anything, goes along.
intel_out_disk() {
	mkdir -p "$1/result/out"
	[ -z "$2" ] || cp -a "$2/." "$1/result/out/"
	intel_disk "$1/out.disk" lab-out "$1/result" 2048
	rm -rf "$1/result"
}

# intel_boot_disk DIR SYSTEM APPEND: see boot-disk.py for where the command line goes.
intel_boot_disk() {
	local line="$INTEL_COMMAND_LINE $3"

	[ "${#line}" -lt 1024 ] || die "the lab host's kernel command line is too long"
	cp "${2%.disk}.boot" "$1/boot.disk"
	printf '%s\0' "$line" | dd of="$1/boot.disk" bs=512 seek=3 conv=notrunc status=none
}

# intel_config DIR SYSTEM MEM
intel_config() {
	local mem

	mem=$(($(numfmt --from=iec "${3^^}") >> 20))
	cat <<-CONFIG
	config_interface: textconfig
	display_library: rfb, options="timeout=0"
	memory: guest=$mem, host=$mem
	romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
	vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
	vga: extension=none, update_freq=1
	cpu: model=corei7_haswell_4770, ips=$INTEL_INSTRUCTIONS, reset_on_triple_fault=0, ignore_bad_msrs=1
	clock: sync=none, time0=utc
	boot: disk
	floppy_bootsig_check: disabled=1
	ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
	ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
	ata0-master: type=disk, mode=flat, path=$1/boot.disk
	ata0-slave: type=disk, mode=volatile, path=$2, journal=$1/system.log
	ata1-master: type=disk, mode=flat, path=$1/job.disk
	ata1-slave: type=disk, mode=flat, path=$1/out.disk
	com1: enabled=1, mode=file, dev=$1/console.log
	com2: enabled=1, mode=file, dev=$1/stdout
	com3: enabled=1, mode=file, dev=$1/stderr
	pci: enabled=1, chipset=i440fx
	log: $1/bochs.log
	panic: action=fatal
	error: action=report
	info: action=report
	debug: action=ignore
	sound: driver=dummy
	speaker: enabled=0
	mouse: enabled=0
	CONFIG
}

# ---- a run ----

# intel_follow PID: relays both outputs until Bochs ends, a line at a time: bytes come slowly.
intel_follow() {
	tail -f -s 0.05 -c +1 --pid="$1" "$host_scratch/stdout" | sed -u '' &
	local stdout=$!
	tail -f -s 0.05 -c +1 --pid="$1" "$host_scratch/stderr" | sed -u '' >&2 &
	wait "$stdout" $! || :
}

# intel_result OUT: fetches what the job has left; prints its exit status, if it came to that.
intel_result() {
	local to=$host_scratch/result

	mkdir "$to"
	debugfs -R "rdump / $to" "$host_scratch/out.disk" >"$host_scratch/debugfs.log" 2>&1 || :
	[ -z "$1" ] || cp -a "$to/out/." "$1/"
	[ ! -s "$to/status" ] || cat "$to/status"
}

# intel_run MEM TIMEOUT OUT CONSOLE APPEND COMMAND…: called by host_run().
intel_run() {
	local mem=$1 timeout=$2 out=$3 console=$4 append=$5 system kernel status=0 result
	shift 5

	"$LAB_REPO/scripts/install-packages" intel || die "lab host 'intel' needs more packages"
	need_tools setpriv tail timeout
	system=$(intel_system)
	host_make_scratch
	kernel=$(kernel_dir "$INTEL_KERNEL")
	host_write_job "$host_scratch/io" "$kernel/lib/modules/$(cat "$kernel/release")" "$@"
	: >"$host_scratch/io/intel"
	echo "$INTEL_QUICK" >"$host_scratch/io/guest-append"
	[ -z "$out" ] || mkdir -p "$out" || die "cannot create '$out'"
	intel_boot_disk "$host_scratch" "$system" "$append"
	intel_job_disk "$host_scratch" "$system" "$@"
	intel_out_disk "$host_scratch" "$out"
	intel_config "$host_scratch" "$system" "$mem" >"$host_scratch/bochsrc"
	: >"$host_scratch/stdout"
	: >"$host_scratch/stderr"
	printf 'c\nquit\n' >"$host_scratch/debugger"
	# Bochs' own debugger is to go on at once.
	setpriv --pdeathsig TERM timeout --kill-after 3 "$timeout" bochs-bin -q \
		-f "$host_scratch/bochsrc" -rc "$host_scratch/debugger" \
		</dev/null >"$host_scratch/emulator.log" 2>&1 &
	host_pid=$!
	intel_follow "$host_pid"
	wait "$host_pid" || status=$?
	host_pid=''
	[ -z "$console" ] || cp "$host_scratch/console.log" "$console"
	result=$(intel_result "$out")
	[ -z "$result" ] || exit "$result"
	host_keep=1
	host_dead "$status" "$timeout"
}
