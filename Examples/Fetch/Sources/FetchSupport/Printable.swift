extension String {
  /// The text with control and invisible characters replaced by U+FFFD, so that a terminal doesn't
  /// interpret them.
  ///
  /// Line feeds are kept.
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
