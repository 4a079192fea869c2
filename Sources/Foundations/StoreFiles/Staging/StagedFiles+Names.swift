extension StagedFiles {
  /// A name for the file of a part of a directory store, such as an entity: the part's name, with characters that file
  /// systems do not accept percent-encoded, made unique for file systems that ignore case.
  ///
  /// - Parameters:
  ///   - name: What the part is called.
  ///   - suffix: The extension, without the dot.
  ///   - taken: The names of other files in lower case, to which this one is added.
  public static func memberName(for name: String, extension suffix: String, taken: inout Set<String>) -> String {
    var stem = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "/", "\\", ":", "*", "?", "\"", "<", ">", "|", "%", "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        stem += (digits.count == 1 ? "%0" : "%") + digits
      case "." where stem.isEmpty: stem += "%2E"
      default: stem.unicodeScalars.append(scalar)
      }
    }
    while stem.utf8.count > 200 { stem.unicodeScalars.removeLast() }
    func numbered(_ number: Int) -> String { number < 2 ? "\(stem).\(suffix)" : "\(stem)~\(number).\(suffix)" }
    func isTaken(_ number: Int) -> Bool { taken.contains(numbered(number).lowercased()) }
    // Numbers are given in order: the first free one is found without trying each.
    var (used, free) = (0, 1)
    while isTaken(free) { (used, free) = (free, free * 2) }
    while free - used > 1 {
      let middle = (used + free) / 2
      if isTaken(middle) { used = middle } else { free = middle }
    }
    taken.insert(numbered(free).lowercased())
    return numbered(free)
  }
}
