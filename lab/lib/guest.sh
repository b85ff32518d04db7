# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Guests: stock Debian kernels under QEMU/KVM, inside a lab host.

guest_usage() {
	cat <<'EOT'
Usage (inside a lab host): lab/lab guest COMMAND …

  start NAME [options]   start a guest, wait until its workloads have started, print QEMU's pid
      --kernel K         6.1 (default), 6.12, another of Debian that `lab/lab kernel K` fetched
                         before (5.10, 7.3, 6.12@trixie, 6.18-cloud), or a kernel file; of i386
                         686 and 686-pae, fetched likewise: workloads are then NAME-32-fp and -nofp;
                         in arm64 lab hosts 6.12-16k, likewise, with pages of 16 KiB
      --workload W       a program of lab/workloads and its arguments, in one word: cputree-fp,
                         'syscalls-nofp --report 1'; again for more (default: none)
      --initrd FILE      an image of your own instead; none: without one
      --root             give it the lab host's user land (read-only 9p below a tmpfs; in an Intel
                         lab host its disks, and no share for results)
      --script FILE      run FILE in it, by busybox without --root; see `guest output` and `guest dir`
      --module M         load a kernel module of this kernel, and what it needs; again for more
      --cpus N           default 1
      --mem SIZE         default 256M, with --root 1G
      --hotplug          room for CPUs (8 in all) and memory (4 slots, 4G in all)
      --append ARGS      more for its kernel command line (it has KASLR)
      --cpu MODEL        QEMU's -cpu (default: host)
      --qemu ARGS        more for QEMU, split at white space
      --ready REGEX      wait for this console line instead ('' to wait for nothing)
      --wait S           for at most S seconds (default 120)
      --vmm VMM          qemu (default), kvmprof-vmm, or a program that takes kvmprof-vmm's options;
                         those have one serial line and no devices: no --root, --qemu or --hotplug
      --vmm-args ARGS    more for such a VMM, split at white space
  image NAME [options]   no guest, only what it would boot: print the kernel and the initramfs
  stop NAME              end it
  list                   name, pid and kernel of each
  console NAME [-f]      its console; -f follows it
  output NAME [-f]       what its --script printed
  qmp NAME JSON          one QMP command, print the answer
  dir NAME               its state folder: pid, console.log, qmp, out/ (the guest's $LAB_OUT)
EOT
}

# Whether this lab host has disks instead of shares.
lab_has_disks() {
	[ -e "$LAB_STATE/io/intel" ]
}

# guest_folder NAME: print the state folder of a guest that exists.
guest_folder() {
	[ -d "$LAB_STATE/guests/$1" ] || die "no guest '$1'"
	echo "$LAB_STATE/guests/$1"
}

guest_alive() {
	kill -0 "$(cat "$1/pid" 2>/dev/null || echo none)" 2>/dev/null
}

