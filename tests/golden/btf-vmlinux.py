# SPDX-License-Identifier: GPL-2.0-only
"""Members of structs of the lab's kernels: kvmprof's reading of BTF against bpftool's."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests/lib"))
from vmlinux import cached_kernels, extract, sections  # pylint: disable=wrong-import-position

# What kvmprof reads, and every so many of all the others.
WANTED = {"task_struct", "module", "mod_kallsyms", "pcpu_hot", "mm_struct", "vm_area_struct",
          "maple_range_64", "maple_arange_64", "file", "backing_file", "path", "dentry", "mount",
          "inode", "super_block", "address_space", "xa_node", "page", "bpf_ksym",
          "ftrace_ops", "kprobe_insn_cache", "kprobe_insn_page"}
STEP = 7
ALIASES = {"TYPEDEF", "CONST", "VOLATILE", "RESTRICT", "TYPE_TAG"}


class Types:
    def __init__(self, path):
        dump = subprocess.run(["bpftool", "-j", "btf", "dump", "file", path], check=True,
                              stdout=subprocess.PIPE).stdout
        self.types = {t["id"]: t for t in json.loads(dump)["types"]}

    def resolve(self, number):
        while self.types[number]["kind"] in ALIASES:
            number = self.types[number]["type_id"]
        return self.types[number]

    def members(self, struct, base=0):
        """(name, bit offset, bit width) in the order of a search, anonymous structs opened."""
        for member in struct.get("members", ()):
            offset = base + member["bits_offset"]
            if member["name"] != "(anon)":
                yield member["name"], offset, member.get("bitfield_size", 0)
            elif member["type_id"]:
                inner = self.resolve(member["type_id"])
                if inner["kind"] in ("STRUCT", "UNION"):
                    yield from self.members(inner, offset)

    def queries(self):
        """("STRUCT MEMBER", expected answer)"""
        seen = set()
        for struct in self.types.values():
            name = struct["name"]
            if struct["kind"] != "STRUCT" or name == "(anon)" or name in seen:
                continue
            seen.add(name)
            if name not in WANTED and len(seen) % STEP:
                continue
            first = {}
            for member, offset, width in self.members(struct):
                first.setdefault(member, (offset, width))
            for member, (offset, width) in first.items():
                yield f"{name} {member}", f"{struct['size']} {offset} {width}"


def check(number, release, vmlinux):
    path = os.path.join(os.environ["TMPDIR"], "btf")
    with open(path, "wb") as file:
        file.write(sections(extract(vmlinux))[".BTF"][1])
    queries = list(Types(path).queries())
    run = subprocess.run([os.path.join(os.environ["BUILD"], "tests/btf-members"), path], check=True,
                         input="".join(query + "\n" for query, _ in queries),
                         stdout=subprocess.PIPE, text=True)
    answers = run.stdout.splitlines()
    wrong = [(query, want, got) for (query, want), got in zip(queries, answers) if want != got]
    failed = wrong or len(answers) != len(queries) or len(queries) < 1000
    print(f"{'not ok' if failed else 'ok'} {number} - {release}: {len(queries)} members")
    for query, want, got in wrong[:20]:
        print(f"# {query}: wanted {want}, got {got}")
    return not failed


def main():
    kernels = cached_kernels()
    if not kernels:
        print("1..0 # SKIP no kernels (run lab/lab fetch)")
        return 0
    good = [check(i + 1, *kernel) for i, kernel in enumerate(kernels)]
    print(f"1..{len(kernels)}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
