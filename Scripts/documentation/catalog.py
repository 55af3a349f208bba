"""Copies a documentation catalog, with its links translated for DocC.

  python3 Scripts/documentation/catalog.py CATALOG COPY

In the repository, articles link with relative paths, so that the links work on GitHub. DocC needs
`doc:` links to articles, and bare names of images. Links to articles of other modules lead to their
pages of the combined site, below BASE_PATH. Links to other files lead to SOURCE_URL; without that,
only their text remains.
"""
import os
import posixpath
import re
import shutil
import sys
from pathlib import Path


def fragments(text):
    """The headings of a page, by the anchors that GitHub gives them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-"):
            re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in headings}


def translated(page, catalog):
    pages = {path.resolve(): fragments(path.read_text()) for path in catalog.rglob("*.md")}
    text, own = page.read_text(), fragments(page.read_text())
    source = os.environ.get("SOURCE_URL", "").rstrip("/")
    base = ("/" + os.environ.get("BASE_PATH", "").strip("/")).rstrip("/")

    def link(match):
        bang, label, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        if bang:
            return f"![{label}]({posixpath.basename(target)})"
        path, _, anchor = target.partition("#")
        if not path:
            return f"[{label}](doc:#{own[anchor]})"
        article = (page.parent / path).resolve()
        if article in pages:
            heading = f"#{pages[article][anchor]}" if anchor else ""
            return f"[{label}](doc:{article.stem}{heading})"
        file = posixpath.normpath(posixpath.join(page.parent.as_posix(), path))
        if other := re.search(r"/(\w+)\.docc/(?:\w+/)*(\w+)\.md$", file):
            # The page that is named as its module is that of the module.
            below = "" if other[2] == other[1] else "/" + other[2].lower()
            return f"[{label}]({base}/documentation/{other[1].lower()}{below})"
        return f"[{label}]({source}/{file})" if source else label

    # Code blocks stay as they are.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(
        part if part.startswith("```") else re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, part)
        for part in parts)


def main():
    catalog, copy = map(Path, sys.argv[1:])
    shutil.copytree(catalog, copy)
    for page in catalog.rglob("*.md"):
        (copy / page.relative_to(catalog)).write_text(translated(page, catalog))


main()
