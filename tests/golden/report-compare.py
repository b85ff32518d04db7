#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""report-compare.py OURS PERFS [WORD…]: whether two reports say the same.

Compared are the header lines, and each entry with its call graph. Of what perf does not define, the
order of entries and of branches that weigh the same, only the weights' order is: entries are
compared as a set, and so are the lines of a call graph that is not the same as it stands. perf
writes " (inlined)" after "[...]" from memory that it did not initialise, and perf 6.1 mistakes some
stubs of the linker's: neither their names count nor how wide these make the last column. What perf
puts behind names of data, the distance of the first address of an entry, is left out. With words
only entries count that have one of them.
"""
import re
import sys
from collections import Counter

ENTRY = re.compile(r"^ +(\d+\.\d\d)%  ")
NOT_COMPARED = ("# To display the perf.data header", "# (")


def read(path):
    header, entries, weights = [], [], []
    with open(path, errors="surrogateescape") as lines:
        for line in lines:
            line = line.rstrip("\n").replace("[...] (inlined)", "[...]")
            line = re.sub(r"\S+@plt", "@plt", line)
            line = re.sub(r"\+0x[0-9a-f]+$", "", line)
            if line == "# Accounting:":
                break
            entry = ENTRY.match(line)
            # A call graph's lines have twelve blanks in front.
            if entry and not line.startswith(" " * 12):
                entries.append([line])
                weights.append(float(entry.group(1)))
            elif line.startswith("#"):
                if not line.startswith(NOT_COMPARED) and line != "#":
                    header.append(line.rstrip(".").rstrip())
            elif entries:
                entries[-1].append(line)
    if weights != sorted(weights, reverse=True) and len(header) < 6:
        sys.exit(f"{path}: entries are not sorted")
    words = sys.argv[3:] or [""]
    return header, ["\n".join(entry).rstrip() for entry in entries
                    if any(word in entry[0] for word in words)]


def loose(entry):
    """The lines in no order, without the verticals, which depend on what comes last."""
    lines = sorted(line.replace("|", " ").rstrip() for line in entry.split("\n"))
    return "\n".join(line for line in lines if line)


def show(what, entries):
    for entry, times in entries.items():
        if times > 0:
            print(f"only {what}:\n{entry}"[:2000])


def main():
    ours, perfs = read(sys.argv[1]), read(sys.argv[2])
    if ours[0] != perfs[0]:
        print("headers differ:", *ours[0], "perf's:", *perfs[0], sep="\n")
        return 1
    left, right = Counter(ours[1]), Counter(perfs[1])
    if left == right:
        return 0
    left, right = (Counter(loose(entry) for entry in side.elements())
                   for side in (left - right, right - left))
    if left == right:
        return 0
    show("ours", left - right)
    show("perf's", right - left)
    return 1


sys.exit(main())
