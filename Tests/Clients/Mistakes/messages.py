#!/usr/bin/env python3
"""Compiles each mistake of mistakes.txt and compares the compiler's messages.

Usage: messages.py <folder of Pledge.swiftmodule>. With --print, prints the messages only.
"""
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
modules = sys.argv[1]
only_print = "--print" in sys.argv


def blocks():
    name, statements, expected = None, [], []
    for line in open(os.path.join(here, "mistakes.txt")).read().splitlines() + ["## "]:
        if line.startswith("## "):
            if name:
                yield name, statements, expected
            name, statements, expected = line[3:], [], []
        elif line.startswith("=> "):
            expected.append(line[3:])
        elif name and line.strip():
            statements.append(line)


failures = 0
count = 0
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "Mistake.swift")
    for name, statements, expected in blocks():
        count += 1
        with open(path, "w") as file:
            file.write("import Dispatch\nimport Pledge\n\nfunc mistake() {\n")
            file.writelines("  " + line + "\n" for line in statements)
            file.write("}\n")
        output = subprocess.run(
            # Not `-typecheck`: a missing `return` is found later.
            ["swiftc", "-emit-sil", "-wmo", "-o", os.devnull, "-swift-version", "6", "-parse-as-library", "-I", modules,
             path, os.path.join(here, "Declarations.swift")],
            capture_output=True, text=True).stderr
        messages = list(dict.fromkeys(re.findall(r"^\S*Mistake\.swift:\d+:\d+: (.*)$", output, re.M)))
        messages = [m for m in messages if not m.startswith("note:")]
        if only_print:
            print(f"## {name}")
            for message in messages:
                print("   ", message)
            continue
        problems = [f"missing: {text}" for text in expected
                    if not any(text in message for message in messages)]
        problems += [f"unexpected: {message}" for message in messages
                     if message.startswith("error") and not any(t in message for t in expected)]
        if problems or not messages:
            failures += 1
            print(f"error: {name}", *(problems or ["no message"]), sep="\n  ", file=sys.stderr)
            for message in messages:
                print("  got:", message, file=sys.stderr)
print(f"Mistakes: {count - failures} of {count} have their messages")
sys.exit(1 if failures else 0)
