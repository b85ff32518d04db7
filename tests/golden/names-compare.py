#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""names-compare.py PERFS OURS NAMED WRONG [STUBS]: two tools' "script -F comm,ip,sym,symoff,dso".

At least NAMED per cent of the addresses that the first has names for have the same in the second;
at most WRONG per cent have another, or one where the first has none. Names of the linker's stubs
are right when STUBS has them, "ADDRESS <NAME@plt>:" lines of objdump, which for functions that are
chosen at run time has <*ABS*+0xCHOOSER@plt> only, and "CHOOSER i NAME" lines of nm: perf 6.1 lets
_init reach over the first of them, has none in objects that are stripped of everything else, and
mistakes them where some are of functions that are chosen at run time.
"""

import re
import sys

NONE = "[unknown]"
FIXED = 0x400000  # where programs are that cannot be moved


def frames(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.strip() for line in file if line[0] in " \t"]


def read_stubs(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    stubs, chosen = set(), {}
    for at, name in re.findall(r"^([0-9a-f]+) i ([^@\n]+)", text, re.M):
        chosen.setdefault(int(at, 16), []).append(name)
    for at, name in re.findall(r"^([0-9a-f]+) <([^@>\n]*?)(?:\(.*\)[ const]*)?(?:@.*)?>:", text, re.M):
        chooser = re.match(r"\*ABS\*\+0x([0-9a-f]+)", name)
        names = chosen.get(int(chooser[1], 16), [""]) if chooser else [name]
        stubs.update((int(at, 16), each) for each in names)
    return stubs


def is_stub(line, stubs):
    match = re.match(r"([0-9a-f]+) ([^@]*)@plt\+0x([0-9a-f]+) ", line)
    start = match and int(match[1], 16) - int(match[3], 16)
    return match and ((start, match[2]) in stubs or (start + FIXED, match[2]) in stubs)


def main():
    perfs, ours = frames(sys.argv[1]), frames(sys.argv[2])
    stubs = read_stubs(sys.argv[5]) if sys.argv[5:] else set()
    pairs = [(a, b) for a, b in zip(perfs, ours) if not is_stub(b, stubs)]
    named = sum(NONE not in a for a, b in pairs)
    same = sum(a == b and NONE not in a for a, b in pairs)
    wrong = [(a, b) for a, b in pairs if a != b and NONE not in b]
    missing = [(a, b) for a, b in pairs if a != b and NONE in b]
    print(f"{len(perfs)} addresses, {len(perfs) - len(pairs)} of known stubs; of the others perf "
          f"names {named}, {same} alike, {len(wrong)} otherwise, {len(missing)} not at all")
    for a, b in (wrong + missing)[:5]:
        print(f"perf: {a[:200]}\nours: {b[:200]}")
    return not (perfs and len(perfs) == len(ours) and same * 100 >= named * float(sys.argv[3])
                and len(wrong) * 100 <= len(perfs) * float(sys.argv[4]))


if __name__ == "__main__":
    sys.exit(main())
