#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Folds the output of `perf script -F comm,ip,sym,dso`: "command;outermost;…;innermost samples"."""
import os
import re
import sys
from collections import Counter

FRAME = re.compile(r"^\t *[0-9a-f]+ (.*) \((.*)\)$")


def frame_name(symbol, dso):
    if symbol != "[unknown]":
        return symbol.replace(";", ":")
    return "[unknown]" if dso == "[unknown]" else f"[{os.path.basename(dso)}]"


def main():
    chains = Counter()
    for sample in sys.stdin.read().split("\n\n"):
        lines = sample.strip("\n").split("\n")
        if not lines[0]:
            continue
        frames = [frame_name(*FRAME.match(line).groups()) for line in lines[1:]]
        chains[";".join([lines[0].strip().replace(" ", "_")] + frames[::-1])] += 1
    for chain, samples in sorted(chains.items(), key=lambda item: item[0].encode()):
        print(chain, samples)


main()
