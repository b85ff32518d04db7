# SPDX-License-Identifier: GPL-2.0-only
"""Every entry of the ORC tables of the lab's kernels: kvmprof's reading against a plain one.

The reader here knows nothing of kvmprof's: it goes by the bit-fields of struct orc_entry and finds
entries with bisect. Asked for are each entry's first and last address.
"""

import bisect
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests/lib"))
from vmlinux import cached_kernels, extract, sections  # pylint: disable=wrong-import-position

FORMAT_END, FORMAT_SIGNAL, FORMAT_TYPES, FORMAT_REORDERED = 1, 2, 3, 4
REGS = ("undefined", "prev", "dx", "di", "bp", "sp", "r10", "r13", "*bp", "*sp", "ax")
REORDERED = ("undefined", "ax", "dx", "sp", "bp", "di", "r10", "r13", "prev", "*sp", "*bp")


def format_of(release):
    version = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", release).groups())
    changes = [(6, 3), (6, 4), (7, 1)]
    return (FORMAT_END, FORMAT_SIGNAL, FORMAT_TYPES, FORMAT_REORDERED)[
        bisect.bisect_right(changes, version)]


def kind_of(entry_format, flags):
    """(kind, signal) from the bits above sp_reg and bp_reg."""
    if entry_format >= FORMAT_TYPES:
        names = ("undefined", "end", "call", "regs", "partial")
        return names[flags >> 8 & 7], bool(flags >> 11 & 1)
    end = flags >> (11 if entry_format == FORMAT_SIGNAL else 10) & 1
    if flags & 15 == 0:
        return ("end" if end else "undefined"), False
    kind = ("call", "regs", "partial")[flags >> 8 & 3]
    signal = flags >> 10 & 1 if entry_format == FORMAT_SIGNAL else kind != "call"
    return kind, bool(signal)


def words(entry_format, entry):
    sp_offset, bp_offset, flags = entry
    kind, signal = kind_of(entry_format, flags)
    if kind in ("undefined", "end"):
        return kind
    names = REORDERED if entry_format == FORMAT_REORDERED else REGS
    sp_reg, bp_reg = names[flags & 15], names[flags >> 4 & 15]
    cfa = {"*sp": f"(sp+0){sp_offset:+d}", "*bp": f"(bp{sp_offset:+d})+0"}.get(
        sp_reg, f"{sp_reg}{sp_offset:+d}")
    saved = {"undefined": "same", "prev": f"(cfa{bp_offset:+d})",
             "bp": f"(bp{bp_offset:+d})"}[bp_reg]
    where = {"call": -8, "regs": 128, "partial": 0}[kind]
    return f"{kind}{' signal' if signal else ''} cfa:{cfa} bp:{saved} ip:(cfa{where:+d})"


class Tables:
    def __init__(self, release, elf):
        found = sections(elf)
        self.base, self.ip_bytes = found[".orc_unwind_ip"]
        _, self.entry_bytes = found[".orc_unwind"]
        self.format = format_of(release)
        self.ips = [self.base + 4 * i + relative & 2**64 - 1
                    for i, (relative,) in enumerate(struct.iter_unpack("<i", self.ip_bytes))]
        self.entries = list(struct.iter_unpack("<hhH", self.entry_bytes))

    def queries(self):
        for ip, following in zip(self.ips, self.ips[1:] + [self.ips[-1] + 1]):
            yield ip
            yield max(ip, following - 1)

    def expected(self):
        for pc in self.queries():
            yield words(self.format, self.entries[bisect.bisect_right(self.ips, pc) - 1])

    def answers(self):
        paths = [os.path.join(os.environ["TMPDIR"], name) for name in ("ip", "entries")]
        for path, data in zip(paths, (self.ip_bytes, self.entry_bytes)):
            with open(path, "wb") as file:
                file.write(data)
        command = [os.path.join(os.environ["BUILD"], "tests/orc-rows"), str(self.format),
                   hex(self.base), *paths]
        text = "".join(f"{pc:x}\n" for pc in self.queries())
        return subprocess.run(command, input=text, capture_output=True, text=True,
                              check=True).stdout.splitlines()


def compare(nr, release, path):
    elf = extract(path)
    if elf is None:
        print(f"ok {nr} - {release} # SKIP cannot unpack {path}")
        return True
    tables = Tables(release, elf)
    expected, answers = list(tables.expected()), tables.answers()
    wrong = [(pc, e, a) for pc, e, a in zip(tables.queries(), expected, answers) if e != a]
    good = not wrong and len(expected) == len(answers) and len(tables.ips) == len(tables.entries)
    print(f"{'' if good else 'not '}ok {nr} - {release}: {len(tables.entries)} entries agree")
    for pc, want, got in wrong[:10]:
        print(f"# {pc:#x}: {want}, not {got}")
    return good


def main():
    kernels = cached_kernels()
    if not kernels:
        print("1..0 # SKIP the lab has fetched no kernel")
        return 0
    print(f"1..{len(kernels)}")
    results = [compare(nr, *kernel) for nr, kernel in enumerate(kernels, 1)]
    return 0 if all(results) else 1


sys.exit(main())
