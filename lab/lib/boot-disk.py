#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A disk that boots an unpacked x86-64 kernel by its PVH entry, with intel-loader.S in front.

The command line, ended by a zero byte, is to be written into the fourth sector and the two after it.
Usage: boot-disk.py LOADER VMLINUX INITRD OUT
"""
import struct
import sys

SECTOR = 512
PARAMS = 512		# where the loader has them
MODULES = PARAMS + 32
INITRD_ADDRESS = 256 << 20	# far above the kernel and what it takes at first
PT_LOAD, PT_NOTE = 1, 4
NOTE_PHYS32_ENTRY = 18	# XEN_ELFNOTE_PHYS32_ENTRY


def segments(elf):
    """(type, offset in the file, physical address, size in the file) of each program header."""
    offset, = struct.unpack_from("<Q", elf, 32)
    size, number = struct.unpack_from("<HH", elf, 54)
    for i in range(number):
        kind, _, start, _, address, length = struct.unpack_from("<IIQQQQ", elf, offset + i * size)
        yield kind, start, address, length


def pvh_entry(elf):
    for kind, start, _, length in segments(elf):
        end = start + length
        while kind == PT_NOTE and start + 12 <= end:
            name, size, note = struct.unpack_from("<III", elf, start)
            value = start + 12 + (name + 3 & ~3)
            if note == NOTE_PHYS32_ENTRY and elf[start + 12:start + 16] == b"Xen\0":
                return int.from_bytes(elf[value:value + min(size, 8)], "little")
            start = value + (size + 3 & ~3)
    sys.exit("boot-disk.py: the kernel has no PVH entry")


def flatten(elf):
    """The kernel as it lies in memory, and its address; zeros at its end are left out."""
    loads = [(address, start, length) for kind, start, address, length in segments(elf)
             if kind == PT_LOAD]
    base = min(loads)[0]
    memory = bytearray(max(address + length for address, _, length in loads) - base)
    for address, start, length in loads:
        memory[address - base:address - base + length] = elf[start:start + length]
    return bytes(memory).rstrip(b"\0"), base


def padded(data):
    return data + bytes(-len(data) % SECTOR)


def main():
    loader, vmlinux, initrd, out = sys.argv[1:]
    with open(loader, "rb") as file:
        loader = bytearray(file.read())
    with open(vmlinux, "rb") as file:
        elf = file.read()
    with open(initrd, "rb") as file:
        initrd = file.read()
    kernel, base = flatten(elf)
    first = len(loader) // SECTOR
    sectors = [len(padded(data)) // SECTOR for data in (kernel, initrd)]
    struct.pack_into("<7I", loader, PARAMS, first, sectors[0], base, first + sectors[0], sectors[1],
                     INITRD_ADDRESS, pvh_entry(elf))
    struct.pack_into("<QQ", loader, MODULES, INITRD_ADDRESS, len(initrd))
    with open(out, "wb") as file:
        file.write(loader + padded(kernel) + padded(initrd))
        # Firmware wants whole cylinders, of 16 heads with 63 sectors.
        file.truncate((file.tell() // (1008 * SECTOR) + 2) * 1008 * SECTOR)


if __name__ == "__main__":
    main()
