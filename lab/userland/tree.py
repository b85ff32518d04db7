# SPDX-License-Identifier: GPL-2.0-only
"""A Python program: frames of the interpreter, sorting and regular expressions in C."""
import re


def leaf(count):
    total = 0
    for i in range(count):
        total += i * i
    return total


def middle(text):
    leaf(2000)
    return sorted(re.findall(r"[a-z]+\d", text), key=lambda word: word[::-1])


def main():
    text = " ".join(f"word{i % 10} other" for i in range(500))
    print("started", flush=True)
    while True:
        middle(text)


main()