# guest_wait DIR SECONDS REGEX…: until each has matched a line of the console.
guest_wait() {
	local dir=$1 seconds=$2 regex pause=0.2
	local end=$((SECONDS + $2))
	shift 2

	# To look takes as long there, of the one processor that the guest needs, too.
	! lab_has_disks || pause=2

	for regex in "$@"; do
		until grep -Eaq -- "$regex" "$dir/console.log" 2>/dev/null; do
			# What it said last may have come since the look above.
			if ! guest_alive "$dir" && ! grep -Eaq -- "$regex" "$dir/console.log"; then
				tail -n 20 "$dir"/*.log >&2
				die "guest ended while starting; console log: $dir/console.log"
			fi
			if [ "$SECONDS" -ge "$end" ]; then
				tail -n 20 "$dir/console.log" >&2
				die "guest printed no '$regex' in $seconds s; console log: $dir/console.log"
			fi
			sleep "$pause"
		done
	done
}

# The options of `guest start`, as guest_parse() leaves them for the functions below.
declare -A opt=()
guest_workloads=()
guest_modules=()
guest_patterns=()

guest_parse() {
	opt=([kernel]=6.1 [cpus]=1 [wait]=120 [vmm]=qemu)
	while [ $# -gt 0 ]; do
		case $1 in
		--root | --hotplug)
			opt[${1#--}]=1
			shift
			continue
			;;
		-h | --help) guest_usage; exit 0 ;;
		--workload | --module | --kernel | --initrd | --script | --cpus | --cpu | --mem | --append | \
			--qemu | --ready | --wait | --vmm | --vmm-args) need_value "$1" $# ;;
		*) die "unknown option '$1' (see lab/lab guest --help)" ;;
		esac
		case $1 in
		--workload) guest_workloads+=("$2") ;;
		--module) guest_modules+=("$2") ;;
		--cpus | --wait) need_number "$1" "$2" ;;&
		--mem) need_size "$1" "$2" ;;&
		*) opt[${1#--}]=$2 ;;
		esac
		shift 2
	done
}

# Options that do not go together, or name what is not there.
guest_check() {
	local file

	[ "${opt[vmm]}" != kvmprof-vmm ] || opt[vmm]=$LAB_BUILD/vmm/kvmprof-vmm
	if [ "${opt[vmm]}" = qemu ]; then
		[ -z "${opt[vmm-args]-}" ] || die "--vmm-args is for other VMMs (use --qemu)"
	else
		[ -x "${opt[vmm]}" ] || die "VMM '${opt[vmm]}' is not there (run: make)"
		[ -z "${opt[root]-}${opt[qemu]-}${opt[hotplug]-}" ] ||
			die "--root, --qemu and --hotplug go with QEMU only"
	fi
	for file in "${opt[script]-}" "${opt[initrd]-}"; do
		[ -z "$file" ] || [ "$file" = none ] || [ -r "$file" ] || die "cannot read '$file'"
	done
	[ -z "${opt[initrd]-}" ] ||
		[ "${#guest_workloads[@]}${#guest_modules[@]}${opt[root]-}" = 00 ] ||
		die "--initrd goes with no --workload, --module or --root"
	if ! kernel_known "${opt[kernel]}"; then
		[ -r "${opt[kernel]}" ] ||
			die "'${opt[kernel]}' is neither a lab kernel (${LAB_KERNELS[*]}) nor a file"
		[ "${#guest_modules[@]}${opt[root]-}" = 0 ] ||
			die "--root and --module need a lab kernel"
	fi
	! kernel_i386 "${opt[kernel]}" || [ -z "${opt[root]-}" ] || die "--root needs a 64-bit kernel"
	! kernel_16k "${opt[kernel]}" || [ "$LAB_ARCH" = arm64 ] ||
		die "kernel ${opt[kernel]} is for guests of arm64 lab hosts"
	[ "$LAB_ARCH" = amd64 ] || [ -z "${opt[hotplug]-}" ] ||
		die "--hotplug is not available in an arm64 lab host"
}

# file_is_elf FILE
file_is_elf() {
	[ "$(od -A n -t x1 -N 4 "$1" | tr -d ' ')" = 7f454c46 ]
}

# guest_machine KERNEL: prints QEMU and its machine, one word a line. The kernel's own console is the
# first serial line, `output` the second. qboot starts Linux faster than SeaBIOS does, but under KVM
# no ELF file: it takes them for multiboot images.
guest_machine() {
	case $LAB_ARCH in
	amd64)
		printf '%s\n' qemu-system-x86_64 -machine q35,accel=kvm \
			-serial chardev:console -serial chardev:output
		file_is_elf "$1" || printf '%s\n' -bios qboot.rom
		;;
	*)
		printf '%s\n' qemu-system-aarch64 -machine virt,accel=kvm,gic-version=3 \
			-serial chardev:console -device pci-serial,chardev=output
		;;
	esac
}

# guest_folder_new NAME: print the fresh state folder of a guest that is to be.
guest_folder_new() {
	local dir=$LAB_STATE/guests/$1

	mkdir -p "$LAB_STATE/guests"
	if [ -d "$dir" ]; then
		! guest_alive "$dir" || die "guest '$1' is running"
		rm -rf "$dir"
	fi
	mkdir "$dir" "$dir/out"
	echo "$dir"
}

# guest_workload DIR LINE: add a workload to a guest's image.
guest_workload() {
	local dir=$1 line=$2 program=${2%% *}

	[ -x "$LAB_BUILD/lab/workloads/$program" ] ||
		die "no workload '$program' in $LAB_BUILD/lab/workloads (run: make)"
	cp "$LAB_BUILD/lab/workloads/$program" "$dir/bin/"
	echo "$line" >>"$dir/workloads"
	guest_patterns+=("workload $program: started")
}

# guest_tree NAME TREE: what a guest's image has beyond the base, and the base's path in $base.
guest_tree() {
	local name=$1 tree=$2 kernel=${opt[kernel]} line

	mkdir -p "$tree/lab/bin"
	: >"$tree/lab/workloads"
	cp "$LAB_DIR/lib/guest-start.sh" "$tree/lab/start"
	echo "$name" >"$tree/lab/hostname"
	[ -z "${opt[hotplug]-}" ] || : >"$tree/lab/hotplug"
	guest_patterns+=('^guest: up')
	for line in "${guest_workloads[@]}"; do
		guest_workload "$tree/lab" "$line"
	done
	if [ -n "${opt[script]-}" ]; then
		cp "${opt[script]}" "$tree/lab/script"
		guest_patterns+=('^script: started')
	fi
	base=$(image_base "$kernel")
	if [ -n "${opt[root]-}" ]; then
		: >"$tree/lab/root"
		if lab_has_disks; then
			: >"$tree/lab/disks"
			base=$(image_guest_disks "$kernel")
		else
			base=$(image_guest_root "$kernel")
		fi
		[ "${#guest_modules[@]}" -eq 0 ] ||
			guest_modules=("${LAB_ROOT_MODULES[@]}" "${guest_modules[@]}")
	fi
	[ "${#guest_modules[@]}" -eq 0 ] || tree_modules "$tree" "$kernel" "${guest_modules[@]}"
}

# guest_root_devices DIR: prints the devices of a guest that has the lab host's user land, one word a
# line.
guest_root_devices() {
	local label

	if ! lab_has_disks; then
		printf '%s\n' -virtfs "$(share_option / root readonly=on)" \
			-virtfs "$(share_option "$1/out" out)"
		return
	fi
	for label in lab-system lab-job; do
		printf '%s\n' -drive \
			"if=virtio,format=raw,readonly=on,file=$(findfs "LABEL=$label"),file.locking=off"
	done
}

# The kernel's file, whatever was asked for.
guest_vmlinuz() {
	if kernel_known "${opt[kernel]}"; then
		echo "$(kernel_dir "${opt[kernel]}")/boot/vmlinuz-$(kernel_release "${opt[kernel]}")"
	else
		echo "${opt[kernel]}"
	fi
}

# size_mib SIZE: as need_size takes it
size_mib() {
	case $1 in
	*[Gg]) echo $((${1%?} * 1024)) ;;
	*[Mm]) echo "${1%?}" ;;
	*[Kk]) echo $((${1%?} / 1024)) ;;
	*) echo $(($1 / 1048576)) ;;
	esac
}

# guest_launch_other NAME DIR INITRD: by a VMM with kvmprof-vmm's options
guest_launch_other() {
	local name=$1 dir=$2 initrd=$3
	local -a extra=()

	read -ra extra <<<"${opt[vmm-args]-}"
	setsid "${opt[vmm]}" --name "$name" --kernel "$(guest_vmlinuz)" --initrd "$initrd" \
		--mem "$(size_mib "${opt[mem]:-256M}")" --cpus "${opt[cpus]}" \
		--append "console=ttyS0 quiet reboot=t panic=-1 ${opt[append]-}" "${extra[@]}" \
		</dev/null >"$dir/console.log" 2>"$dir/vmm.log" &
	echo $! >"$dir/pid"
}

# guest_launch NAME DIR INITRD
guest_launch() {
	local name=$1 dir=$2 initrd=$3 vmlinuz smp=${opt[cpus]} mem=${opt[mem]-}
	local -a image=()

	[ "$initrd" = none ] || image=(-initrd "$initrd")
	local append="quiet panic=-1 ${opt[append]-}"
	local -a machine devices=() extra=()

	if [ "${opt[vmm]}" != qemu ]; then
		guest_launch_other "$@"
		return
	fi
	vmlinuz=$(guest_vmlinuz)
	: "${mem:=${opt[root]+1G}}" "${mem:=256M}"
	if [ -n "${opt[hotplug]-}" ]; then
		smp+=,maxcpus=8
		mem+=,slots=4,maxmem=4G
		append="memhp_default_state=online $append"
	fi
	if [ -n "${opt[root]-}" ]; then
		mapfile -t devices < <(guest_root_devices "$dir")
	fi
	if [ "$LAB_ARCH" = amd64 ]; then
		append="console=ttyS0 $append"
		# The kernel looks for devices on 256 buses, and each look is an exit of a nested guest.
		[ -n "${opt[qemu]-}" ] || append="pci=lastbus=0 $append"
	else
		append="console=ttyAMA0 $append"
	fi
	[ ! -e "$LAB_STATE/guest-append" ] || append="$(cat "$LAB_STATE/guest-append") $append"
	mapfile -t machine < <(guest_machine "$vmlinuz")
	read -ra extra <<<"${opt[qemu]-}"
	# With -daemonize, QEMU's errors reach its log only when there is a trace file, too.
	"${machine[@]}" -name "$name,debug-threads=on" -cpu "${opt[cpu]-host}" -smp "$smp" -m "$mem" \
		-nodefaults -no-user-config -display none -no-reboot \
		-chardev "file,id=console,path=$dir/console.log" \
		-chardev "file,id=output,path=$dir/output.log" \
		-qmp "unix:$dir/qmp,server=on,wait=off" -pidfile "$dir/pid" -daemonize \
		-D "$dir/trace.log" -trace enable=runstate_set \
		-kernel "$vmlinuz" "${image[@]}" \
		-append "$append" \
		"${devices[@]}" "${extra[@]}" </dev/null >"$dir/qemu.log" 2>&1 ||
		die "QEMU did not start: $(head -n 1 "$dir/qemu.log")"
}

# guest_prepare NAME [OPTION…]: parses the options, makes the state folder; leaves $dir and $initrd.
guest_prepare() {
	local name=${1-} base

	case $name in
	'' | -*) die "usage: lab/lab guest start NAME [options]" ;;
	esac
	[[ $name =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*$ ]] || die "bad guest name '$name'"
	if [ ! -c /dev/kvm ] || [ ! -d "$LAB_STATE" ]; then
		die "not in a lab host (use: lab/lab run -- …)"
	fi
	shift
	guest_parse "$@"
	guest_check
	dir=$(guest_folder_new "$name")
	echo "${opt[kernel]}" >"$dir/kernel"
	initrd=${opt[initrd]-}
	if [ -z "$initrd" ]; then
		initrd=$dir/initrd
		guest_tree "$name" "$dir/tree"
		# The kernel unpacks one archive after the other.
		{ cat "$base"; tree_pack "$dir/tree"; } >"$initrd"
		rm -rf "$dir/tree"
	fi
}

guest_start() {
	local dir initrd

	guest_prepare "$@"
	if [ -n "${opt[ready]+set}" ]; then
		guest_patterns=()
		[ -z "${opt[ready]}" ] || guest_patterns=("${opt[ready]}")
	fi
	guest_launch "$1" "$dir" "$initrd"
	guest_wait "$dir" "${opt[wait]}" "${guest_patterns[@]}"
	cat "$dir/pid"
}

guest_image() {
	local dir initrd

	guest_prepare "$@"
	echo "$(guest_vmlinuz) $initrd"
}

# Emulated processors go wrong now and then, and a guest dies as it boots, before its first word: it
# gets a second chance, and that is said.
guest_start_twice() {
	local status=0

	"$LAB_DIR/lab" guest start-once "$@" || status=$?
	[ "$status" -ne 0 ] || return 0
	[ $# -gt 0 ] && [ -d "$LAB_STATE/guests/$1" ] || exit "$status"
	note "guest '$1' did not start: once more"
	guest_stop "$1"
	guest_start "$@"
}

# process_ended PID SECONDS: wait for the end of a process that is not ours to wait for.
process_ended() {
	local tries=$(($2 * 10))

	while kill -0 "$1" 2>/dev/null; do
		[ "$tries" -gt 0 ] || return 1
		tries=$((tries - 1))
		sleep 0.1
	done
}

guest_stop() {
	local dir pid

	dir=$(guest_folder "$1")
	# QEMU removes the file as it ends, some time before it has ended.
	if guest_alive "$dir" && pid=$(cat "$dir/pid" 2>/dev/null); then
		kill -TERM "$pid" 2>/dev/null || :
		if ! process_ended "$pid" 5; then
			kill -KILL "$pid" 2>/dev/null || :
			process_ended "$pid" 10 || die "guest '$1' (pid $pid) does not end"
		fi
	else
		note "guest '$1' had ended by itself; its last words:"
		tail -n 30 "$dir"/*.log >&2 || :
	fi
	rm -rf "$dir"
}

guest_list() {
	local dir

	for dir in "$LAB_STATE"/guests/*/; do
		dir=${dir%/}
		! guest_alive "$dir" || echo "${dir##*/} $(cat "$dir/pid") $(cat "$dir/kernel")"
	done
}

