#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Send one QMP command to a QEMU and print its answer: qmp.py SOCKET JSON."""
import json
import socket
import sys


def main():
    path, command = sys.argv[1:]
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(30)
    sock.connect(path)
    stream = sock.makefile("rw", encoding="utf-8")
    stream.readline()  # the greeting
    for request in ('{"execute": "qmp_capabilities"}', command):
        stream.write(json.dumps(json.loads(request)) + "\n")
        stream.flush()
        answer = json.loads(stream.readline())
        while "event" in answer:
            answer = json.loads(stream.readline())
    print(json.dumps(answer))
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        sys.exit(f"lab: qmp: {error}")
