# SPDX-License-Identifier: GPL-2.0-only
"""The kernels that the lab has fetched, as the ELF files inside their vmlinuz."""

import glob
import lzma
import os
import re
import struct
import subprocess

XZ, ZSTD = b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"


def cached_kernels():
    """(release, path of vmlinuz) of what the lab has of $VMLINUX_KERNELS; may be empty."""
    found = []
    for kernel in os.environ.get("VMLINUX_KERNELS", "6.1 6.12").split():
        folder = os.path.join(glob.escape(os.environ["KVMPROF_LAB_CACHE"]), "kernels", kernel)
        found += sorted(glob.glob(os.path.join(folder, "boot/vmlinuz-*")))
    return [(path.rsplit("vmlinuz-", 1)[1], path) for path in found]


def _decompress(magic, data):
    try:
        if magic == XZ:
            return lzma.LZMADecompressor().decompress(data)
        return subprocess.run(["zstd", "-dc"], input=data, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout
    except lzma.LZMAError:
        return b""


def extract(path):
    """The ELF image in a bzImage that is compressed as Debian's are; None when there is none."""
    with open(path, "rb") as file:
        image = file.read()
    for magic in (XZ, ZSTD):
        for match in re.finditer(re.escape(magic), image):
            elf = _decompress(magic, image[match.start():])
            if elf.startswith(b"\x7fELF"):
                return elf
    return None


def sections(elf):
    """Name → (address, bytes) of a 64-bit little-endian ELF file's sections that have bytes."""
    offset, = struct.unpack_from("<Q", elf, 0x28)
    size, number, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(number)]
    strings = headers[names][4]
    result = {}
    for name, kind, _flags, address, where, length in headers:
        end = elf.index(b"\0", strings + name)
        if kind != 8:  # SHT_NOBITS
            result[elf[strings + name:end].decode()] = (address, elf[where:where + length])
    return result
