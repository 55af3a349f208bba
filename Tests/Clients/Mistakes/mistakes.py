"""Compiles each mistake of mistakes.txt and compares the compiler's messages.

Usage: python3 mistakes.py <folder of Pledge.swiftmodule>. With --print, prints the messages only.
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
modules = sys.argv[1]
only_print = "--print" in sys.argv

MODES = {
    "Swift 6": ["-swift-version", "6"],
    "Swift 5": ["-swift-version", "5"],
    "main actor": ["-swift-version", "6", "-default-isolation", "MainActor"],
}

# Where an expression for a promise of a number can stand.
POSITIONS = {
    "alone": "func mistake() {{\n{}.ignoreErrors()\n}}",
    "before a member": 'func mistake() {{\n{}.done {{ a in log("\\(a.magnitude)") }}.ignoreErrors()\n}}',
    "in the middle": 'func mistake() {{\n{}.map {{ a in "\\(a)" }}.done {{ log($0) }}.ignoreErrors()\n}}',
    "before print": "func mistake() {{\n{}.done {{ print($0) }}.catch {{ print($0) }}\n}}",
    "returned": "func mistake() -> Promise<Int> {{\nreturn {}\n}}",
    "assigned": "func mistake() {{\nlet promise: Promise<Int> = {}\npromise.ignoreErrors()\n}}",
    "awaited": "func mistake() async throws -> Int {{\ntry await {}.value\n}}",
}


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


def messages(source, mode):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "Mistake.swift")
        with open(path, "w") as file:
            file.write("import Dispatch\nimport Pledge\n\n" + source + "\n")
        output = subprocess.run(
            # Not `-typecheck`, because a missing `return` is diagnosed later.
            ["swiftc", "-emit-sil", "-wmo", "-o", os.devnull, *MODES[mode], "-parse-as-library",
             "-I", modules, path, os.path.join(here, "Declarations.swift")],
            capture_output=True, text=True).stderr
    found = dict.fromkeys(re.findall(r"^\S*Mistake\.swift:\d+:\d+: (.*)$", output, re.M))
    return [message for message in found if not message.startswith("note:")]


def tries(name, statements):
    """The places in which to compile a mistake: a name, the source, and the mode of each."""
    text = "\n".join(statements)
    if not name.startswith("[everywhere]"):
        return [("", "func mistake() {\n" + text + "\n}", "Swift 6")]
    return [(f"{mode}, {position}", source.format(text), mode)
            for mode in MODES for position, source in POSITIONS.items()]


def problems(name, found, expected):
    if name.startswith("[everywhere]"):
        # Any of the messages answers the mistake, but nothing else may be said.
        errors = [message for message in found if message.startswith("error")]
        missing = [] if any(t in m for m in errors for t in expected) else expected
    else:
        missing = [text for text in expected if not any(text in message for message in found)]
    result = [f"missing: {text}" for text in missing]
    result += [f"unexpected: {message}" for message in found
               if message.startswith("error") and not any(t in message for t in expected)]
    return result if found else ["no message"]


jobs = [(name, place, source, mode, expected)
        for name, statements, expected in blocks()
        for place, source, mode in tries(name, statements)]
failures = 0
with ThreadPoolExecutor(os.cpu_count()) as pool:
    for (name, place, _, _, expected), found in zip(
            jobs, pool.map(lambda job: messages(job[2], job[3]), jobs)):
        if only_print:
            print(f"## {name} {place}", *found, sep="\n    ")
            continue
        wrong = problems(name, found, expected)
        if wrong:
            failures += 1
            print(f"error: {name} ({place})", *wrong, *(f"got: {m}" for m in found),
                  sep="\n  ", file=sys.stderr)
print(f"Mistakes: {len(jobs) - failures} of {len(jobs)} have their messages")
sys.exit(1 if failures else 0)
