#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What profiling costs a guest: its work with a profiler, as a share of its work without, in one run.

Runs inside a lab host (see bench/run). Windows without a profiler lie between the windows with one,
and each is compared with its two neighbours, so that drift of the machine cancels out.
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
WORKLOADS = ("cputree-fp", "syscalls-fp")
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


def window(console):
    """Work a second of each workload over one window."""
    before = last_reports(console)
    time.sleep(WINDOW)
    after = last_reports(console)
    rates = {}
    for name in WORKLOADS:
        work, ms = (after[name][i] - before[name][i] for i in (0, 1))
        if not ms:
            sys.exit(f"{name} reported nothing for {WINDOW} s: the machine is too slow")
        rates[name] = 1000 * work / ms
    return rates


def profilers(pid, hz):
    record = [KVMPROF, "record", "-p", str(pid), "-F", str(hz), "-e", "cpu-clock",
              "-o", "/tmp/cost.data", "--duration", "3600"]
    yield "perf kvm record", ["perf", "kvm", "--guest", "record", "-e", "cpu-clock", "-F", str(hz),
                              "-p", str(pid), "-o", "/tmp/perf.cost"]
    for mode in ("inline", "deferred", "ptrace"):
        yield mode, record + ["--capture", mode]


def profiled_window(console, command):
    """A window with a profiler running, and what it said at its end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        time.sleep(2)	# it looks at the guest first
        if child.poll() is not None:
            sys.exit(f"{' '.join(command)} ended:\n{child.stdout.read()}")
        rates = window(console)
        child.send_signal(signal.SIGINT)
        return rates, child.communicate()[0]


def measure(console, command, rounds):
    """Median share of the work that was left, for each workload, and the profiler's last words."""
    shares = {name: [] for name in WORKLOADS}
    before, said = window(console), ""
    for _ in range(rounds):
        during, said = profiled_window(console, command)
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
    pid = int(lab("start", "cost", "--kernel", "6.1", "--cpus", "1",
                  *[word for name in WORKLOADS for word in ("--workload", f"{name} --report 1")]))
    console = os.path.join(lab("dir", "cost").strip(), "console.log")
    time.sleep(3)
    base, said = measure(console, ["sleep", "3600"], arguments.rounds)
    print(f"{'profiler':18} {'Hz':>5} " + " ".join(f"{name:>14}" for name in WORKLOADS) + "  samples")
    print(f"{'none':18} {'-':>5} " + " ".join(f"{base[name]:14.3f}" for name in WORKLOADS), flush=True)
    for hz in arguments.rates:
        for name, command in profilers(pid, hz):
            shares, said = measure(console, command, arguments.rounds)
            print(f"{name:18} {hz:5} " + " ".join(f"{shares[w]:14.3f}" for w in WORKLOADS) +
                  f"  {samples(said)}", flush=True)
    lab("stop", "cost")


if __name__ == "__main__":
    main()
