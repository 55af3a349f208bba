"""Counts the steps that the compiler takes to type-check chains, with its own statistics.

Usage: python3 type_checking.py <folder of Pledge.swiftmodule>

Each chain is one expression. A step is a scope of the constraint solver, which tries one choice, such
as an overload, in it: a number that is the same on every machine, unlike the time. Beside it are the
steps for the same work as hand-written `async` code.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# The steps that an operator may take. An expression that the compiler can't solve operator by
# operator takes a number that doubles with each.
LIMIT = 20

HEADER = """import Pledge

struct Refused: Error {}
struct User: Sendable { var name = ""; var friend: Friend { Friend() } }
struct Friend: Sendable { var user: User { User() } }
func fetch(_ number: Int) -> Promise<Int> { .value(number) }
func load(_ number: Int) async throws -> Int { number }
func increment(_ number: Int) -> Int { number }
func text(_ number: Int) -> String { "" }
func number(_ text: String) -> Int? { 1 }
func isGood(_ number: Int) -> Bool { true }
func note() {}
func note(_ number: Int) {}
let second = Duration.seconds(1)
"""

# (operator, the equivalent handwritten code)
MAP = (".map { increment($0) }", "let @ = increment(#)")
MIX = [
    MAP,
    (".then { fetch($0) }", "let @ = try await load(#)"),
    (".replaceError { _ in 0 }.promise",
     "let @: Int\n  do { @ = try await load(#) } catch { @ = 0 }"),
    (".timeout(after: second)", "let @ = try await load(#)"),
    (".validate { isGood($0) }", "let @ = #\n  guard isGood(@) else { throw Refused() }"),
    (".finally { note() }", "let @ = #\n  note()"),
    (".get { note($0) }", "let @ = #\n  note(@)"),
    (".recover { _ in fetch(1) }",
     "let @: Int\n  do { @ = try await load(#) } catch { @ = try await load(1) }"),
    (".map { text($0) }", "let @ = text(#)"),
    (".compactMap { number($0) }", "guard let @ = number(#) else { throw Refused() }"),
]
RECOVER, FINALLY = MIX[7], MIX[5]
WAITING = (".finallyThen { fetch(1) }", "let @ = #\n  _ = try await load(1)")
ONLY = (".recover(only: Refused.self) { _ in fetch(1) }",
        "let @: Int\n  do { @ = try await load(#) } catch is Refused { @ = try await load(1) }")
ON = (".map(on: .global) { increment($0) }", "let @ = await Task { [#] in increment(#) }.value")
ON_MAIN = (".map { @MainActor in increment($0) }",
           "let @ = await MainActor.run { increment(#) }")

PLUS = (".map { $0 + 1 }", "let @ = # + 1")
OPERATORS = [
    PLUS,
    ('.map { "\\($0)" }', 'let @ = "\\(#)"'),
    (".map { $0.count * 2 }", "let @ = #.count * 2"),
    (".then { fetch($0 - 1) }", "let @ = try await load(# - 1)"),
]
# Conversions have too many overloads for single-expression closures.
CONVERSIONS = [
    (".map { number in\n      let half = Double(number) / 2\n      return half\n    }",
     "let @ = Double(#) / 2"),
    (".map { half in\n      let number = Int(half) * 2 - 1\n      return number\n    }",
     "let @ = Int(#) * 2 - 1"),
]

# The implicit member has no type of its own before the overload of `all` is known.
ALL = (".then { Promise.all(.value($0), fetch($0)) }",
       "async let first@ = load(#), second@ = load(#)\n  let @ = try await (first@, second@)")
PAIR = (".map { a, b in increment(a) }", "let @ = increment(#.0)")

CHAINS = {
    "mix of 10": [MIX[i % 10] for i in range(10)],
    "mix of 20": [MIX[i % 10] for i in range(20)],
    "mix of 40": [MIX[i % 10] for i in range(40)],
    "recover and finally, 20": [[RECOVER, FINALLY][i % 2] for i in range(20)],
    "recover and waiting finally, 20": [[RECOVER, WAITING][i % 2] for i in range(20)],
    "map and recover, 20": [[MAP, RECOVER][i % 2] for i in range(20)],
    "map and replaceError, 20": [[MAP, MIX[2]][i % 2] for i in range(20)],
    "map and waiting finally, 20": [[MAP, WAITING][i % 2] for i in range(20)],
    "map and recover(only:), 20": [[MAP, ONLY][i % 2] for i in range(20)],
    "arithmetic, 10": [PLUS] * 10,
    "arithmetic and strings, 40": [OPERATORS[i % 4] for i in range(40)],
    "conversions in statements, 20": [CONVERSIONS[i % 2] for i in range(20)],
    "all and map, 20": [ALL, PAIR] * 10,
    "map(on: .global), 40": [ON] * 40,
    "map on the main actor, 40": [ON_MAIN] * 40,
}

# What ends a chain in a statement, which has no type that the compiler could start from.
ENDINGS = [
    ".done { _ in }", ".done { print($0) }", ".done(on: .global) { _ in }", ".get { _ in }",
    ".then { _ in fetch(1) }", ".compactMap { Optional($0) }", ".asyncMap { $0 }", ".tap { _ in }",
    ".mapResult { _ in 1 }", ".replaceError { _ in 0 }", ".asVoid()", ".finally { note() }",
]


def count(folder, declaration):
    """Returns the number of scopes in which the compiler type-checks a function."""
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, "Chain.swift")
        with open(path, "w") as file:
            file.write(HEADER + declaration)
        run = subprocess.run(
            ["swiftc", "-frontend", "-typecheck", "-swift-version", "6", "-I", folder,
             "-stats-output-dir", temporary, "-primary-file", path],
            capture_output=True, text=True, timeout=60)
        if run.returncode:
            raise RuntimeError(run.stderr[-300:])
        with open(glob.glob(os.path.join(temporary, "*.json"))[0]) as file:
            return json.load(file)["Sema.NumConstraintScopes"]


def hand_written(steps, last):
    """Returns a function without promises that does what the steps do, and ends with `last`."""
    lines = ["let value0 = 1"]
    for index, step in enumerate(steps):
        lines.append(step[1].replace("@", f"value{index + 1}").replace("#", f"value{index}"))
    lines.append(last.format(f"value{len(steps)}"))
    return "\n  ".join(lines)


def cases():
    """Yields the name and the number of operators of each chain, its code, and that without promises."""
    for name, steps in CHAINS.items():
        chain = "".join("\n    " + step[0] for step in steps)
        by_hand = hand_written(steps, "return {}")
        yield (
            name, len(steps), f"\nfunc chain() -> Promise<Int> {{\n  Promise.value(1){chain}\n}}\n",
            f"\nfunc handWritten() async throws -> Int {{\n  {by_hand}\n}}\n")
    by_hand = hand_written([PLUS] * 10, "print({})")
    for ending in ENDINGS:
        chain = "".join("\n    " + step[0] for step in [PLUS] * 10) + "\n    " + ending
        yield (
            f"arithmetic, 10, and {ending}", 10, f"\nfunc chain() {{\n  _ = Promise.value(1){chain}\n}}\n",
            f"\nfunc handWritten() {{\n  {by_hand}\n}}\n")


all_cases = list(cases())
with ThreadPoolExecutor(os.cpu_count()) as pool:
    # Each declaration once: all endings follow the same work.
    counts = {
        declaration: pool.submit(count, sys.argv[1], declaration)
        for declaration in ["", *(code for case in all_cases for code in case[2:])]}
others = counts[""].result()
print(f"{'Steps for':48} {'Pledge':>10} {'async':>10}")
failures = 0
for name, operators, *declarations in all_cases:
    try:
        pledge, by_hand = (counts[code].result() - others for code in declarations)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        failures += 1
        print(f"error: {name}: {error}", file=sys.stderr)
        continue
    print(f"{name:48} {pledge:10} {by_hand:10}")
    if pledge > LIMIT * (operators + 1):
        failures += 1
        print(f"error: {name} takes more than {LIMIT} steps for each operator", file=sys.stderr)
sys.exit(1 if failures else 0)
