# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The lab host: a QEMU TCG machine with SVM, or an arm64 one with EL2, that shares this machine's root
# file system. The Intel one is of another kind: host-intel.sh.

# No EPYC model: it asks for what TCG cannot do and complains. No xsave, and so no AVX: with it a
# 6.1 kernel hangs as it boots under TCG of QEMU 7.2.
HOST_CPU=qemu64,+svm,+npt,+ssse3,+sse4.1,+sse4.2,+popcnt,+movbe,+aes,+pclmulqdq,+abm,+bmi1,+bmi2
HOST_CPU+=,+adx,+rdrand,+rdtscp,+pdpe1gb,+erms,+fsgsbase,+smep,+smap,+umip

# As fast as can be, and dead at the first oops or when a CPU has hung for a minute.
HOST_COMMAND_LINE="console=ttyS0 loglevel=4 panic=-1 oops=panic mitigations=off nokaslr tsc=reliable"
HOST_COMMAND_LINE+=" no_timer_check"
# The other CPUs come when host-hold.pl has made the kernel rewrite its code.
HOST_COMMAND_LINE+=" maxcpus=1"
HOST_COMMAND_LINE+=" rcupdate.rcu_cpu_stall_timeout=60 sysctl.kernel.panic_on_rcu_stall=1"

# The same for arm64.
HOST_COMMAND_LINE_ARM64="console=ttyAMA0 loglevel=4 panic=-1 oops=panic mitigations=off nokaslr"
HOST_COMMAND_LINE_ARM64+=" rcupdate.rcu_cpu_stall_timeout=60 sysctl.kernel.panic_on_rcu_stall=1 lab.arch"

host_usage() {
	cat <<'EOT'
Usage: lab/lab run [options] -- CMD…

Boots a lab host, runs CMD in it in this directory with this machine's files (changes are lost),
and returns its exit status. CMD is root and reads nothing from stdin.

  --host HOST         which lab host: amd (default), intel, arm64-vhe or arm64-nvhe
  --kernel VERSION    6.1 (default) or 6.12; intel: 6.1
  --cpus N            default 2, on arm64 1; intel: always 1
  --mem SIZE          default 8G, on arm64 4G, intel 2G; holds the guests and every file that CMD writes
  --timeout S         give up after S seconds (default 600)
  --out DIR           share DIR; CMD finds it writable at $LAB_OUT. It cannot be mapped shared:
                      let perf write to /tmp and copy
  --console FILE      copy the lab host's console log to FILE
  --cpu FEATURES      more for QEMU's -cpu, such as +la57
  --append ARGS       more for the lab host's kernel command line
  --icount            arm64: time is made of instructions, 16 ns each, whatever this machine has to
                      spare; `instructions` counts

CMD gets PATH, HOME, TERM, LANG and all KVMPROF_* variables. Exit status 125: the lab host itself
failed (crash, panic, timeout); the message names its console log.
EOT
}

host_scratch=''
host_pid=''
host_pulse=''
host_keep=''

# Twice ten interrupts a second, by way of the serial lines: VMRUN under TCG now and then loses an
# interrupt that comes at the same time (it changes a word of flags without a lock), and a CPU
# that lost its timer's ran on without one for seconds, or for ever when the other waited for it.
# Any further interrupt wakes it up.
host_beat() {
	exec 7<>"$host_scratch/pulse0.in" 8<>"$host_scratch/pulse1.in" 9<>"$host_scratch/never"
	while [ -e "/proc/$1" ]; do
		read -r -t 0.1 -u 9 || :
		[ -e "$host_scratch/io/beat" ] || continue
		printf . >&7
		printf . >&8
	done
}

# host_clean: end QEMU and the relays, whatever happened.
host_clean() {
	[ -z "$host_pid" ] || kill -TERM "$host_pid" 2>/dev/null || :
	[ -z "$host_pulse" ] || kill -TERM "$host_pulse" 2>/dev/null || :
	[ -n "$host_keep" ] || [ -z "$host_scratch" ] || rm -rf "$host_scratch"
}

# host_make_scratch: the folder of this run, which goes when it ends.
host_make_scratch() {
	host_scratch=$(mktemp -d "${TMPDIR:-/tmp}/kvmprof-lab.XXXXXX")
	trap host_clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
}

