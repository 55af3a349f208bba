#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

package enum StandardError {
  /// Writes `text`; a failure is ignored, because there is no other place to report it.
  package static func write(_ text: String) {
    _ = text.utf8.withContiguousStorageIfAvailable { bytes in
      #if canImport(Darwin)
        Darwin.write(2, bytes.baseAddress, bytes.count)
      #elseif canImport(Glibc)
        Glibc.write(2, bytes.baseAddress, bytes.count)
      #elseif canImport(Musl)
        Musl.write(2, bytes.baseAddress, bytes.count)
      #elseif canImport(Android)
        Android.write(2, bytes.baseAddress, bytes.count)
      #endif
    }
  }
}
