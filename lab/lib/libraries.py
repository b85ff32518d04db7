#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The shared libraries that programs load, as ldd tells them, but of hundreds of programs at once.

Reads paths from standard input, a line each; what is no ELF file is passed over. Prints the path that
the loader finds each library by, and the file that this leads to.
"""
import os
import re
import subprocess
import sys

FILE = re.compile(r"^File: (.*)$")
NEEDED = re.compile(r"\(NEEDED\)\s+Shared library: \[(.*)\]")
RUNPATH = re.compile(r"\((?:RUNPATH|RPATH)\)\s+Library (?:runpath|rpath): \[(.*)\]")
CACHED = re.compile(r"^\t(\S+) \(libc6,x86-64[^)]*\) => (\S+)$", re.M)


def loader_cache():
    """From names to paths; the first of a name is what the loader takes."""
    out = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    paths = {}
    for name, path in CACHED.findall(out):
        paths.setdefault(name, path)
    return paths


def needed(files):
    """(file, name, folders to look in first) of each library that one of @files asks for."""
    # One file alone is not named in the output.
    out = subprocess.run(["readelf", "-dW", "/bin/true", *files], check=False, capture_output=True,
                         text=True, errors="replace").stdout
    file, names, folders = None, [], []
    for line in out.splitlines() + ["File: "]:
        match = FILE.match(line)
        if match:
            yield from ((name, folders) for name in names)
            file, names, folders = match[1], [], []
            continue
        match = NEEDED.search(line)
        if match:
            names.append(match[1])
        match = RUNPATH.search(line)
        if match:
            folders = match[1].replace("$ORIGIN", os.path.dirname(file)).split(":")


def is_elf(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def main():
    cache, seen = loader_cache(), set()
    batch = [path for path in sys.stdin.read().splitlines() if is_elf(path)]
    while batch:
        found = set()
        for name, folders in needed(batch):
            places = [os.path.join(folder, name) for folder in folders]
            path = next(filter(os.path.exists, places), cache.get(name))
            if path and path not in seen:
                found.add(path)
        seen |= found
        batch = sorted(found)
    for path in sorted(seen | {os.path.realpath(path) for path in seen}):
        print(path)


if __name__ == "__main__":
    main()
