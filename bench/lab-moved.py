#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Deferred capture against the exits that the kernel traces: did the guest move before it was seen?

Runs inside a lab host (see bench/run). `perf record -e kvm:kvm_exit` tells each exit's instruction
pointer while kvmprof records; of each sample, the exit before its event is the one that the event's
interrupt made. What kvmprof itself marks as moved is told beside. Counts exits as well, with and
without a recorder. Environment: KVMPROF_BUILD.
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
SAMPLE = re.compile(r"^\S.*\s(\d+\.\d+):.*\[stop: ([^]]*)\]")
FRAME = re.compile(r"^\s+([0-9a-f]+)\b")
PERF_STARTS = 10	# seconds, where a processor is emulated by one that is interpreted
COUNT = re.compile(r"^\s*([\d,]+)\s+(kvm:\S+)", re.M)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def count_exits(pid, seconds):
    """Exits of the guest, and of KVM to user space, a second."""
    said = subprocess.run(["perf", "stat", "-e", "kvm:kvm_exit,kvm:kvm_userspace_exit", "-p", pid, "--",
                           "sleep", str(seconds)], check=True, capture_output=True, text=True).stderr
    return {name: int(nr.replace(",", "")) / seconds for nr, name in COUNT.findall(said)}


def start(*words):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def start_recorder(pid, hz, out, seconds):
    """Once it has said that it records."""
    child = start(KVMPROF, "record", "-p", pid, "--capture", "deferred", "-F", str(hz), "-o", out,
                  "--duration", str(seconds))
    print(child.stdout.readline().strip(), flush=True)
    return child


def stop(child):
    child.send_signal(signal.SIGINT)
    return child.communicate()[0]


def read_exits(path):
    """(time, reason, rip) in the order of time."""
    out = run("perf", "script", "-i", path, "-F", "time,event,trace", "--ns")
    return sorted((float(m[1]), m[2], int(m[3], 16)) for m in map(EXIT.match, out.splitlines()) if m)


def read_samples(path):
    """(time, rip, marked as moved)"""
    out = run(KVMPROF, "script", "-i", path, "-F", "comm,tid,time,event,ip,+stop", "--ns")
    samples, head = [], None
    for line in out.splitlines():
        match, frame = SAMPLE.match(line), FRAME.match(line)
        if match:
            head = (float(match[1]), "moved" in match[2])
        elif frame and head:
            samples.append((head[0], int(frame[1], 16), head[1]))
            head = None
    return samples


def same_place(rip, ip):
    """Of user code the recording's reader prints where it is in its file: the same within a page."""
    return rip == ip or (max(rip, ip) < 1 << 47 and rip % 4096 == ip % 4096)


def compare(exits, samples):
    """Samples by where they stand, how they are marked, and the exit before them."""
    times, found = [e[0] for e in exits], collections.Counter()
    for when, ip, marked in samples:
        i = bisect.bisect_right(times, when) - 1
        place = "without an exit" if i < 0 else "there" if same_place(exits[i][2], ip) else "elsewhere"
        found[place, "marked" if marked else "", exits[i][1] if i >= 0 else ""] += 1
    return found


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
    child = start_recorder(pid, arguments.hz, "/tmp/rate.data", 3600)
    print(f"recorder at {arguments.hz} Hz:", count_exits(pid, 5), flush=True)
    print(stop(child).strip())
    trace = start("perf", "record", "-k", "mono", "-e", "kvm:kvm_exit", "-p", pid, "-o", "/tmp/exits",
                  "--", "sleep", "3600")
    time.sleep(PERF_STARTS)
    print(start_recorder(pid, arguments.hz, "/tmp/moved.data", arguments.seconds).communicate()[0])
    stop(trace)
    samples = read_samples("/tmp/moved.data")
    exits = read_exits("/tmp/exits")
    if not samples or not exits:
        sys.exit(f"{len(samples)} samples and {len(exits)} exits were read: nothing to compare")
    found = compare(exits, samples)
    print(f"{len(samples)} samples, by where their exit was, the recorder's mark, and the exit:")
    for (place, marked, reason), nr in found.most_common():
        print(f"  {nr:6} {place:16} {marked:7} {reason}")
    run(LAB, "guest", "stop", "moved")


if __name__ == "__main__":
    sys.exit(main())
