#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What profiling costs a guest: its work with a profiler, as a share of its work without, in one run.

Runs inside a lab host (see bench/run). Windows without a profiler lie between the windows with one,
and each is compared with its two neighbours, so that drift of the machine cancels out. On an AMD host
the guest has the lab host's user land, hence a perf of its own to compare with: it copies the user
stacks, too. An Intel one has no inline mode, and no room for such a guest.
Environment: KVMPROF_BUILD. Usage: lab-cost.py [--rounds N] [HZ…]
"""
import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import time

SRC = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = os.path.join(SRC, "lab", "lab")
KVMPROF = os.path.join(os.environ["KVMPROF_BUILD"], "src", "cmd", "kvmprof")
WINDOW = 5.0		# seconds; the guest reports its work every second
WORKLOADS = ("cputree-nofp", "syscalls-nofp")
IN_GUEST = "perf dwarf in guest"
INTEL = os.path.isdir("/sys/module/kvm_intel")
# Process 1 of the guest starts its perf when there is a file "perf", and stops it when it has gone.
GUEST_SCRIPT = """#!/bin/sh
while sleep 1; do
	[ -e "$LAB_OUT/perf" ] || continue
	perf record -B -N -a -e cpu-clock -F "$(cat "$LAB_OUT/perf")" --call-graph dwarf,16384 \
		-o /tmp/perf.data -- sleep 3600 >"$LAB_OUT/said" 2>&1 &
	pid=$!
	while [ -e "$LAB_OUT/perf" ]; do
		sleep 0.5
	done
	kill -INT $pid
	wait
	: >"$LAB_OUT/stopped"
done
"""
REPORT = re.compile(r"work (\S+) (\d+) (\d+)")


def lab(*arguments):
    return subprocess.run([LAB, "guest", *arguments], check=True, capture_output=True, text=True).stdout


def last_reports(console):
    """Work and guest time (ms) that each workload printed last."""
    reports = {}
    with open(console, errors="replace") as lines:
        for name, work, ms in REPORT.findall(lines.read()):
            reports[name] = (int(work), int(ms))
    return reports


def window(console, tries=3):
    """Work a second of each workload over one window."""
    before = last_reports(console)
    time.sleep(WINDOW)
    after = last_reports(console)
    if tries > 1 and any(after[name] == before[name] for name in WORKLOADS):
        print(f"# nothing reported for {WINDOW} s: once more", flush=True)
        return window(console, tries - 1)
    rates = {}
    for name in WORKLOADS:
        work, ms = (after[name][i] - before[name][i] for i in (0, 1))
        if not ms:
            sys.exit(f"{name} reported nothing for {WINDOW} s: the machine is too slow")
        rates[name] = 1000 * work / ms
    return rates


class Command:
    """A profiler on the host."""

    def __init__(self, name, words):
        self.name, self.words, self.child, self.said = name, words, None, ""

    def start(self):
        self.child = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True)
        # It looks at the guest first; what that costs is not of this table.
        self.said = self.child.stdout.readline() if self.words[0] == KVMPROF else ""
        time.sleep(7)
        if self.child.poll() is not None:
            sys.exit(f"{' '.join(self.words)} ended:\n{self.said}{self.child.stdout.read()}")

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        return self.said + self.child.communicate()[0]


class InGuest:
    """The guest's own perf, which it starts when it is asked to by a file."""

    def __init__(self, folder, hz):
        self.name, self.folder, self.hz = IN_GUEST, folder, hz

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        with open(self.path("perf"), "w", encoding="ascii") as file:
            file.write(str(self.hz))
        time.sleep(6)	# it has yet to be loaded

    def stop(self):
        os.unlink(self.path("perf"))
        for _ in range(600):
            if os.path.exists(self.path("stopped")):
                break
            time.sleep(0.1)
        else:
            sys.exit("the guest's perf does not end")
        os.unlink(self.path("stopped"))
        with open(self.path("said"), errors="replace") as file:
            return file.read()


def profilers(pid, folder, hz):
    record = [KVMPROF, "record", "-p", str(pid), "-F", str(hz), "-e", "cpu-clock",
              "-o", "/tmp/cost.data", "--duration", "3600"]
    yield Command("perf kvm record", ["perf", "kvm", "--guest", "record", "-e", "cpu-clock", "-F",
                                      str(hz), "-p", str(pid), "-o", "/tmp/perf.cost"])
    for mode in ("deferred", "ptrace") if INTEL else ("inline", "deferred", "ptrace"):
        yield Command(mode, record + ["--capture", mode])
    if not INTEL:
        yield InGuest(folder, hz)


def profiled_window(console, profiler):
    """A window with a profiler running, and what it said at its end."""
    profiler.start()
    rates = window(console)
    return rates, profiler.stop()


def measure(console, profiler, rounds):
    """Median share of the work that was left, for each workload, and the profiler's last words."""
    shares = {name: [] for name in WORKLOADS}
    before, said = window(console), ""
    for _ in range(rounds):
        during, said = profiled_window(console, profiler)
        after = window(console)
        for name in WORKLOADS:
            shares[name].append(during[name] / ((before[name] + after[name]) / 2))
        before = after
    return {name: statistics.median(values) for name, values in shares.items()}, said


def samples(said):
    match = re.search(r"= (\d+) samples", said) or re.search(r"\((\d+) samples\)", said)
    return match[1] if match else "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("rates", nargs="*", type=int, default=[99, 997, 4999], metavar="HZ")
    arguments = parser.parse_args()
    with open("/run/cost-script", "w", encoding="ascii") as file:
        file.write(GUEST_SCRIPT)
    guest = ["--wait", "400"] if INTEL else ["--mem", "2G", "--root", "--script", "/run/cost-script"]
    pid = int(lab("start", "cost", "--kernel", "6.1", "--cpus", "1", *guest,
                  *[word for name in WORKLOADS for word in ("--workload", f"{name} --report 1")]))
    folder = lab("dir", "cost").strip()
    console = os.path.join(folder, "console.log")
    time.sleep(3)
    base, said = measure(console, Command("none", ["sleep", "3600"]), arguments.rounds)
    print(f"{'profiler':20} {'Hz':>5} " + " ".join(f"{name:>14}" for name in WORKLOADS) + "  samples")
    print(f"{'none':20} {'-':>5} " + " ".join(f"{base[name]:14.3f}" for name in WORKLOADS), flush=True)
    for hz in arguments.rates:
        for profiler in profilers(pid, os.path.join(folder, "out"), hz):
            shares, said = measure(console, profiler, arguments.rounds)
            print(f"{profiler.name:20} {hz:5} " +
                  " ".join(f"{shares[w]:14.3f}" for w in WORKLOADS) + f"  {samples(said)}", flush=True)
    lab("stop", "cost")


if __name__ == "__main__":
    main()
