"""Checks that the compiler rejects closures that race, for every operator of closures.txt.

Usage: python3 racing.py <folder of Pledge.swiftmodule>
"""
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))

# The closure's actions, and the function that contains it.
WRITTEN = [
    ("model.count += 1", "func race{}(_ model: Model) async throws {{\n  {}\n}}"),
    ("sum += 1", "func race{}() async throws {{\n  var sum = 0\n  {}\n  sum += 1\n  print(sum)\n}}"),
    ('title = "?"', "func race{}() async throws {{\n  {}\n}}"),
]
ELSEWHERE = [
    ("model.count += 1", "@MainActor func race{}(_ model: Model) {{\n  {}\n}}"),
    ('title = "?"', "@MainActor func race{}() {{\n  {}\n}}"),
    ("self.count += 1", "actor Actor{0} {{ var count = 0\n  func race() {{\n  {1}\n}} }}"),
]
VALUES = [("a value", "func race{}() {{\n  {}\n}}")]

functions = []
contexts = []
for line in open(os.path.join(here, "closures.txt")).read().splitlines():
    if line.startswith("# where"):
        contexts = WRITTEN
    elif line.startswith("# on"):
        contexts = WRITTEN[:2] + ELSEWHERE
    elif line.startswith("# values"):
        contexts = VALUES
    elif line and not line.startswith("#"):
        for statement, function in contexts:
            if function.startswith("@MainActor") and "{ @MainActor" in line:
                continue  # Both are on the main actor.
            call = "_ = " + line.replace("RACE", statement)
            functions.append((line, statement, function.format(len(functions), call)))

# Another kind of error would hide that the compiler accepts the race.
ABOUT_RACES = re.compile(
    r"isolated|concurrently-executing|Sendable|data race|sending")


def compile(chosen, *options):
    """The messages about each of the chosen functions."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "Races.swift")
        source = "import Dispatch\nimport Pledge\n"
        owner_of_line = {}
        for index in chosen:
            first = source.count("\n") + 1
            source += functions[index][2] + "\n"
            owner_of_line.update((line, index) for line in range(first, source.count("\n") + 1))
        with open(path, "w") as file:
            file.write(source)
        output = subprocess.run(
            ["swiftc", *options, "-swift-version", "6", "-parse-as-library", "-I", sys.argv[1],
             path, os.path.join(here, "Declarations.swift")],
            capture_output=True, text=True).stderr
    messages = {index: [] for index in chosen}
    for line, message in re.findall(r"^\S*Races\.swift:(\d+):\d+: error: (.*)$", output, re.M):
        messages[owner_of_line[int(line)]].append(message)
    return messages


messages = compile(range(len(functions)), "-typecheck")
# Values that are sent to another isolation are checked later, in code without other errors.
accepted = [index for index in messages if not messages[index]]
messages.update(compile(accepted, "-emit-sil", "-wmo", "-o", os.devnull))
failures = 0
for index, (call, statement, _) in enumerate(functions):
    strange = [m for m in messages[index] if not ABOUT_RACES.search(m)]
    if not messages[index] or strange:
        failures += 1
        print(f"error: {call} with {statement}: {strange or 'accepted'}", file=sys.stderr)
print(f"Races: {len(functions) - failures} of {len(functions)} are rejected")
sys.exit(1 if failures else 0)
