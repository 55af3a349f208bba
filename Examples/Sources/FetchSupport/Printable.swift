extension String {
  /// The text with a mark in place of each character that a terminal obeys instead of showing it.
  ///
  /// Line breaks remain.
  public var printable: String {
    var scalars = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        scalars.append(scalar == "\n" ? scalar : "\u{FFFD}")
      default: scalars.append(scalar)
      }
    }
    return String(scalars)
  }
}
