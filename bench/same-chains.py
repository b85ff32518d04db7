#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""same-chains.py OURS PERFS: how many of the second's "script -F ip" chains are in the first.

Where a copy ends perf has a frame at -1 more, which is left out. Exit status 1 when fewer than 99
per cent are, or there are no chains of more than one frame.
"""
import sys
from collections import Counter

CUT = "f" * 16


def chains(path):
    with open(path, encoding="utf-8") as file:
        parts = (tuple(part.split()) for part in file.read().split("\n\n"))
    parts = (part[:-1] if part[-1:] == (CUT,) else part for part in parts)
    return Counter(part for part in parts if part)


def main():
    ours, perfs = (chains(path) for path in sys.argv[1:3])
    nr, frames = perfs.total(), sum(len(chain) * times for chain, times in perfs.items())
    same = (ours & perfs).total()
    print(f"  {nr} chains of perf's, {frames / max(nr, 1):.1f} frames, {100 * same / max(nr, 1):.2f} % "
          f"of them the same here; {ours.total()} here")
    for chain in list(perfs - ours)[:2]:
        print("  only perf's:", *chain)
    for chain in list(ours - perfs)[:2]:
        print("  only here:  ", *chain)
    return frames <= nr or same < 0.99 * nr


if __name__ == "__main__":
    sys.exit(main())
