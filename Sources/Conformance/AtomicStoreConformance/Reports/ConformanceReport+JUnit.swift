extension ConformanceReport {
  /// As XML and HTML can have it: what they cannot have, and what cannot be seen, by its number.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\t": result.unicodeScalars.append(scalar)
      default:
        if scalar < " " || scalar == "\u{7F}" || scalar.properties.isNoncharacterCodePoint {
          result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result
  }

  /// As JUnit's XML, which CI systems read. A test case is called by the check's ID, which stays the same when a title
  /// is reworded; the title is a property. A check that this machine could not try is an error, not skipped.
  package var junit: String {
    let failed = count(.failed)
    let broken = count(.crashed) + count(.timedOut) + count(.blocked)
    let skipped = results.filter { [.gap, .notApplicable].contains($0.outcome) }.count
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    text +=
      "<testsuite name=\"\(Self.escaped(storeType)) conformance\" tests=\"\(results.count)\" failures=\"\(failed)\" errors=\"\(broken)\" skipped=\"\(skipped)\">\n"
    if let circumstances {
      text += "  <properties>\n"
      for (name, value) in circumstances.rows {
        text += "    <property name=\"\(name.lowercased())\" value=\"\(Self.escaped(value))\"/>\n"
      }
      text += "  </properties>\n"
    }
    for (check, result) in zip(checks, results) { text += Self.testCase(check, result) }
    return text + "</testsuite>\n"
  }

  private static func testCase(_ check: ConformanceCheck, _ result: ConformanceResult) -> String {
    let milliseconds = Int(result.seconds * 1000)
    let seconds = "\(milliseconds / 1000)." + String(String(milliseconds % 1000 + 1000).dropFirst())
    var text =
      "  <testcase classname=\"\(check.profile.rawValue)\" name=\"\(escaped(check.id))\" time=\"\(seconds)\">\n"
      + "    <properties><property name=\"title\" value=\"\(escaped(check.title))\"/></properties>\n"
    let reason = escaped("\(result.outcome.rawValue): \(result.reason ?? "")")
    switch result.outcome {
    case .passed, .refusalVerified: break
    case .gap, .notApplicable: text += "    <skipped message=\"\(reason)\"/>\n"
    case .blocked: text += "    <error type=\"blocked\" message=\"\(reason)\"/>\n"
    case .failed:
      text +=
        "    <failure message=\"\(escaped(result.explanation?.actual ?? ""))\">\(escaped(Self.text(of: result)))</failure>\n"
    case .crashed, .timedOut:
      text += "    <error message=\"\(result.outcome.rawValue)\">\(escaped(Self.text(of: result)))</error>\n"
    }
    return text + "  </testcase>\n"
  }
}
