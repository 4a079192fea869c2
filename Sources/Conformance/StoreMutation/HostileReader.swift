/// One of the kit's readers of untrusted input.
public enum HostileReader: String, CaseIterable, Sendable, CustomStringConvertible {
  case xmlStore = "xml-store"
  case model
  case modelArchive = "model-archive"
  case binaryPropertyList = "binary-plist"
  case csvStore = "csv-store"
  case coreDataSQLite = "sqlite-store"
  case coreDataBinary = "binary-store"
  /// One file of a directory: a table, or the metadata.
  case arrowStore = "arrow-store"
  case xmlPropertyList = "xml-plist"
  case predicate
  case objectURI = "object-uri"

  public var description: String { rawValue }
}

/// How a reader ended.
public enum HostileOutcome: Hashable, Sendable {
  case value
  /// With its code.
  case refused(String)
}

/// A promise that a reader did not keep.
public struct HostileFinding: Error, CustomStringConvertible {
  package var reader: HostileReader
  package var text: String
  public init(reader: HostileReader, text: String) {
    self.reader = reader
    self.text = text
  }
  public var description: String { "\(reader): \(text)" }
}

/// A CSV store as one input: options, then a file or the members of a folder.
///
/// A line that begins with U+001F holds options, `name=value`, with tabs between; one that begins with U+001E names the
/// member that follows. Without either the input is a file's bytes.
struct PackedCSV {
  var options: [String: String] = [:]
  var members: [(name: String, bytes: [UInt8])] = []
  var file: [UInt8] = []
  var isFolder: Bool { !members.isEmpty }

  /// Begins a line with options: the unit separator.
  static let optionsMark = UInt8(ascii: "\u{1F}")
  /// Begins a line with the name of a directory's file, whose bytes follow: the record separator.
  static let memberMark = UInt8(ascii: "\u{1E}")
  private static func isMark(_ byte: UInt8) -> Bool { byte == optionsMark || byte == memberMark }

  init(_ input: [UInt8]) {
    var rest = input[...]
    while let mark = rest.first, Self.isMark(mark), let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: rest[rest.startIndex + 1..<end], as: UTF8.self)
      rest = rest[(end + 1)...]
      if mark == Self.optionsMark {
        for option in line.split(separator: "\t") {
          let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
          if parts.count == 2 { options[String(parts[0])] = String(parts[1]) }
        }
      } else {
        var next = rest.startIndex
        while next < rest.endIndex {
          if Self.isMark(rest[next]), next == rest.startIndex || rest[next - 1] == UInt8(ascii: "\n") {
            break
          }
          next += 1
        }
        members.append((line, Array(rest[..<next])))
        rest = rest[next...]
      }
    }
    file = Array(rest)
  }

  static func packed(_ members: [(name: String, bytes: [UInt8])]) -> [UInt8] {
    members.flatMap {
      [Self.memberMark] + Array("\($0.name)\n".utf8) + $0.bytes
        + ($0.bytes.last == UInt8(ascii: "\n") ? [] : [UInt8(ascii: "\n")])
    }
  }
}
