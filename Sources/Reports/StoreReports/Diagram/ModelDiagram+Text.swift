import AtomicStoreSPI

extension ModelDiagram {
  /// The diagram for Graphviz: boxes are tables, and each line begins and ends at the row of its relationship.
  package func dot() -> String {
    var text = """
      digraph model {
        graph [rankdir=LR, nodesep=0.4, ranksep=1.0]
        node [shape=plain, fontname="Helvetica", fontsize=11]
        edge [fontname="Helvetica", fontsize=10, color="#66738a"]

      """
    for (index, box) in boxes.enumerated() {
      text +=
        "  e\(index) [tooltip=\(Self.quoted(box.name)), label=<<table border=\"0\" cellborder=\"1\" cellspacing=\"0\""
      text += " cellpadding=\"4\"><tr><td port=\"title\" bgcolor=\"\(box.mark.fill ?? "#e6ecf5")\"><b>"
      text += Self.markup(DiagramText.title(box)) + "</b>" + (box.isAbstract ? " <i>abstract</i>" : "") + "</td></tr>"
      for (place, row) in box.rows.enumerated() {
        let color = row.mark.fill.map { " bgcolor=\"\($0)\"" } ?? ""
        text += "<tr><td port=\"r\(place)\" align=\"left\"\(color)>\(row.mark.sign)"
        text += Self.markup(DiagramText.name(row))
        let detail = DiagramText.detail(row)
        text += (detail.isEmpty ? "" : "  <font color=\"#55606e\">\(Self.markup(detail))</font>") + "</td></tr>"
      }
      text += "</table>>]\n"
    }
    for link in links {
      let dashes = link.mark == .removed ? ", style=dashed" : ""
      let color = link.mark.stroke.map { ", color=\"\($0)\"" } ?? (link.isInheritance ? ", color=\"#2f6db5\"" : "")
      if link.isInheritance {
        // The super-entity comes first, so that it is left of its sub-entities.
        text += "  \(Self.port(link.to)) -> \(Self.port(link.from)) [dir=back, arrowtail=empty"
      } else {
        text += "  \(Self.port(link.from)) -> \(Self.port(link.to)) [dir=both, arrowtail=\(Self.arrow(link.from.count))"
        text += ", arrowhead=\(Self.arrow(link.to.count))"
      }
      text += ", tooltip=\(Self.quoted(link.title))\(color)\(dashes)]\n"
    }
    return text + "}\n"
  }

  private static func port(_ end: End) -> String { "e\(end.box):" + (end.row.map { "r\($0)" } ?? "title") }

  private static func arrow(_ count: ClosedRange<Int>?) -> String {
    guard let count else { return "none" }
    return (count.upperBound > 1 ? "crow" : "tee") + (count.lowerBound == 0 ? "odot" : "tee")
  }

  private static func quoted(_ text: String) -> String {
    let plain = Markup.shortened(Markup.visible(text), to: 500)
    return "\"" + plain.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  /// Text in a label that is written in Graphviz's markup: it does not take an empty one.
  private static func markup(_ text: String) -> String { text.isEmpty ? " " : Markup.escaped(text) }

  // MARK: Mermaid

  /// The diagram as a class diagram for Mermaid, which GitHub, GitLab and many wikis draw.
  package func mermaid() -> String {
    var text = "classDiagram\n  direction LR\n"
    for (index, box) in boxes.enumerated() {
      text += "  class e\(index)[\"\(Self.coded(DiagramText.title(box)))\"]"
      let rows = box.rows.map { row in
        "    \(row.mark.sign)\(Self.coded(DiagramText.name(row))) \(Self.coded(DiagramText.detail(row)))\n"
      }
      if box.isAbstract || !rows.isEmpty {
        text += " {\n" + (box.isAbstract ? "    <<abstract>>\n" : "") + rows.joined() + "  }"
      }
      text += "\n"
    }
    for link in links {
      if link.isInheritance {
        text += "  e\(link.to.box) <|-- e\(link.from.box)\n"
      } else {
        let line = link.from.count == nil ? "-->" : "--"
        text +=
          "  e\(link.from.box)\(Self.counts(link.from.count)) \(line)\(Self.counts(link.to.count)) e\(link.to.box)"
        text += " : \(Self.coded(link.mark.sign + Markup.shortened(Markup.visible(link.title), to: 120)))\n"
      }
    }
    for mark in Mark.allCases {
      guard let fill = mark.fill, let stroke = mark.stroke else { continue }
      for (index, box) in boxes.enumerated() where box.mark == mark {
        text += "  style e\(index) fill:\(fill),stroke:\(stroke)\n"
      }
    }
    return text
  }

  private static func counts(_ count: ClosedRange<Int>?) -> String {
    guard let count else { return "" }
    let most = count.upperBound == Int.max ? "*" : String(count.upperBound)
    return count.lowerBound == count.upperBound ? " \"\(most)\"" : " \"\(count.lowerBound)..\(most)\""
  }

  /// Text in which nothing has a meaning for Mermaid: everything but letters, digits and harmless punctuation is a
  /// number.
  private static func coded(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || [" ", ".", ",", "_", "?", "-", "+"].contains(scalar)
      if isPlain { result.unicodeScalars.append(scalar) } else { result += "#\(scalar.value);" }
    }
    return result
  }
}

extension ModelDiagram.Mark {
  /// `+ `, `- `, `~ `, or nothing.
  fileprivate var sign: String {
    switch self {
    case .same: ""
    case .added: "+ "
    case .removed: "- "
    case .changed: "~ "
    }
  }
  /// The color behind text.
  fileprivate var fill: String? {
    switch self {
    case .same: nil
    case .added: "#d7f0dd"
    case .removed: "#fbdedb"
    case .changed: "#fbedc4"
    }
  }
  /// The color of lines.
  fileprivate var stroke: String? {
    switch self {
    case .same: nil
    case .added: "#1a7f37"
    case .removed: "#b42318"
    case .changed: "#8a6100"
    }
  }
}
