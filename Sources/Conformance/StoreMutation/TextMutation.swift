/// Changes of predicate text and of object URIs, by their tokens.
enum TextMutation {
  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ reader: HostileReader, _ random: inout MutationRandom)
  {
    var tokens = cut(bytes)
    let foreign = cut(other)
    let place = random.below(tokens.count)
    let range = tokens.isEmpty ? 0..<0 : random.range(in: tokens.count)
    let word = Array((random.pick(reader == .predicate ? words : uriWords) ?? "").utf8)
    switch random.below(11) {
    case 0: tokens.removeSubrange(range)
    case 1: tokens.insert(contentsOf: Array(tokens[range]), at: place)
    case 2: if !tokens.isEmpty { tokens.swapAt(place, random.below(tokens.count)) }
    case 3, 4: tokens.insert(word, at: place)
    case 5: if tokens.isEmpty { tokens = [word] } else { tokens[place] = word }
    case 6: if !foreign.isEmpty { tokens.replaceSubrange(range, with: foreign[random.range(in: foreign.count)]) }
    case 7: tokens.insert(Edges.text(&random), at: place)
    case 8:
      let depth = random.pick([2, 10, 199, 210, 400]) ?? 2
      let (open, close) =
        random.pick([
          ("(", ")"), ("{", "}"), ("NOT (", ")"), ("-", ""), ("uppercase(", ")"), ("[", "]"),
          ("SUBQUERY(", ", $x, TRUE)"),
        ]) ?? ("(", ")")
      tokens.insert(Array(String(repeating: open, count: depth).utf8), at: range.lowerBound)
      tokens.insert(Array(String(repeating: close, count: depth).utf8), at: range.upperBound + 1)
    case 9:
      let piece = Array(tokens[range].joined()) + (random.once(in: 2) ? Array(" AND ".utf8) : word)
      tokens.insert(Array(Array(repeating: piece, count: random.pick([2, 20, 310]) ?? 2).joined()), at: place)
    default:
      var text = Array(tokens.joined())
      if text.isEmpty { text = word } else { ByteMutation.number(in: &text, &random) }
      tokens = [text]
    }
    bytes = Array(tokens.joined())
  }

  /// Runs of letters and digits, quoted texts, and every other byte on its own.
  private static func cut(_ bytes: [UInt8]) -> [[UInt8]] {
    var tokens: [[UInt8]] = []
    var quote: UInt8?
    for byte in bytes {
      let isWord =
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
        || byte >= 0x80
      if quote != nil || isWord, !tokens.isEmpty,
        quote != nil
          || tokens[tokens.count - 1].first.map({
            $0 >= UInt8(ascii: "0") && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "=")
          }) == true
      {
        tokens[tokens.count - 1].append(byte)
      } else {
        tokens.append([byte])
      }
      if byte == quote {
        quote = nil
      } else if quote == nil, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      }
    }
    return tokens
  }

  private static let words = [
    " == ", " != ", " <> ", " < ", " >= ", " AND ", " OR ", "NOT ", " && ", " || ", "!", " BETWEEN ", " IN ",
    " CONTAINS ", " BEGINSWITH[cd] ", " ENDSWITH[n] ",
    " LIKE ", " LIKE[c] ", " MATCHES ", "ANY ", "ALL ", "NONE ", "SOME ", "TRUEPREDICATE", "FALSEPREDICATE", "SELF",
    "nil", "NULL", "YES", "TRUE", "$x", "%@", "%K",
    "%d", "@count", ".@sum.", ".@avg.salary", ".@unionOfObjects.name", "@max",
    "SUBQUERY(employees, $x, $x.badge > 1).@count", "FUNCTION('a', 'uppercase:')",
    "CAST('1', 'NSDate')", "CAST(1, 'NSString')", "TERNARY(1 == 1, 2, 3)", "sum:({1, 2})", "sqrt:(-1)",
    "modulus:by:(1, 0)", "1 / 0", "1 % 0", " ** ", "2 ** 1024",
    "abs:(-9223372036854775808)", "-9223372036854775808 / -1", "9223372036854775807 + 1", "onesComplement:(5)",
    "leftshift:by:(1, 64)", "rightshift:by:(1, -1)",
    "bitwiseAnd:with:(1.5, 2)", "ceiling:(1e300)", "trunc:(nan)", "random:(0)", "randomn:(-1)", "now()",
    "noindex:(name)", "length:('é')", "name", "badge", "salary", "serial", "rating", "hired",
    "height", "active", "department.name", "manager.manager.manager", "department", "projects", "address.city", "token",
    "photo", "extra", "#AND", "employees[0]",
    "employees[FIRST]", "employees[SIZE]", "'(a+)+$'", "'[[:alpha:]]'", "'a{1000}{1000}'", "'\\\\p{L}'", "'(?=a)'",
    "'.*.*.*.*b'", "'[^'", "'*?*?*'", "'\\u00e9'", "\"\\", "{1, 2}", "{}", "{ 'a', nil }", "0x1F", "0b101",
    "1e400", "1.5", "'text'", "\"t\"", " UNION ", " INTERSECT ", " MINUS ", ":=", ",", "(", ")", "{", "}", "[", "]",
    ".", "'", "\"", "#", "@", "$",
    "CAST(hired, 'NSNumber')", "objectFrom:withIndex:({1}, 5)", "distanceToLocation:fromLocation:(1, 2)",
    "castObject:toType:(1, 'NSUUID')", "median:({})", "stddev:({1})", "mode:({1, 1})",
    "[0]", "[-1]", "[9223372036854775807]", "[LAST]", "mod:(5, 0)", "substring", "first:({})",
  ]
  private static let uriWords = [
    "x-coredata://", "x-coredata:///", "5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE", "/Employee/", "/p1", "/ps1", "/pstext",
    "/t", "p", "s", "%", "%2", "%2F", "%00", "%FF",
    "%C3%A9", "%e9", "%%", "é", "e\u{301}", "-1", "-0", "+1", "00", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "/", "//", "?", "#", " ",
  ]
}
