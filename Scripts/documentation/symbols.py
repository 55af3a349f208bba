"""Checks that every public symbol has a doc comment, and that closures say where they run.

  python3 Scripts/documentation/symbols.py FOLDER…    # folders of symbol graphs, as build makes them

A symbol whose parameters include an escaping closure must state where or when the closure
runs: with a paragraph **Execution.**, with a verb such as "runs", or by a reference ("See ``…``"). What a symbol inherits from a protocol of the standard library is not checked.
"""
import json
import re
import sys
from pathlib import Path

# Requirements that the compiler or the standard library documents.
INHERITED = re.compile(
    r"(!=|==|<)\(|\.hash\(into:\)|\.hashValue|localizedDescription|\.encode\(to:\)|\.init\(from:\)"
    r"|\.description$|\.debugDescription$|\.unownedExecutor$|assumeIsolated|assertIsolated|preconditionIsolated")
STATES_PLACE = re.compile(
    r"\*\*Execution\.\*\*|\bruns?\b|\bcall(s|ed)?\b|on the main actor|in place|\b(see|as) (also )?``", re.I)


def symbols(folder):
    for graph in sorted(Path(folder).glob("*.symbols.json")):
        for symbol in json.loads(graph.read_text())["symbols"]:
            yield graph.name.split("@")[0].removesuffix(".symbols.json"), symbol


def main():
    problems, count, closures = [], 0, 0
    for folder in sys.argv[1:]:
        for module, symbol in symbols(folder):
            name = ".".join(symbol["pathComponents"])
            kind = symbol["kind"]["identifier"]
            unavailable = any(item.get("isUnconditionallyUnavailable") for item in symbol.get("availability", []))
            # Synthesized symbols have no location in the sources.
            if kind == "swift.extension" or unavailable or INHERITED.search(name) or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
                continue
            comment = symbol.get("docComment")
            if comment and comment.get("module") not in (None, module):
                continue
            place = symbol.get("location", {})
            where = place.get("uri", module).removeprefix("file://") + (
                f":{place['position']['line'] + 1}" if place else "")
            count += 1
            if not comment:
                problems.append(f"{where}: {module}.{name} has no doc comment")
                continue
            text = "\n".join(line["text"] for line in comment["lines"])
            declaration = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
            if "@escaping" in declaration and kind != "swift.typealias":
                closures += 1
                if not STATES_PLACE.search(text):
                    problems.append(f"{where}: {module}.{name} does not say where its closure runs")
    for problem in sorted(set(problems)):
        print(f"error: {problem}", file=sys.stderr)
    print(f"{count} public symbols, {closures} with closures, {len(set(problems))} problems")
    sys.exit(1 if problems else 0)


main()
