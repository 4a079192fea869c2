/// The first line of the document, of which different versions of Core Data have written three forms. A store keeps its
/// form.
enum XMLDeclaration: Sendable, Equatable {
  /// Before about Mac OS X 10.6.
  case plain
  case standaloneNo
  /// Current versions.
  case standaloneYes

  var text: StaticString {
    switch self {
    case .plain: "<?xml version=\"1.0\"?>\n"
    case .standaloneNo: "<?xml version=\"1.0\" standalone=\"no\"?>\n"
    case .standaloneYes: "<?xml version=\"1.0\" standalone=\"yes\"?>\n"
    }
  }

  /// The form at the beginning of a file, ignoring the encoding. Without a declaration, it is the plain one.
  init(_ start: UnsafeRawBufferPointer) {
    // In UTF-16, every second byte of these letters is zero.
    let letters = start.prefix(400).filter { $0 != 0 }
    let declaration = String(decoding: letters.prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self)
    guard let place = declaration.utf8.firstRange(ofWord: "standalone") else {
      self = .plain
      return
    }
    let value = declaration.utf8[place...].drop { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") }.dropFirst()
    self = value.starts(with: "yes".utf8) ? .standaloneYes : .standaloneNo
  }
}

extension String.UTF8View {
  /// The position after the first occurrence of a word.
  fileprivate func firstRange(ofWord word: String) -> Index? {
    var start = startIndex
    while start < endIndex {
      if self[start...].starts(with: word.utf8) { return index(start, offsetBy: word.utf8.count) }
      start = index(after: start)
    }
    return nil
  }
}
