import Foundation

/// The axes of a log-log plot, which map data to positions.
struct PlotFrame {
  let width = 820
  let height = 460
  let left = 76
  let right = 640
  let top = 44
  let bottom = 384

  private let x: ClosedRange<Double>
  private let y: ClosedRange<Double>

  /// Fits the axes to the points; the vertical axis spans whole decades, so that it has round
  /// numbers.
  init(points: [Plot.Point]) {
    let xs = points.map { log10($0.x) }
    let ys = points.map { log10($0.y) }
    x = Self.widened((xs.min() ?? 0)...(xs.max() ?? 1))
    y = Self.widened((ys.min() ?? 0).rounded(.down)...(ys.max() ?? 1).rounded(.up))
  }

  func place(_ point: Plot.Point) -> (x: Int, y: Int) {
    (column(log10(point.x)), row(log10(point.y)))
  }

  func grid(xLabel: String, yLabel: String) -> String {
    var text = ""
    for decade in decades(in: y) {
      for step in [1.0, 2, 5] {
        let exponent = decade + log10(step)
        if exponent > y.upperBound + 1e-9 { break }
        let place = row(exponent)
        text += """
          <path d="M\(left) \(place)H\(right)" stroke="\(step == 1 ? "#bbb" : "#eee")"/>
          <text x="\(left - 8)" y="\(place + 4)" text-anchor="end" \
          fill="\(step == 1 ? "#222" : "#999")">\(number(pow(10, exponent)))</text>

          """
      }
    }
    for decade in decades(in: x) where decade >= x.lowerBound - 1e-9 {
      let place = column(decade)
      text += """
        <path d="M\(place) \(top)V\(bottom)" stroke="#ddd"/>
        <text x="\(place)" y="\(bottom + 18)" text-anchor="middle">\(number(pow(10, decade)))</text>

        """
    }
    let middle = (top + bottom) / 2
    text += """
      <text x="\((left + right) / 2)" y="\(bottom + 40)" text-anchor="middle">\(xLabel)</text>
      <text x="18" y="\(middle)" text-anchor="middle" transform="rotate(-90 18 \(middle))">\
      \(yLabel)</text>

      """
    return text
  }

  private func column(_ exponent: Double) -> Int {
    left + Int(((exponent - x.lowerBound) / length(x) * Double(right - left)).rounded())
  }

  private func row(_ exponent: Double) -> Int {
    bottom - Int(((exponent - y.lowerBound) / length(y) * Double(bottom - top)).rounded())
  }

  private func length(_ range: ClosedRange<Double>) -> Double {
    range.upperBound - range.lowerBound
  }

  private func decades(in range: ClosedRange<Double>) -> [Double] {
    Array(stride(from: range.lowerBound.rounded(.up), through: range.upperBound + 1e-9, by: 1))
  }

  /// Formats a number so that it leaves room for the name of the axis.
  private func number(_ value: Double) -> String {
    switch value.rounded() {
    case 1_000_000...: short(value / 1_000_000) + "M"
    case 1_000...: short(value / 1_000) + "k"
    default: short(value)
    }
  }

  /// Widens a range that contains a single value.
  private static func widened(_ range: ClosedRange<Double>) -> ClosedRange<Double> {
    range.lowerBound < range.upperBound ? range : (range.lowerBound - 1)...(range.upperBound + 1)
  }
}
