#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""compare.py NAME ROUNDS COMMAND… -- PEER…: a command against another that does the same.

Runs the two by turns in one go, output to /dev/null, and prints for each the median of time by the
clock, of CPU time and of peak memory, then the ratios peer : command. Exit status 1 when one fails.
"""
import os
import statistics
import sys
import time


def run(words):
    """Seconds by the clock, seconds of CPU, peak memory in MB."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        try:
            os.execvp(words[0], words)
        except OSError:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(words)}: failed, status {status:#x}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def medians(runs):
    return [statistics.median(column) for column in zip(*runs)]


def main():
    name, rounds = sys.argv[1], int(sys.argv[2])
    split = sys.argv.index("--")
    commands = (sys.argv[3:split], sys.argv[split + 1:])
    runs = ([], [])
    for words in commands:
        run(words)	# the file gets into the page cache, and the programs too
    for _ in range(rounds):
        for words, measured in zip(commands, runs):
            measured.append(run(words))
    ours, peers = medians(runs[0]), medians(runs[1])
    print(f"{name}: {rounds} rounds by turns, medians")
    for words, (clock, cpu, memory) in zip(commands, (ours, peers)):
        print(f"  {os.path.basename(words[0]):8} {clock:7.3f} s {cpu:7.3f} s CPU {memory:7.1f} MB")
    clock, cpu, memory = (peer / our for peer, our in zip(peers, ours))
    print(f"  faster by {clock:.1f} ({cpu:.1f} in CPU time), with 1/{memory:.1f} of the memory")


main()