# host_dead STATUS TIMEOUT: the emulator ended with STATUS, and the job has left no exit status.
host_dead() {
	local log="console log: $host_scratch/console.log"

	case $1 in
	124 | 137) die "lab host still busy after $2 s, ended; $log" ;;
	*) die "lab host died (emulator's exit status $1, see $host_scratch/emulator.log); $log" ;;
	esac
}

# The job, as the lab host's process 1 reads it.
host_write_job() {
	local dir=$1 modules=$2 name module
	shift 2

	mkdir "$dir"
	: >"$dir/stdout"
	: >"$dir/stderr"
	: >"$dir/shares"
	echo "$LAB_DIR/lib/host-init.sh" >"$dir/init"
	echo "$modules" >"$dir/modules"
	host_modules | while read -r module; do
		modprobe -d "${modules%/lib/modules/*}" -S "${modules##*/}" --show-depends "$module"
	done | sed -n "s|^insmod $modules/\([^ ]*\).*|\1|p" | sort -u >"$dir/loaded"
	pwd -P >"$dir/cwd"
	{ pwd -P; printf '%s\n' "$LAB_REPO" "$LAB_CACHE" "$LAB_BUILD" "$@"; } >"$dir/keep"
	printf '%s\0' "$@" >"$dir/command"
	{
		printf 'PATH=%s\0' "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
		printf 'HOME=%s\0TERM=%s\0LANG=%s\0' "${HOME:-/root}" "${TERM:-dumb}" "${LANG:-C.UTF-8}"
		printf 'KVMPROF_LAB_CACHE=%s\0KVMPROF_BUILD=%s\0' "$LAB_CACHE" "$LAB_BUILD"
		for name in ${!KVMPROF_*}; do
			case $name in KVMPROF_LAB_CACHE | KVMPROF_BUILD) continue ;; esac
			[ -z "${!name+set}" ] || printf '%s=%s\0' "$name" "${!name}"
		done
	} >"$dir/environment"
}

# host_choose HOST: sets what differs between the lab hosts.
host_choose() {
	case $1 in
	amd)
		[ "$(uname -m)" = x86_64 ] || die "lab host '$1' needs an x86-64 machine"
		host_cpus=2 host_mem=8G
		;;
	arm64-vhe | arm64-nvhe)
		lab_arch_arm64
		host_cpus=1 host_mem=4G
		"$LAB_REPO/scripts/install-packages" arm64 ||
			die "lab host '$1' needs more packages"
		;;
	*) die "unknown lab host '$1' (see lab/lab run --help)" ;;
	esac
}

# host_machine HOST FEATURES: prints QEMU and its machine, one word a line.
host_machine() {
	local host=$1 features=$2 cpu=neoverse-n1
	local -a qemu

	if [ "$host" = amd ]; then
		# An unpacked kernel boots by its PVH entry and has nothing to decompress: seconds, under TCG.
		read -ra qemu <<<"${KVMPROF_LAB_QEMU:-qemu-system-x86_64}"
		printf '%s\n' "${qemu[@]}" -machine q35 -cpu "$HOST_CPU$features" \
			-chardev "pipe,id=pulse0,path=$host_scratch/pulse0" \
			-chardev "pipe,id=pulse1,path=$host_scratch/pulse1" \
			-device isa-serial,chardev=pulse0,index=1 \
			-device isa-serial,chardev=pulse1,index=2,irq=5 \
			-device isa-debug-exit,iobase=0xf4,iosize=1
		return
	fi
	# The former has the virtualization host extensions, the latter is older.
	[ "$host" = arm64-vhe ] || cpu=cortex-a57
	printf '%s\n' qemu-system-aarch64 -machine virt,virtualization=on,gic-version=3 \
		-cpu "$cpu$features" \
		-virtfs "$(share_option "$("$LAB_REPO/scripts/foreign-root" arm64)" arch readonly=on)"
}

