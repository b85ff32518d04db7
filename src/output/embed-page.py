#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""embed-page.py HTML CSS JS OUT.c: joins the page of the flame graph and turns it into C.

The page's policy allows exactly this style and this script, by their hashes: whatever else might
get into the page does not run.
"""

import base64
import hashlib
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def policy_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "'sha256-" + base64.b64encode(digest).decode() + "'"


def c_array(name, text):
    data = text.encode()
    lines = [", ".join(f"{byte:d}" for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    return (f"const char {name}[] = {{\n\t" + ",\n\t".join(lines) + "\n};\n"
            f"const size_t {name}_size = sizeof({name});\n")


def main():
    html, style, script = (read(path) for path in sys.argv[1:4])
    for text, end in ((style, "</style"), (script, "</script")):
        if end in text.lower():
            sys.exit(f"embed-page: {end} inside the text")
    for key, value in (("STYLE_HASH", policy_hash(style)), ("SCRIPT_HASH", policy_hash(script)),
                       ("STYLE", style), ("SCRIPT", script)):
        if html.count(f"@{key}@") != 1:
            sys.exit(f"embed-page: @{key}@ must be there once")
        html = html.replace(f"@{key}@", value)
    head, tail = html.split("@PROFILE@")
    with open(sys.argv[4], "w", encoding="utf-8") as file:
        file.write("/* Made by embed-page.py. */\n#include \"output/flamegraph-page.h\"\n\n")
        file.write(c_array("flamegraph_page_head", head))
        file.write(c_array("flamegraph_page_tail", tail))


main()
