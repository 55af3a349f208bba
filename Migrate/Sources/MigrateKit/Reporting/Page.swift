import Foundation

/// A report as one HTML page that needs no other file.
public struct Page {
  private let report: Report

  /// Creates a page for a report.
  public init(_ report: Report) { self.report = report }

  /// The text of the page.
  public var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Promises of this program</title>
    <style>\(Self.style)</style>
    </head>
    <body>
    <header>
    <h1>Promises of this program</h1>
    <dl>\(figures)</dl>
    </header>
    <main>
    \(problems)
    <section><h2>Decisions</h2>\(decisions)</section>
    <section><h2>Order of conversion</h2>\(order)</section>
    <section><h2>Files</h2>\(files)</section>
    \(undecided)
    </main>
    </body>
    </html>
    """
  }

  private var figures: String {
    let summary = report.summary
    let share = String(Int(summary.decidedPercent.rounded(.down))) + " %"
    let left = summary.decisions.values.reduce(0, +)
    return [
      ("Files", "\(summary.files)"), ("Lines", "\(summary.lines)"), ("Chains", "\(summary.chains)"),
      ("Operators", "\(summary.operators)"), ("Types decided", share),
      ("Exact operators", "\(summary.exactOperators)"), ("Chains to decide", "\(left)"),
    ].map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined()
  }

  private var decisions: String {
    if report.summary.decisions.isEmpty { return "<p>No chain needs a decision.</p>" }
    let rows = report.summary.decisions.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
      "<tr><td class=\"number\">\($0.value)</td><td><code>\($0.key)</code></td><td>"
        + "\(sentence(Decision(rawValue: $0.key)?.question ?? ""))</td></tr>"
    }
    return "<table><tr><th class=\"number\">Chains</th><th>Kind</th><th>Decide</th></tr>"
      + rows.joined() + "</table>"
  }

  private var order: String {
    if report.order.isEmpty { return "<p>No function returns a promise.</p>" }
    let items = report.order.map { "<li>\(escaped($0))</li>" }.joined()
    return "<p>Callees come before their callers.</p><details><summary>\(report.order.count)"
      + " function\(report.order.count == 1 ? "" : "s")</summary><ol>\(items)</ol></details>"
  }

  private var files: String {
    report.files.map { file in
      let count = file.functions.reduce(0) { $0 + $1.chains.count }
      return "<details class=\"file\"><summary>\(escaped(file.path)) <small>\(count)"
        + " chain\(count == 1 ? "" : "s")</small>"
        + "</summary>\(file.functions.map(function).joined())</details>"
    }.joined()
  }

  private func function(_ facts: Report.FunctionFacts) -> String {
    var html =
      "<article><h3><code>\(escaped(facts.name))</code> <small>line \(facts.line)</small></h3>"
    html += facts.chains.map(chain).joined()
    if !facts.notes.isEmpty {
      html +=
        "<ul class=\"notes\">"
        + facts.notes.map { "<li>Line \($0.line): \(sentence($0.text))</li>" }.joined() + "</ul>"
    }
    if let paths = facts.paths {
      let columns = [
        ("On success", paths.onSuccess), ("On failure", paths.onFailure),
        ("On cancellation", paths.onCancellation),
      ].filter { !$0.1.isEmpty }
      html +=
        "<div class=\"paths\">"
        + columns.map { title, effects in
          "<div><h4>\(title)</h4><ul>"
            + effects.prefix(20).map { "<li>\(escaped($0))</li>" }.joined() + "</ul></div>"
        }.joined() + "</div>"
    }
    return html + "</article>"
  }

  private func chain(_ chain: Report.ChainFacts) -> String {
    let badge =
      chain.isNested
      ? "<span class=\"badge\">nested</span>"
      : chain.decision.map { "<span class=\"badge decide\">\($0)</span>" }
        ?? "<span class=\"badge exact\">exact</span>"
    let rows = chain.operators.map { item in
      "<tr><td class=\"number\">\(item.line)</td><td><code>.\(item.name)</code></td><td>"
        + "\(item.handles)</td><td>\(escaped(item.runsOn))</td><td>"
        + "\(item.skipsCancellations ? "skips cancellations" : "")</td></tr>"
    }
    return "<div class=\"chain\"><p>\(badge) <code>\(escaped(chain.source))</code>"
      + " <small>line \(chain.line), \(chain.usage), errors \(chain.errors)</small></p>"
      + "<table>\(rows.joined())</table>"
      + (chain.question.map { "<p class=\"question\">\(sentence($0))</p>" } ?? "") + "</div>"
  }

  private var problems: String {
    if report.problems.isEmpty { return "" }
    return "<section><h2>Files that can't be read reliably</h2><ul>"
      + report.problems.map { "<li>\(escaped($0))</li>" }.joined() + "</ul></section>"
  }

  private var undecided: String {
    if report.undecided.isEmpty { return "" }
    return "<section><h2>Types that aren't known</h2><ul>"
      + report.undecided.map { "<li>\(escaped($0))</li>" }.joined() + "</ul></section>"
  }

  /// A sentence of the tool, in which backticks enclose code.
  private func sentence(_ text: String) -> String {
    escaped(text).split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .map { $0.offset % 2 == 1 ? "<code>\($0.element)</code>" : String($0.element) }.joined()
  }

  private func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;")
      .replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;")
  }

  private static let style = """
    :root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #1a7f37;
      --ask: #b35900; --ask-text: light-dark(#b35900, #ffa657); }
    body { font: 15px/1.5 system-ui, sans-serif; margin: 0; overflow-wrap: anywhere; }
    header, main { max-width: 70rem; margin: 0 auto; padding: 1rem 1.5rem; }
    h1 { font-size: 1.6rem; margin: .5rem 0; }
    main { padding-top: 0; }
    h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
    h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
    h4 { font-size: .85rem; margin: .3rem 0; }
    small { opacity: .75; font-weight: normal; }
    code { font: .9em ui-monospace, monospace; }
    th, td code { white-space: nowrap; }
    dl { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0; }
    dl div { background: var(--soft); border-radius: 8px; padding: .5rem 1rem; }
    dt { font-size: .8rem; opacity: .8; }
    dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
    table { border-collapse: collapse; font-size: .9rem; }
    td, th { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
    .number { text-align: right; font-variant-numeric: tabular-nums; opacity: .8; }
    details.file { border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0;
      padding: .4rem .8rem; }
    summary { cursor: pointer; font-weight: 600; }
    .chain { border-left: 3px solid var(--line); padding-left: .8rem; margin: .6rem 0; }
    .chain p { margin: .2rem 0; }
    .badge { border-radius: 6px; padding: .1rem .5rem; font-size: .8rem; background: var(--soft); }
    .exact { background: var(--good); color: #fff; }
    .decide { background: var(--ask); color: #fff; }
    .question { color: var(--ask-text); }
    .paths { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr));
      gap: 1rem; font-size: .85rem; }
    .paths ul { margin: 0; padding-left: 1.1rem; }
    """
}