host_run() {
	local host=amd kernel=6.1 cpus='' mem='' timeout=600 out='' console='' features='' append=''
	local threads=multi
	local dir release image status tail_out tail_err host_cpus host_mem
	local -a shares machine icount=()

	while [ $# -gt 0 ]; do
		case $1 in
		--host) need_value "$1" $#; host=$2; shift ;;
		--kernel) need_value "$1" $#; kernel=$2; shift ;;
		--cpus) need_value "$1" $#; need_number "$1" "$2"; cpus=$2; shift ;;
		--mem) need_value "$1" $#; need_size "$1" "$2"; mem=$2; shift ;;
		--timeout) need_value "$1" $#; need_number "$1" "$2"; timeout=$2; shift ;;
		--out) need_value "$1" $#; out=$2; shift ;;
		--console) need_value "$1" $#; console=$2; shift ;;
		--cpu) need_value "$1" $#; features=,$2; shift ;;
		--append) need_value "$1" $#; append=$2; shift ;;
		--icount) icount=(-icount "shift=4,sleep=off") threads=single ;;
		-h | --help) host_usage; exit 0 ;;
		--) shift; break ;;
		-*) die "unknown option '$1' (see lab/lab run --help)" ;;
		*) break ;;
		esac
		shift
	done
	[ $# -gt 0 ] || die "no command to run (see lab/lab run --help)"
	if [ "$host" = intel ]; then
		[ "$kernel" = 6.1 ] || die "lab host 'intel' has kernel 6.1 only"
		[ "$(uname -m)" = x86_64 ] || die "lab host '$host' needs an x86-64 machine"
		# shellcheck source=lab/lib/host-intel.sh
		. "$LAB_DIR/lib/host-intel.sh"
		intel_run "${mem:-2G}" "$timeout" "$out" "$console" "$append" "$@"
		return
	fi
	[ "$host" != amd ] || [ "${#icount[@]}" -eq 0 ] || die "--icount is for arm64 lab hosts"
	host_choose "$host"
	need_tools setpriv tail timeout
	# Of another architecture no more is fetched than what is asked for.
	if [ "$LAB_ARCH" = amd64 ]; then prepare_all; else prepare_all "$kernel"; fi
	dir=$(kernel_dir "$kernel")
	release=$(cat "$dir/release")
	image=$(image_host "$kernel")

	host_make_scratch
	host_write_job "$host_scratch/io" "$dir/lib/modules/$release" "$@"
	shares=(-virtfs "$(share_option / root readonly=on)"
		-virtfs "$(share_option "$host_scratch/io" io)")
	if [ -n "$out" ]; then
		mkdir -p "$out" || die "cannot create '$out'"
		out=$(readlink -f "$out")
		shares+=(-virtfs "$(share_option "$out" out)")
		echo out >"$host_scratch/io/shares"
	fi

	mkfifo "$host_scratch"/{pulse0.in,pulse0.out,pulse1.in,pulse1.out,never}
	mapfile -t machine < <(host_machine "$host" "$features")
	append="$([ "$host" = amd ] && echo "$HOST_COMMAND_LINE" || echo "$HOST_COMMAND_LINE_ARM64") $append"
	# Whatever becomes of this script, `timeout` ends QEMU.
	setpriv --pdeathsig TERM timeout --kill-after 3 "$timeout" \
		"${machine[@]}" -accel "tcg,thread=$threads,tb-size=1024" "${icount[@]}" \
		-smp "${cpus:-$host_cpus}" -m "${mem:-$host_mem}" \
		-nodefaults -no-user-config -display none -no-reboot \
		-serial "file:$host_scratch/console.log" \
		-kernel "$dir/vmlinux" -initrd "$image" \
		-append "$append" \
		"${shares[@]}" </dev/null >"$host_scratch/emulator.log" 2>&1 &
	host_pid=$!
	host_beat "$host_pid" &
	host_pulse=$!
	tail -f -s 0.05 -c +1 --pid="$host_pid" "$host_scratch/io/stdout" &
	tail_out=$!
	tail -f -s 0.05 -c +1 --pid="$host_pid" "$host_scratch/io/stderr" >&2 &
	tail_err=$!
	status=0
	wait "$host_pid" || status=$?
	host_pid=''
	kill -TERM "$host_pulse" 2>/dev/null || :
	host_pulse=''
	wait "$tail_out" "$tail_err" || :

	[ -z "$console" ] || cp "$host_scratch/console.log" "$console"
	if [ -s "$host_scratch/io/status" ]; then
		exit "$(cat "$host_scratch/io/status")"
	fi
	host_keep=1
	host_dead "$status" "$timeout"
}
