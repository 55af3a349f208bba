import Foundation

extension Report {
  /// Returns plots of time and peak memory against size, for every sweep.
  func plots() -> [Plot] {
    Workload.all.filter(\.isSweep).flatMap { workload -> [Plot] in
      let time = Plot(
        name: workload.name, title: "\(workload.name): time per \(workload.unit)",
        yLabel: "nanoseconds per \(workload.unit)", xLabel: "\(workload.unit)s",
        lines: lines(of: workload, \.nanoseconds))
      let memory = Plot(
        name: workload.name + "-memory", title: "\(workload.name): peak memory",
        yLabel: "peak memory of the process, MiB", xLabel: "\(workload.unit)s",
        lines: lines(of: workload) { $0.peakBytes.map { Double($0) / Double(1 << 20) } })
      return [time, memory].filter { !$0.lines.isEmpty }
    }
  }

  private func lines(of workload: Workload, _ value: (CellResult) -> Double?) -> [Plot.Line] {
    libraries.enumerated().compactMap { index, library in
      let points = sizes(of: workload).compactMap { size -> Plot.Point? in
        guard let result = result(workload, library, size), result.failure == nil,
          let value = value(result), value > 0
        else { return nil }
        return Plot.Point(x: Double(size), y: value)
      }
      if points.isEmpty { return nil }
      let failed = results.contains {
        $0.workload.name == workload.name && $0.library == library && $0.failure != nil
      }
      let limited = cell(workload, library)?.limit != nil
      return Plot.Line(
        name: library, style: index, points: points, endsEarly: failed || limited)
    }
  }
}

/// A log-log plot with a labeled line for each library.
struct Plot {
  struct Point {
    let x: Double
    let y: Double
  }

  struct Line {
    let name: String
    /// Determines color and marker, so that a library looks the same in every plot.
    let style: Int
    let points: [Point]
    /// Whether the library can't run at sizes beyond its last point.
    let endsEarly: Bool
  }

  let name: String
  let title: String
  let yLabel: String
  let xLabel: String
  let lines: [Line]

  private static let colours = [
    "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17a2b8", "#8c564b", "#e377c2",
    "#6b6b6b", "#98a200", "#393b79", "#000000",
  ]

  func svg() -> String {
    let frame = PlotFrame(points: lines.flatMap(\.points))
    var body = frame.grid(xLabel: xLabel, yLabel: yLabel)
    body += """
      <text x="\(frame.left)" y="26" font-size="16" font-weight="600">\(escaped(title))</text>

      """
    for line in lines { body += drawing(of: line, in: frame) }
    body += labels(in: frame)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(frame.width) \(frame.height)" \
      font-family="system-ui, sans-serif" font-size="12" fill="#222">
      <rect width="100%" height="100%" fill="#fff"/>
      \(body)</svg>

      """
  }

  private func color(_ line: Line) -> String { Self.colours[line.style % Self.colours.count] }

  private func drawing(of line: Line, in frame: PlotFrame) -> String {
    let places = line.points.map { frame.place($0) }
    let path = places.map { "\($0.x),\($0.y)" }.joined(separator: " ")
    var text = """
      <polyline points="\(path)" fill="none" stroke="\(color(line))" stroke-width="2"/>

      """
    for (index, place) in places.enumerated() {
      if line.endsEarly && index == places.count - 1 {
        let arm = 5
        text += """
          <path d="M\(place.x - arm) \(place.y - arm)l\(2 * arm) \(2 * arm)m0 \(-2 * arm)\
          l\(-2 * arm) \(2 * arm)" stroke="\(color(line))" stroke-width="2.5" fill="none"/>

          """
      } else {
        text += """
          <circle cx="\(place.x)" cy="\(place.y)" r="3.5" fill="\(color(line))"/>

          """
      }
    }
    return text
  }

  /// Returns names to the right of the lines, each connected to the end of its line.
  private func labels(in frame: PlotFrame) -> String {
    var text = ""
    for (label, row) in zip(sortedEnds(in: frame), labelRows()) {
      let suffix = label.line.endsEarly ? " ✗" : ""
      text += """
        <path d="M\(label.end.x + 6) \(label.end.y)L\(frame.right + 14) \(row)" \
        stroke="\(color(label.line))" stroke-width="0.7" stroke-dasharray="2 3" fill="none"/>
        <text x="\(frame.right + 18)" y="\(row + 4)" fill="\(color(label.line))">\
        \(escaped(label.line.name))\(suffix)</text>

        """
    }
    if lines.contains(where: \.endsEarly) {
      text += """
        <text x="\(frame.left)" y="\(frame.height - 8)" font-size="11" fill="#666">✗ cannot \
        go much further: stack overflow, out of memory, or no end in sight</text>

        """
    }
    return text
  }

  private func sortedEnds(
    in frame: PlotFrame
  ) -> [(line: Line, end: (x: Int, y: Int))] {
    lines.compactMap { line in
      line.points.last.map { (line: line, end: frame.place($0)) }
    }.sorted { $0.end.y < $1.end.y }
  }

  /// The minimum distance between two names.
  static let labelPitch = 17

  /// Returns the positions of the names, from top to bottom: next to the ends of their lines, but
  /// moved apart if they would overlap.
  func labelRows() -> [Int] {
    let frame = PlotFrame(points: lines.flatMap(\.points))
    let wanted = sortedEnds(in: frame).map(\.end.y)
    var free = frame.top
    return wanted.enumerated().map { index, wish in
      // Reserves room for the names below, so that none is outside the frame.
      let last = frame.bottom - (wanted.count - 1 - index) * Self.labelPitch
      let row = min(max(wish, free), max(last, free))
      free = row + Self.labelPitch
      return row
    }
  }
}

private func escaped(_ text: String) -> String {
  text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
}
