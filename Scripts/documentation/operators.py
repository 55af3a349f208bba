"""Checks that every operator and combinator has one page, which Operators.md lists by its name.

  python3 Scripts/documentation/operators.py

Operators are the public methods and properties of Promise, Guarantee, and Thenable, and the public
functions. Operators.md links each name once, and the page that it links contains the name in its code.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CATALOG = ROOT / "Sources/Pledge/Pledge.docc"

# Declarations for people who write another library's name, or make a mistake: the compiler explains them.
HINTS = ("Mistakes.swift", "OtherNames.swift")

# Not operators: requirements of protocols, properties, and what the drop-in modules need.
OTHERS = {
    "hash", "description", "promise", "id", "isCancelled", "withUnmanagedResolver", "converted"}


def operators():
    for file in sorted((ROOT / "Sources/Pledge").rglob("*.swift")):
        owner = ""
        for line in [] if file.name in HINTS else file.read_text().splitlines():
            if head := re.match(r"(?:public )?(?:final )?(extension|struct|class|enum|protocol|actor) (\w+)", line):
                owner = head[2]
            elif line.startswith("}"):
                owner = ""
            found = re.match(r"(  )?public (?:static )?(?:func|var) `?(\w+)", line)
            if found and (owner in ("Promise", "Guarantee", "Thenable") if found[1] else not owner):
                yield found[2]


def main():
    problems, pages = [], {}
    for number, line in enumerate((CATALOG / "Operators.md").read_text().splitlines(), 1):
        if row := re.match(r"\| \[(.*?)\]\((.*?)\)", line):
            text = (CATALOG / row[2]).read_text()
            for code in re.findall(r"`([^`]*)`", row[1]):
                name = code.split("(")[0]
                # `all(_:concurrently:)` has a page of its own.
                key = code if code.startswith("all(") else name
                if key in pages and not code.startswith("Promise"):
                    problems.append(f"Operators.md:{number}: {key} is listed twice")
                pages[key] = row[2]
                if name not in " ".join(re.findall(r"```swift.*?```|`[^`]+`|^# .*", text, re.S | re.M)):
                    problems.append(f"{row[2]} does not mention {name}")
    known = set(operators()) - OTHERS
    for name in sorted(known - pages.keys()):
        problems.append(f"Operators.md lacks {name}")
    linked = {Path(page).name for page in pages.values()}
    for page in sorted((CATALOG / "Operators").glob("*.md")):
        if page.name not in linked:
            problems.append(f"Operators.md lacks a link to {page.name}")
        for need in ("![", "-success.svg", "-failure.svg", "| | Default |", "| Instead of | Write | Because |", "### Use it with"):
            if need not in page.read_text():
                problems.append(f"{page.name} lacks {need}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"{len(known)} operators, {len(linked)} pages, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
