"""Checks the links of every Markdown page as GitHub shows it.

  python3 Scripts/documentation/links.py

A relative link must lead to a file of the repository, and its anchor to a heading there. `doc:` links
and bare names of pictures mean nothing on GitHub: `doc:` links may stand in lists of links below
"Topics" and "See Also", which are for DocC.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def prose(text):
    """The page with its code blanked out, so that lines keep their numbers."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r"^ *```.*?^ *```$", blank, text, flags=re.M | re.S)
    return re.sub(r"(`+)(?!`).*?\1", blank, text)


def anchors(path):
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def problems(page):
    text, section = prose((ROOT / page).read_text()), ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            section = line[3:].strip()
        for link in re.findall(r"<(doc:[^>]+)>|\]\((doc:[^)]+)\)", line):
            in_list = re.fullmatch(r"- <doc:[\w-]+>", line.strip())
            if not (in_list and section in ("Topics", "See Also")):
                yield number, f"{link[0] or link[1]} is dead on GitHub: write a relative link"
        targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", line) + re.findall(r'\bsrc(?:set)?="([^"]+)"', line)
        for target in targets:
            if re.match(r"(https?|mailto|doc):", target):
                continue
            path, _, anchor = target.partition("#")
            file = ((ROOT / page).parent / path).resolve() if path else ROOT / page
            if not file.exists():
                yield number, f"no file {target}"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield number, f"no heading for #{anchor} in {file.relative_to(ROOT)}"


def main():
    pages = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md", "llms.txt"], cwd=ROOT, check=True,
        capture_output=True, text=True).stdout.split()
    count = 0
    for page in pages:
        for number, problem in problems(page):
            print(f"{page}:{number}: error: {problem}", file=sys.stderr)
            count += 1
    print(f"{len(pages)} pages, {count} dead links")
    sys.exit(1 if count else 0)


main()
