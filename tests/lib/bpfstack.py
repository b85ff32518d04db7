#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The deepest stack of each program in a BPF object, as check_max_stack_depth() of Linux 6.1 counts it:
each function's in steps of 32 bytes, along the calls and callbacks that lead to it. Newer kernels
count less, so that a program which loads on this machine says nothing of those.
Usage: bpfstack.py OBJECT: a line "BYTES CALL>CHAIN" for each function, the deepest first.
"""
import collections
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
SECTION = re.compile(r"^Disassembly of section (.*):$")
INSN = re.compile(r"^\s*([0-9]+):\s+(.*)$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+:\s+R_BPF_64_(?:32|64)\s+(\S+)")
FRAME = re.compile(r"r10 - (\w+)")
TAKE_R10 = re.compile(r"^(r\d) = r10$")
SUBTRACT = re.compile(r"^(r\d) \+= -(\w+)$")


class Objects:
    def __init__(self, path):
        self.frames, self.calls, self.places = {}, collections.defaultdict(set), {}
        out = subprocess.run(["llvm-objdump", "-dr", "--no-show-raw-insn", path], check=True,
                             capture_output=True, text=True).stdout
        self.parse(out.splitlines())

    def parse(self, lines):
        section, name, register, insn, pending = "", "", "", "", []
        for line in lines:
            found = SECTION.match(line) or FUNCTION.match(line)
            if found and found.re is SECTION:
                section = found[1]
            elif found and not found[1].startswith("LBB"):
                name = found[1]
                self.frames[name] = 0
                self.places[section, int(line.split()[0], 16)] = name
            elif RELOCATION.match(line):
                pending.append((name, RELOCATION.match(line)[1].split("+")[0], insn))
            elif INSN.match(line):
                insn = INSN.match(line)[2]
                self.note_frame(name, insn, register)
                register = TAKE_R10.match(insn)[1] if TAKE_R10.match(insn) else ""
        for caller, target, where in pending:
            callee = target if target in self.frames else self.at_offset(target, where)
            if callee:
                self.calls[caller].add(callee)

    def note_frame(self, name, insn, register):
        sizes = [int(size, 0) for size in FRAME.findall(insn)]
        subtract = SUBTRACT.match(insn)
        if subtract and subtract[1] == register:
            sizes.append(int(subtract[2], 0))
        self.frames[name] = max([self.frames[name], *sizes])

    def at_offset(self, section, insn):
        """The function that "r2 = OFFSET ll" or "call N" of @section means, if it is one."""
        number = re.match(r"r\d = (\w+) ll|call (-?\w+)", insn)
        if not number:
            return None
        offset = int(number[1], 0) if number[1] else (int(number[2], 0) + 1) * 8
        return self.places.get((section, offset))

    def deepest(self, name):
        """(bytes, chain)"""
        rest = max((self.deepest(callee) for callee in self.calls[name]), default=(0, ""))
        own = -(-max(self.frames[name], 1) // 32) * 32
        return own + rest[0], name + (">" + rest[1] if rest[1] else "")


def main():
    objects = Objects(sys.argv[1])
    for depth, chain in sorted(map(objects.deepest, objects.frames), reverse=True):
        print(depth, chain)


if __name__ == "__main__":
    main()
