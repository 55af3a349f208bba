"""Checks prose for the idioms in Documentation/words.txt.

  python3 Scripts/documentation/words.py            # exits non-zero if anything is found
  python3 Scripts/documentation/words.py --counts   # findings by folder

It checks Markdown, and comments and the names of declarations in Swift.
"""
import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Written by programs, or quoting what this check rejects.
GENERATED = ("Benchmarks/RESULTS.md", "Tests/Explorer/Faults.md")


def rules():
    allowed, found = [], []
    for number, line in enumerate((ROOT / "Documentation/words.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("allow: "):
            allowed.append(re.compile(line.removeprefix("allow: "), re.I))
            continue
        pattern, arrow, advice = line.partition("  =>  ")
        if not arrow:
            sys.exit(f"error: words.txt:{number}: no '  =>  '")
        found.append((re.compile(pattern, re.I), advice.strip()))
    return allowed, found


def markdown(text):
    """Numbered lines of prose: no code, no table of examples of what not to write."""
    in_code = skipping = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif line.startswith("| Don't write"):
            skipping = True
        elif not line.startswith("|"):
            skipping = False
        if not in_code and not skipping and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`|\"[^\"]*\"", "` `", line)


def comments(text):
    """Numbered comments of a Swift file."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*///?(.*)", line) or re.search(r"[^:\"]//( .*)", line)
        if match:
            yield number, re.sub(r"`[^`]*`", "` `", match.group(1))


def names(text):
    """Numbered names of what a Swift file declares, as words: `letsGoOf_all` becomes "lets go of all"."""
    declaration = re.compile(r"\b(?:func|struct|class|enum|actor|protocol|case|var|let) `?(\w+)")
    for number, line in enumerate(text.splitlines(), 1):
        for match in declaration.finditer(line):
            yield number, re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", match.group(1)).lower()


def files():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md", "*.swift", "llms.txt"], cwd=ROOT, check=True,
        capture_output=True, text=True).stdout.split()
    return [file for file in listed if file not in GENERATED and (ROOT / file).exists()]


def findings(file, allowed, words):
    text = (ROOT / file).read_text()
    lines = [*comments(text), *names(text)] if file.endswith(".swift") else markdown(text)
    for number, line in lines:
        for pattern in allowed:
            line = pattern.sub("", line)
        for pattern, advice in words:
            if match := pattern.search(line):
                yield number, match.group(0).strip(), advice


def main():
    allowed, words = rules()
    counts, checked = collections.Counter(), 0
    for file in files():
        checked += 1
        for number, text, advice in findings(file, allowed, words):
            counts[str(Path(file).parent)] += 1
            if "--counts" not in sys.argv:
                print(f"{file}:{number}: error: “{text}”: write {advice}", file=sys.stderr)
    if "--counts" in sys.argv:
        for folder, count in sorted(counts.items()):
            print(f"{count:5} {folder}")
    print(f"{checked} files, {sum(counts.values())} findings")
    sys.exit(1 if counts else 0)


main()