# guest_show FILE [-f]: a serial line's log.
guest_show() {
	case ${2-} in
	'') sed 's/\r$//' "$1" ;;
	-f) tail -c +1 -f "$1" | sed -u 's/\r$//' ;;
	*) die "unknown option '$2'" ;;
	esac
}

guest_command() {
	local command=${1-} dir

	[ $# -eq 0 ] || shift
	case $command in
	start) guest_start_twice "$@" ;;
	start-once) guest_start "$@" ;;
	image) guest_image "$@" ;;
	list) guest_list ;;
	stop | console | output | qmp | dir)
		[ $# -ge 1 ] || die "usage: lab/lab guest $command NAME"
		dir=$(guest_folder "$1")
		case $command in
		stop) guest_stop "$1" ;;
		console) guest_show "$dir/console.log" "${2-}" ;;
		output) guest_show "$dir/output.log" "${2-}" ;;
		qmp)
			[ $# -eq 2 ] || die "usage: lab/lab guest qmp NAME JSON"
			python3 "$LAB_DIR/lib/qmp.py" "$dir/qmp" "$2"
			;;
		dir) echo "$dir" ;;
		esac
		;;
	-h | --help) guest_usage ;;
	*) die "unknown guest command '$command' (see lab/lab guest --help)" ;;
	esac
}
