#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Deferred capture against the exits that the kernel traces: did the guest move before it was seen?

Runs inside a lab host (see bench/run). `perf record -e kvm:kvm_exit` tells each exit's instruction
pointer while kvmprof records; of each sample, the exit before its event is the one that the event's
interrupt made. Counts exits as well, with and without a recorder. Environment: KVMPROF_BUILD.
Usage: lab-moved.py [--hz HZ] [--seconds S] [WORKLOAD…]
"""
import argparse
import bisect
import collections
import os
import re
import signal
import subprocess
import sys
import time

SRC = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LAB = os.path.join(SRC, "lab", "lab")
KVMPROF = os.path.join(os.environ["KVMPROF_BUILD"], "src", "cmd", "kvmprof")
EXIT = re.compile(r"^\s*(\d+\.\d+):\s+.*reason (\S+) rip (0x[0-9a-f]+)")
SAMPLE = re.compile(r"^\s*.*?\s+(\d+\.\d+):\s+([0-9a-f]+)\s*$")
COUNT = re.compile(r"^\s*([\d,]+)\s+(kvm:\S+)", re.M)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def count_exits(pid, seconds):
    """Exits of the guest, and of KVM to user space, a second."""
    said = subprocess.run(["perf", "stat", "-e", "kvm:kvm_exit,kvm:kvm_userspace_exit", "-p", pid, "--",
                           "sleep", str(seconds)], check=True, capture_output=True, text=True).stderr
    return {name: int(nr.replace(",", "")) / seconds for nr, name in COUNT.findall(said)}


def start(words, seconds):
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(seconds)
    return child


def stop(child):
    child.send_signal(signal.SIGINT)
    return child.communicate()[0]


def read_exits(path):
    """(time, reason, rip) in the order of time."""
    out = run("perf", "script", "-i", path, "-F", "time,event,trace", "--ns")
    return sorted((float(m[1]), m[2], int(m[3], 16)) for m in map(EXIT.match, out.splitlines()) if m)


def read_samples(path):
    out = run("perf", "script", "-i", path, "-F", "comm,time,ip", "-G", "--ns")
    return [(float(m[1]), int(m[2], 16)) for m in map(SAMPLE.match, out.splitlines()) if m]


def compare(exits, samples):
    """How many samples stand where their exit was; where the others' exits were."""
    times, moved, same, none = [e[0] for e in exits], collections.Counter(), 0, 0
    for when, ip in samples:
        i = bisect.bisect_right(times, when) - 1
        if i < 0:
            none += 1
        elif exits[i][2] == ip:
            same += 1
        else:
            moved[exits[i][1]] += 1
    return same, none, moved


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hz", type=int, default=399)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD",
                        default=["cputree-nofp", "syscalls-nofp"])
    arguments = parser.parse_args()
    pid = run(LAB, "guest", "start", "moved", "--wait", "400",
              *[word for name in arguments.workloads for word in ("--workload", name)]).strip()
    print("no recorder:", count_exits(pid, 5), flush=True)
    child = start([KVMPROF, "record", "-p", pid, "-F", str(arguments.hz), "-o", "/tmp/rate.data",
                   "--duration", "3600"], 15)
    print(f"recorder at {arguments.hz} Hz:", count_exits(pid, 5), flush=True)
    print(stop(child).strip())
    trace = start(["perf", "record", "-k", "mono", "-e", "kvm:kvm_exit", "-p", pid, "-o", "/tmp/exits",
                   "--", "sleep", "3600"], 3)
    print(run(KVMPROF, "record", "-p", pid, "-F", str(arguments.hz), "-o", "/tmp/moved.data",
              "--duration", str(arguments.seconds)).strip())
    stop(trace)
    samples = read_samples("/tmp/moved.data")
    same, none, moved = compare(read_exits("/tmp/exits"), samples)
    print(f"{len(samples)} samples: {same} where their exit was, {sum(moved.values())} elsewhere "
          f"{dict(moved)}, {none} with no exit before them")
    run(LAB, "guest", "stop", "moved")


if __name__ == "__main__":
    sys.exit(main())
