# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Guests: stock Debian kernels under QEMU/KVM, inside a lab host.

guest_usage() {
	cat <<'EOT'
Usage (inside a lab host): lab/lab guest COMMAND …

  start NAME [options]   start a guest, wait until its workloads have started, print QEMU's pid
      --kernel K         6.1 (default), 6.12 or a kernel file
      --workload W       a program of lab/workloads and its arguments, in one word: cputree-fp,
                         'syscalls-nofp --report 1'; again for more (default: none)
      --initrd FILE      an image of your own instead
      --root             give it the lab host's user land (read-only 9p below a tmpfs)
      --script FILE      with --root: run FILE in it; see `guest output` and `guest dir`
      --module M         load a kernel module of this kernel, and what it needs; again for more
      --cpus N           default 1
      --mem SIZE         default 256M, with --root 1G
      --hotplug          room for CPUs (8 in all) and memory (4 slots, 4G in all)
      --append ARGS      more for its kernel command line (it has KASLR)
      --qemu ARGS        more for QEMU, split at white space
      --ready REGEX      wait for this console line instead ('' to wait for nothing)
      --wait S           for at most S seconds (default 120)
      --vmm qemu         the VMM (qemu only)
  stop NAME              end it
  list                   name, pid and kernel of each
  console NAME [-f]      its console; -f follows it
  output NAME [-f]       what its --script printed
  qmp NAME JSON          one QMP command, print the answer
  dir NAME               its state folder: pid, console.log, qmp, out/ (the guest's $LAB_OUT)
EOT
}

# guest_folder NAME: print the state folder of a guest that exists.
guest_folder() {
	[ -d "$LAB_STATE/guests/$1" ] || die "no guest '$1'"
	echo "$LAB_STATE/guests/$1"
}

guest_alive() {
	kill -0 "$(cat "$1/pid" 2>/dev/null || echo none)" 2>/dev/null
}

# guest_workload DIR LINE: add a workload to the guest's image.
guest_workload() {
	local dir=$1 line=$2 program=${2%% *}

	[ -x "$LAB_BUILD/lab/workloads/$program" ] ||
		die "no workload '$program' in $LAB_BUILD/lab/workloads (run: make)"
	cp "$LAB_BUILD/lab/workloads/$program" "$dir/bin/"
	echo "$line" >>"$dir/workloads"
}

# guest_wait DIR SECONDS REGEX…: until each has matched a line of the console.
guest_wait() {
	local dir=$1 seconds=$2 regex
	local end=$((SECONDS + $2))
	shift 2

	for regex in "$@"; do
		until grep -Eaq -- "$regex" "$dir/console.log" 2>/dev/null; do
			if ! guest_alive "$dir"; then
				tail -n 20 "$dir/console.log" "$dir/qemu.log" >&2
				die "guest ended while starting; console log: $dir/console.log"
			fi
			if [ "$SECONDS" -ge "$end" ]; then
				tail -n 20 "$dir/console.log" >&2
				die "guest printed no '$regex' in $seconds s; console log: $dir/console.log"
			fi
			sleep 0.2
		done
	done
}

guest_start() {
	local name kernel=6.1 initrd='' root='' script='' cpus=1 mem='' hotplug='' append='' ready=''
	local seconds=120 vmlinuz version='' release='' dir tree smp memory extra='' line
	local -a workloads=() modules=() patterns=() devices=() extra_words=()
	local ready_set=''

	[ $# -gt 0 ] || die "usage: lab/lab guest start NAME [options]"
	name=$1
	shift
	[[ $name =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*$ ]] || die "bad guest name '$name'"
	while [ $# -gt 0 ]; do
		case $1 in
		--kernel) need_value "$1" $#; kernel=$2; shift ;;
		--initrd) need_value "$1" $#; initrd=$2; shift ;;
		--workload) need_value "$1" $#; workloads+=("$2"); shift ;;
		--root) root=1 ;;
		--script) need_value "$1" $#; script=$2; shift ;;
		--module) need_value "$1" $#; modules+=("$2"); shift ;;
		--cpus) need_value "$1" $#; need_number "$1" "$2"; cpus=$2; shift ;;
		--mem) need_value "$1" $#; need_size "$1" "$2"; mem=$2; shift ;;
		--hotplug) hotplug=1 ;;
		--append) need_value "$1" $#; append=$2; shift ;;
		--qemu) need_value "$1" $#; extra=$2; shift ;;
		--ready) need_value "$1" $#; ready=$2; ready_set=1; shift ;;
		--wait) need_value "$1" $#; need_number "$1" "$2"; seconds=$2; shift ;;
		--vmm) need_value "$1" $#; [ "$2" = qemu ] || die "VMM '$2' is not available yet"; shift ;;
		-h | --help) guest_usage; exit 0 ;;
		*) die "unknown option '$1' (see lab/lab guest --help)" ;;
		esac
		shift
	done
	if [ ! -c /dev/kvm ] || [ ! -d "$LAB_STATE" ]; then
		die "not in a lab host (use: lab/lab run -- …)"
	fi
	[ -z "$script" ] || [ -n "$root" ] || die "--script needs --root"
	[ -z "$script" ] || [ -r "$script" ] || die "cannot read '$script'"
	[ -z "$initrd" ] || [ -r "$initrd" ] || die "cannot read '$initrd'"
	[ -z "$initrd" ] || [ "${#workloads[@]}${#modules[@]}$root" = 00 ] ||
		die "--initrd goes with no --workload, --module or --root"

	if kernel_known "$kernel"; then
		version=$kernel
		dir=$(kernel_dir "$version")
		release=$(cat "$dir/release")
		vmlinuz=$dir/boot/vmlinuz-$release
	else
		vmlinuz=$kernel
		[ -r "$vmlinuz" ] || die "'$kernel' is neither a lab kernel (${LAB_KERNELS[*]}) nor a file"
		[ "${#modules[@]}$root" = 0 ] || die "--root and --module need a lab kernel"
	fi

	mkdir -p "$LAB_STATE/guests"
	dir=$LAB_STATE/guests/$name
	if [ -d "$dir" ]; then
		guest_alive "$dir" && die "guest '$name' is running"
		rm -rf "$dir"
	fi
	mkdir "$dir" "$dir/out"
	echo "$kernel" >"$dir/kernel"

	if [ -z "$initrd" ]; then
		tree=$dir/tree
		mkdir -p "$tree/lab/bin"
		: >"$tree/lab/workloads"
		cp "$LAB_DIR/lib/guest-start.sh" "$tree/lab/start"
		echo "$name" >"$tree/lab/hostname"
		[ -z "$hotplug" ] || : >"$tree/lab/hotplug"
		patterns+=('^guest: up')
		for line in "${workloads[@]}"; do
			guest_workload "$tree/lab" "$line"
			patterns+=("workload ${line%% *}: started")
		done
		if [ -n "$script" ]; then
			cp "$script" "$tree/lab/script"
			patterns+=('^script: started')
		fi
		initrd=$(image_guest)
		if [ -n "$root" ]; then
			: >"$tree/lab/root"
			echo "$release" >"$tree/lab/release"
			echo "$LAB_CACHE/kernels/$version/lib/modules/$release" >"$tree/lab/moduledir"
			initrd=$(image_guest_root "$version")
			devices+=(-virtfs "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"
				-virtfs "local,path=$dir/out,mount_tag=out,security_model=none,multidevs=remap")
		fi
		if [ "${#modules[@]}" -gt 0 ]; then
			if [ -n "$root" ]; then
				modules=("${LAB_ROOT_MODULES[@]}" "${modules[@]}")
			fi
			tree_modules "$tree" "$version" "${modules[@]}"
		fi
		# The kernel unpacks one archive after the other.
		{ cat "$initrd"; tree_pack "$tree"; } >"$dir/initrd"
		initrd=$dir/initrd
		rm -rf "$tree"
	fi
	if [ -n "$ready_set" ]; then
		patterns=()
		[ -z "$ready" ] || patterns=("$ready")
	fi

	: "${mem:=${root:+1G}}" "${mem:=256M}"
	smp=$cpus
	memory=$mem
	if [ -n "$hotplug" ]; then
		smp=$cpus,maxcpus=8
		memory=$mem,slots=4,maxmem=4G
		append="memhp_default_state=online $append"
	fi
	# Firmware and kernel look for devices on 256 buses, and each look is an exit of a nested guest.
	[ -n "$extra" ] || append="pci=lastbus=0 $append"
	read -ra extra_words <<<"$extra"
	qemu-system-x86_64 -name "$name,debug-threads=on" \
		-machine q35,accel=kvm -cpu host -smp "$smp" -m "$memory" \
		-nodefaults -no-user-config -display none -no-reboot -bios qboot.rom \
		-chardev "file,id=console,path=$dir/console.log" -serial chardev:console \
		-chardev "file,id=output,path=$dir/output.log" -serial chardev:output \
		-qmp "unix:$dir/qmp,server=on,wait=off" -pidfile "$dir/pid" -daemonize \
		-kernel "$vmlinuz" -initrd "$initrd" \
		-append "console=ttyS0 quiet panic=-1 $append" \
		"${devices[@]}" "${extra_words[@]}" </dev/null >"$dir/qemu.log" 2>&1 ||
		die "QEMU did not start: $(head -n 1 "$dir/qemu.log")"
	guest_wait "$dir" "$seconds" "${patterns[@]}"
	cat "$dir/pid"
}

guest_stop() {
	local dir pid

	dir=$(guest_folder "$1")
	if guest_alive "$dir"; then
		pid=$(cat "$dir/pid")
		kill -TERM "$pid"
		for _ in {1..50}; do
			guest_alive "$dir" || break
			sleep 0.1
		done
		! guest_alive "$dir" || kill -KILL "$pid"
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
	start) guest_start "$@" ;;
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
