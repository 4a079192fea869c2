/// Lays out a help text once, at the width of the terminal.
///
/// The input is what the argument parser renders without a limit to its width. Lines of the source that belong to one
/// paragraph are joined; lines with an indent, which are examples, stay as they are.
package struct HelpText {
  /// The column at which the argument parser begins the descriptions of arguments.
  private static let descriptionColumn = 26
  /// Below this width, descriptions have their own lines.
  private static let narrowWidth = 56

  private let width: Int
  private var result: [String] = []
  private var paragraph: [Substring] = []
  /// Whether the lines are those of a list of arguments or subcommands.
  private var isInList = false
  /// The labels of the options that all commands have, while their list is read: they are named, and described once.
  private var common: [Substring]?

  /// - Parameter width: The greatest number of characters in a line, except for examples and for longer words.
  package static func laidOut(_ text: String, width: Int) -> String {
    var layout = HelpText(width: max(20, width))
    for line in inOrder(text.split(separator: "\n", omittingEmptySubsequences: false)) { layout.add(line) }
    layout.endParagraph()
    layout.endCommon()
    return layout.result.joined(separator: "\n")
  }

  /// The lines with a command's own options before those that it shares with others.
  private static func inOrder(_ lines: [Substring]) -> [Substring] {
    guard let own = lines.firstIndex(of: "OPTIONS:"),
      let shared = lines.firstIndex(where: {
        isHeading($0) && ($0.hasPrefix("OPTIONS FOR ") || $0 == "COMMON OPTIONS:")
      }),
      shared < own
    else { return lines }
    let end = lines[(own + 1)...].firstIndex(where: isHeading) ?? lines.endIndex
    return Array(lines[..<shared] + lines[own..<end] + lines[shared..<own] + lines[end...])
  }

  private static func isHeading(_ line: Substring) -> Bool {
    !line.hasPrefix(" ") && line.hasSuffix(":") && line.dropLast() == line.dropLast().uppercased()
  }

  private init(width: Int) { self.width = width }

  private mutating func add(_ line: Substring) {
    if line.hasPrefix("USAGE: ") || line.hasPrefix("Usage: ") {
      endParagraph()
      isInList = true
      wrapUsage(line)
    } else if Self.isHeading(line) {
      endParagraph()
      endCommon()
      isInList = true
      // Of a group of commands, such as LOOK SUBCOMMANDS.
      result.append(line.hasSuffix(" SUBCOMMANDS:") ? line.dropLast(13) + ":" : String(line))
      if line == "COMMON OPTIONS:" { common = [] }
    } else if common != nil {
      if let label = line.prefix(Self.descriptionColumn).firstRange(of: "--").map({ line[$0.lowerBound...] }) {
        common?.append(label.prefix(Self.descriptionColumn - 2).prefix { $0 != " " })
      }
    } else if isInList {
      endParagraph()
      addEntry(line)
    } else if line.isEmpty || line.hasPrefix(" ") {
      endParagraph()
      result.append(String(line))
    } else {
      paragraph += line.split(separator: " ")
    }
  }

  private mutating func endParagraph() {
    guard !paragraph.isEmpty else { return }
    append(paragraph, after: "", indent: 0)
    paragraph = []
  }

  private mutating func endCommon() {
    guard let labels = common else { return }
    common = nil
    append(
      (labels.joined(separator: ", ") + "; 'atomicstore help common' describes them").split(separator: " "), after: " ",
      indent: 2)
    result.append("")
  }

  /// A usage line, broken between arguments: what is in brackets stays together. The list below it names the options.
  private mutating func wrapUsage(_ line: Substring) {
    var words: [Substring] = []
    for word in line.dropFirst(7).split(separator: " ") {
      if let last = words.last, last.hasPrefix("["), !last.contains("]") {
        words[words.count - 1] = last + " " + word
      } else {
        words.append(word)
      }
    }
    if words.contains(where: { $0.hasPrefix("[-") }) {
      words.removeAll { $0.hasPrefix("[-") }
      words.insert("[<options>]", at: words.firstIndex { $0.hasPrefix("<") || $0.hasPrefix("[<") } ?? words.endIndex)
    }
    append(words, after: String(line.prefix(6)), indent: 7)
  }

  /// An argument with its description, or a description that begins on its own line.
  private mutating func addEntry(_ line: Substring) {
    let column = Self.descriptionColumn
    let label = line.prefix(column)
    guard line.count > column, label.last == " " else {
      result.append(String(line))
      return
    }
    let words = line.dropFirst(column).split(separator: " ")
    let hasLabel = label.contains { $0 != " " }
    if width >= Self.narrowWidth {
      let start = hasLabel ? String(label.dropLast()) : String(repeating: " ", count: column - 1)
      return append(words, after: start, indent: column)
    }
    if hasLabel {
      var end = label.endIndex
      while end > label.startIndex, label[label.index(before: end)] == " " { end = label.index(before: end) }
      result.append(String(label[..<end]))
    }
    append(words, after: "     ", indent: 6)
  }

  /// Appends words, on as many lines as they need.
  ///
  /// - Parameter start: What the first line begins with.
  private mutating func append(_ words: [Substring], after start: String, indent: Int) {
    var line = start
    // An indent alone is not something to break after.
    var hasWords = false
    for word in words {
      let needsSpace = !line.isEmpty
      if hasWords, line.count + (needsSpace ? 1 : 0) + word.count > width {
        result.append(line)
        line = String(repeating: " ", count: indent) + word
      } else {
        line += (needsSpace ? " " : "") + word
      }
      hasWords = true
    }
    result.append(line)
  }
}
