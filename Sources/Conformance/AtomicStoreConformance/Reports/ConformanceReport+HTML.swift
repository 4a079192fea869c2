extension ConformanceReport {
  /// As one page that needs nothing else: what speaks against the format first.
  package var html: String {
    let all = Array(zip(checks, results))
    var groups: [(title: String, rows: [(ConformanceCheck, ConformanceResult)])] = [
      ("Against the format", all.filter { $0.1.outcome.isFailure }),
      ("Not tried on this machine", all.filter { $0.1.outcome == .blocked }),
    ]
    for profile in ConformanceCheck.Profile.reported {
      groups.append(
        (
          "\(profile.rawValue): \(claim(profile).text)",
          all.filter { $0.0.profile == profile && !$0.1.outcome.isFailure && $0.1.outcome != .blocked }
        ))
    }
    // A profile of which nothing is left to show has its claim all the same.
    let shown = groups.enumerated().filter { !$0.element.rows.isEmpty || ($0.offset > 1 && ran($0.offset - 2)) }
    let rows = shown.map { Self.section($0.element.title, $0.element.rows) }.joined()
    let facts = (circumstances?.rows ?? []).map { "<dt>\($0.name)</dt><dd>\(Self.escaped($0.text))</dd>" }.joined()
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(Self.escaped(storeType)) conformance</title>
      <style>
      \(Self.style)
      </style></head><body>
      <h1>\(Self.escaped(storeType)) conformance</h1>
      <p class="verdict \(isSuccess ? "passed" : "failed")">\(verdict)</p>
      <dl>\(facts)</dl>
      <pre>\(Self.escaped(summary))</pre>
      <table><thead><tr><th>Check</th><th>Level</th><th>Outcome</th><th>Rule</th></tr></thead>
      \(rows)</table></body></html>

      """
  }

  private func ran(_ profile: Int) -> Bool {
    checks.contains { $0.profile == ConformanceCheck.Profile.reported[profile] }
  }

  private var verdict: String {
    let count = failures.count
    if count > 0 { return "\(count) of \(results.count) checks speak\(count == 1 ? "s" : "") against the format" }
    return isSuccess ? "No check speaks against the format" : "No check was tried"
  }

  private static func section(_ title: String, _ rows: [(ConformanceCheck, ConformanceResult)]) -> String {
    "<tbody><tr class=\"group\"><th colspan=\"4\">\(escaped(title))</th></tr>\n"
      + rows.map { row($0, $1) }.joined() + "</tbody>\n"
  }

  private static func row(_ check: ConformanceCheck, _ result: ConformanceResult) -> String {
    var detail = escaped(check.title)
    if let reason = result.reason { detail += " <small>\(escaped(reason))</small>" }
    if !result.strip.isEmpty {
      detail +=
        "<div class=\"strip\">"
        + result.strip.map { word in
          "<span class=\"\(escaped(word.lowercased()))\" title=\"\(escaped(word))\"></span>"
        }.joined() + "</div>"
    }
    if result.explanation != nil {
      detail +=
        "<details open><summary>\(result.outcome.rawValue)</summary><pre>\(escaped(Self.text(of: result)))</pre></details>"
    }
    if !result.notes.isEmpty {
      let count = result.notes.count
      detail +=
        "<details><summary>\(count) note\(count == 1 ? "" : "s")</summary><pre>\(escaped(result.notes.joined(separator: "\n")))</pre></details>"
    }
    let outcome = result.outcome.rawValue
    return
      "<tr id=\"\(check.id)\"><td class=\"id\">\(check.id)</td><td>\(check.level.rawValue)</td><td class=\"outcome \(outcome)\">\(outcome)</td><td class=\"rule\">\(detail)</td></tr>\n"
  }

  /// Colors have a contrast of at least 4.5 to 1 with what is behind them, in both schemes; nothing is wider than the
  /// window, and on a narrow one a row is a block.
  static let style = """
    :root { color-scheme: light dark; --text: #1c1c1c; --back: #ffffff; --soft: #565656; --line: #d0d0d0;
      --panel: #f3f3f3; --good: #1b5e20; --fine: #00574b; --bad: #a31515; --odd: #5e1b80; --late: #8f3d00 }
    @media (prefers-color-scheme: dark) { :root { --text: #e4e4e4; --back: #161616; --soft: #b4b4b4; --line: #454545;
      --panel: #242424; --good: #8fd694; --fine: #7fd6c8; --bad: #ff9a94; --odd: #d9a9f2; --late: #ffb77a } }
    * { box-sizing: border-box }
    body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: var(--text);
      background: var(--back); overflow-wrap: anywhere }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em } dt { color: var(--soft) } dd { margin: 0 }
    table { border-collapse: collapse; width: 100% }
    td, th { text-align: left; vertical-align: top; padding: .3em .6em; border-bottom: 1px solid var(--line) }
    th, td:not(.rule) { white-space: nowrap; overflow-wrap: normal }
    tr.group th { background: var(--panel); padding-top: .7em; white-space: normal }
    pre { white-space: pre-wrap; background: var(--panel); padding: .7em; font-size: 13px; margin: .4em 0 }
    .verdict { font-size: 1.2em; font-weight: 600 } .outcome { font-weight: 600; color: var(--soft) }
    .passed { color: var(--good) } .refusalVerified { color: var(--fine) } .failed { color: var(--bad) }
    .crashed { color: var(--odd) } .timedOut { color: var(--late) } small { color: var(--soft) }
    .strip { line-height: 1.1 }
    .strip span { display: inline-block; width: .6em; height: 1em; margin-right: 1px; background: var(--bad) }
    .strip .old { background: var(--soft) } .strip .new { background: var(--good) }
    @media (max-width: 45em) { thead { display: none } table, tbody, tr, td, th { display: block; width: 100% }
      td { border: 0; padding: .1em .6em } td.id { padding-top: .6em } td.rule { border-bottom: 1px solid var(--line) } }
    """
}
