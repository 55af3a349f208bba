import Foundation

/// The contents of a source file: its bytes, and the text that the tool works with.
///
/// The text has no byte order mark, and its lines end with a line feed. ``bytes(of:)`` stores another
/// text as this one is stored.
struct StoredSource {
  /// The contents as they are stored.
  let bytes: Data
  /// The text.
  let text: String

  private static let mark = Data([0xEF, 0xBB, 0xBF])
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  /// Reads the file at `path`.
  init(path: String) throws {
    let bytes: Data
    do {
      bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw MigrateError("'\(path)' can't be read: \(error.localizedDescription)")
    }
    try self.init(bytes: bytes, path: path)
  }

  /// Decodes the contents of the file at `path`.
  init(bytes: Data, path: String) throws {
    self.bytes = bytes
    let unmarked = bytes.starts(with: Self.mark) ? bytes.dropFirst(Self.mark.count) : bytes
    var result: [UInt8] = []
    result.reserveCapacity(unmarked.count)
    for byte in unmarked {
      if byte == Self.lineFeed, result.last == Self.carriageReturn { result.removeLast() }
      result.append(byte)
    }
    text = String(decoding: result, as: UTF8.self)
    // Decoding replaces what isn't UTF-8.
    guard text.utf8.elementsEqual(result) else {
      throw MigrateError("'\(path)' isn't UTF-8 text. Convert the file to UTF-8 first.")
    }
  }

  /// Stores `other` as this source is stored.
  ///
  /// The byte order mark stays, and so do the endings of the lines that stay. New lines end as most
  /// lines of this source do.
  func bytes(of other: String) -> Data {
    let hasMark = bytes.starts(with: Self.mark)
    let parts = (hasMark ? bytes.dropFirst(Self.mark.count) : bytes).split(
      separator: Self.lineFeed, omittingEmptySubsequences: false)
    var returns = parts.dropLast().map { $0.last == Self.carriageReturn }
    let isUsual = returns.count(where: { $0 }) * 2 > returns.count
    returns.append(isUsual)
    let lines = Self.lines(other)
    if returns.allSatisfy({ $0 == isUsual }) {
      returns = lines.map { _ in isUsual }
    } else {
      for change in lines.difference(from: Self.lines(text)) {
        switch change {
        case .remove(let offset, _, _): returns.remove(at: offset)
        case .insert(let offset, _, _): returns.insert(isUsual, at: offset)
        }
      }
    }
    var result = hasMark ? Self.mark : Data()
    for (index, line) in lines.enumerated() {
      result.append(contentsOf: line)
      guard index < lines.count - 1 else { break }
      if returns[index] { result.append(Self.carriageReturn) }
      result.append(Self.lineFeed)
    }
    return result
  }

  private static func lines(_ text: String) -> [[UInt8]] {
    text.utf8.split(separator: lineFeed, omittingEmptySubsequences: false).map { Array($0) }
  }
}

/// The replacement of the contents of a file, which can be reversed.
struct Replacement {
  /// The file itself, and not a symbolic link to it.
  let path: String
  let before: Data
  let after: Data

  var reversed: Replacement { Replacement(path: path, before: after, after: before) }

  /// Replaces the contents at once, and keeps the permissions and the owner.
  ///
  /// Fails without writing if ``check()`` does.
  func write() throws {
    try check()
    let files = FileManager.default
    let kept: [FileAttributeKey] = [.posixPermissions, .ownerAccountID, .groupOwnerAccountID]
    let attributes = try files.attributesOfItem(atPath: path).filter { kept.contains($0.key) }
    let file = URL(fileURLWithPath: path)
    let new = file.deletingLastPathComponent()
      .appendingPathComponent(".\(file.lastPathComponent).\(UUID().uuidString)")
    do {
      try after.write(to: new, options: .withoutOverwriting)
      try files.setAttributes(attributes, ofItemAtPath: new.path)
      guard rename(new.path, path) == 0 else {
        throw MigrateError("'\(path)' can't be replaced: \(String(cString: strerror(errno)))")
      }
    } catch {
      if files.fileExists(atPath: new.path) { try files.removeItem(at: new) }
      throw error
    }
  }

  /// Fails if the file is read-only, if it has other names, which a replacement would leave with the
  /// old contents, or if it doesn't have the contents `before`.
  func check() throws {
    let files = FileManager.default
    let attributes = try files.attributesOfItem(atPath: path)
    let mode = attributes[.posixPermissions] as? NSNumber
    guard let mode, mode.intValue & 0o222 != 0, files.isWritableFile(atPath: path) else {
      throw MigrateError("'\(path)' is read-only. Make it writable first.")
    }
    guard let links = attributes[.referenceCount] as? NSNumber, links.intValue == 1 else {
      throw MigrateError(
        "'\(path)' has more than one hard link. Replace it by a copy of its own first.")
    }
    guard try Data(contentsOf: URL(fileURLWithPath: path)) == before else {
      throw MigrateError("'\(path)' changed since it was read. Run the command again.")
    }
  }
}
