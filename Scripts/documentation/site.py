"""Crawls the built site for dead links, missing pictures and pages that no other page leads to.

  python3 Scripts/documentation/site.py SITE [--base-path PATH]

References that DocC cannot resolve are names of other modules' symbols, which it shows as text; `docc
convert` reports those that an author wrote.

A page of DocC is an HTML shell and a JSON file with its content. From the landing page, the crawler
follows every reference of each JSON file; it checks that the page's HTML and JSON exist, that images
exist in the light and in the dark form, and that files the HTML names exist.
"""
import argparse
import json
import re
import sys
from pathlib import Path

LANDING = "/documentation"


def references(node):
    """Every dictionary below `node`, depth first."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from references(child)


class Crawl:
    def __init__(self, site, base):
        self.site, self.base = site, base
        self.pages, self.images, self.external, self.problems = set(), set(), set(), []

    def local(self, url):
        return self.site / url.removeprefix(self.base).lstrip("/")

    def visit(self, url):
        """Returns the addresses to which the page at `url` leads."""
        shell = self.local(url) / "index.html"
        data = self.site / "data" / (url.removeprefix(self.base).strip("/") + ".json")
        if not shell.exists():
            self.problems.append(f"{url}: no {shell}")
        else:
            self.check_shell(url, shell)
        if not data.exists():
            self.problems.append(f"{url}: no {data}")
            return []
        page = json.loads(data.read_text())
        found = []
        for key, reference in page.get("references", {}).items():
            kind = reference.get("type")
            if kind == "image":
                self.check_image(url, key, reference)
            elif kind == "link":
                target = reference["url"]
                if re.match(r"(https?|mailto):", target):
                    self.external.add(target)
                elif target.removeprefix(self.base).startswith(LANDING + "/"):
                    found.append(target)  # another module's page
                else:
                    self.problems.append(f"{url}: dead link to {target}")
            elif "url" in reference and kind in ("topic", "section"):
                found.append(reference["url"].partition("#")[0])
        known = page.get("references", {})
        for part in references(page.get("primaryContentSections", [])):
            if part.get("type") in ("reference", "image") and part.get("identifier") not in known:
                self.problems.append(f"{url}: no reference for {part.get('identifier')}")
        return found

    def check_image(self, url, key, reference):
        if not reference.get("variants"):
            self.problems.append(f"{url}: picture {key} has no file")
        for variant in reference.get("variants", []):
            self.images.add(variant["url"])
            if not self.local(variant["url"]).is_file():
                self.problems.append(f"{url}: no picture {variant['url']}")

    def check_shell(self, url, shell):
        text = re.sub(r"<script>.*?</script>", "", shell.read_text(), flags=re.S)
        for target in re.findall(r'(?:src|href)="(/[^"]+)"', text):
            if not self.local(target).exists():
                self.problems.append(f"{url}: its HTML names {target}, which is missing")

    def run(self, start):
        waiting = [start]
        while waiting:
            # Some addresses begin with the base path: those in HTML, and links from module to module.
            url = waiting.pop().removeprefix(self.base)
            if url in self.pages:
                continue
            self.pages.add(url)
            waiting += self.visit(url)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site", type=Path)
    parser.add_argument("--base-path", default="")
    options = parser.parse_args()
    base = "/" + options.base_path.strip("/") if options.base_path else ""
    crawl = Crawl(options.site, base)
    crawl.run(LANDING)
    # Pages that exist but that no page leads to cannot be found by a reader.
    known = {page.lower() for page in crawl.pages}
    for data in (options.site / "data").rglob("*.json"):
        url = "/" + data.relative_to(options.site / "data").as_posix().removesuffix(".json")
        if url.lower() not in known:
            crawl.problems.append(f"{url}: no page leads here")
    if not (options.site / "index/index.json").is_file():
        crawl.problems.append("no index/index.json: the navigator and its search have no content")
    for problem in sorted(set(crawl.problems)):
        print(f"error: {problem}", file=sys.stderr)
    print(f"{len(crawl.pages)} pages, {len(crawl.images)} pictures, {len(crawl.external)} external links, "
          f"{len(set(crawl.problems))} problems")
    sys.exit(1 if crawl.problems else 0)


main()
