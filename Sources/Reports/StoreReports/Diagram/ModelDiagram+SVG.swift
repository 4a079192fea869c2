import AtomicStoreSPI

extension ModelDiagram {
  /// The picture as SVG, for light and dark backgrounds. It needs no fonts, files or scripts.
  ///
  /// Crow's feet say how many objects there may be at an end: a fork for many, a stroke for one, a circle for none. A
  /// unfilled triangle points at the super-entity. Names that are cut because of their length are complete in the
  /// tooltip.
  ///
  /// - Throws: `.limitExceeded` if the model is too large to be laid out.
  public func svg() throws(PersistentStoreError) -> String {
    SVGDrawing(self, try DiagramLayout(self)).text(isStandalone: true) { _ in nil }
  }

  /// The picture as a part of a page that contains ``SVGDrawing/style``.
  ///
  /// - Parameter link: The address that a box leads to.
  func embeddedSVG(link: (Int) -> String?) throws(PersistentStoreError) -> String {
    SVGDrawing(self, try DiagramLayout(self)).text(isStandalone: false, link: link)
  }
}

/// Draws a diagram with its layout.
struct SVGDrawing {
  private let diagram: ModelDiagram
  private let layout: DiagramLayout

  init(_ diagram: ModelDiagram, _ layout: DiagramLayout) {
    self.diagram = diagram
    self.layout = layout
  }

  /// The style of a picture, of classes only: not every viewer knows variables.
  static let style =
    colors(background: "#fff") + """

      @media (prefers-color-scheme: dark) {
      \(darkColors)
      }
      """

  private static func colors(background: String) -> String {
    """
    .diagram text { font: 12px "DejaVu Sans", Verdana, Helvetica, Arial, sans-serif; fill: #1b2430; }
    .diagram .title { font-size: 14px; font-weight: 600; }
    .diagram .abstract .title { font-style: italic; }
    .diagram .detail, .diagram .sub { fill: #55606e; text-anchor: end; }
    .diagram .page { fill: \(background); }
    .diagram .frame { fill: #fff; stroke: #8591a3; }
    .diagram .head { fill: #e6ecf5; }
    .diagram .line path { fill: none; stroke: #66738a; stroke-width: 1.3; }
    .diagram .line .outlined { fill: #fff; }
    .diagram .inherits path { stroke: #2f6db5; }
    .diagram .added .head, .diagram rect.added { fill: #d7f0dd; } .diagram .added .frame { stroke: #1a7f37; }
    .diagram .removed .head, .diagram rect.removed { fill: #fbdedb; } .diagram .removed .frame { stroke: #b42318; stroke-dasharray: 5 3; }
    .diagram .changed .head, .diagram rect.changed { fill: #fbedc4; } .diagram .changed .frame { stroke: #8a6100; }
    .diagram .line.added path { stroke: #1a7f37; } .diagram .line.changed path { stroke: #8a6100; }
    .diagram .line.removed path { stroke: #b42318; } .diagram .line.removed .course { stroke-dasharray: 5 3; }
    .diagram a:focus-visible .frame, .diagram a:hover .frame { stroke: #2f6db5; stroke-width: 2; }
    """
  }

  private static let darkColors = """
    .diagram text { fill: #e6ebf2; }
    .diagram .detail, .diagram .sub { fill: #a3b0c1; }
    .diagram .page { fill: #14181f; }
    .diagram .frame, .diagram .line .outlined { fill: #1c222c; }
    .diagram .frame { stroke: #566377; }
    .diagram .head { fill: #2a3442; }
    .diagram .line path { stroke: #8f9db2; }
    .diagram .inherits path { stroke: #6ea8ff; }
    .diagram .added .head, .diagram rect.added { fill: #163d22; } .diagram .added .frame { stroke: #4cc26e; }
    .diagram .removed .head, .diagram rect.removed { fill: #4d1f1b; } .diagram .removed .frame { stroke: #f08a80; }
    .diagram .changed .head, .diagram rect.changed { fill: #463a12; } .diagram .changed .frame { stroke: #dcb339; }
    .diagram .line.added path { stroke: #4cc26e; } .diagram .line.changed path { stroke: #dcb339; }
    .diagram .line.removed path { stroke: #f08a80; }
    .diagram a:focus-visible .frame, .diagram a:hover .frame { stroke: #6ea8ff; }
    """

  func text(isStandalone: Bool, link: (Int) -> String?) -> String {
    let (width, height) = (number(layout.width), number(layout.height))
    let label = diagram.isComparison ? "Changes of a model" : "Model"
    var text = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"diagram\" width=\"\(width)\" height=\"\(height)\""
    text += " viewBox=\"0 0 \(width) \(height)\" role=\"img\" aria-label=\"\(label): "
    text += Markup.count(diagram.boxes.count, "entity") + "\">\n"
    if isStandalone {
      text += "<style>\n\(Self.style)\n</style>\n<rect class=\"page\" width=\"\(width)\" height=\"\(height)\"/>\n"
    }
    for index in diagram.links.indices { text += line(index) }
    for index in diagram.boxes.indices { text += box(index, link(index)) }
    return text + "</svg>\n"
  }

  /// Whole pixels and tenths, without a zero behind the point.
  private func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let fraction = abs(tenths % 10)
    return (tenths < 0 && tenths > -10 ? "-" : "") + "\(tenths / 10)" + (fraction == 0 ? "" : ".\(fraction)")
  }

  // MARK: Boxes

  private func box(_ index: Int, _ link: String?) -> String {
    let box = diagram.boxes[index]
    let frame = layout.frames[index]
    let (width, height) = (number(frame.width), number(frame.height))
    let classes = ["box", box.isAbstract ? "abstract" : nil, box.mark == .same ? nil : box.mark.rawValue]
    var text = "<g class=\"\(classes.compactMap { $0 }.joined(separator: " "))\" data-box=\"\(index)\""
    text += " transform=\"translate(\(number(frame.x)) \(number(frame.y)))\">"
    if let link { text += "<a href=\"\(Markup.escaped(link))\">" }
    text += "<title>\(Markup.escaped(box.name))\(box.mark == .same ? "" : " (\(box.mark.rawValue))")</title>\n"
    text += "<rect class=\"frame\" width=\"\(width)\" height=\"\(height)\" rx=\"5\"/>"
    text += "<path class=\"head\" d=\"M.5 \(number(DiagramLayout.titleHeight))V5.5q0-5 5-5h\(number(frame.width - 11))"
    text += "q5 0 5 5v\(number(DiagramLayout.titleHeight - 5.5))z\"/>"
    let x = DiagramLayout.padding
    text += "<text class=\"title\" x=\"\(number(x))\" y=\"20\">\(Markup.escaped(DiagramText.title(box)))</text>"
    if box.isAbstract {
      text += "<text class=\"sub\" x=\"\(number(frame.width - x))\" y=\"20\">abstract</text>"
    }
    text += "\n"
    for (place, row) in box.rows.enumerated() { text += self.row(row, place, frame.width) }
    return text + (link == nil ? "" : "</a>") + "</g>\n"
  }

  private func row(_ row: ModelDiagram.Row, _ place: Int, _ width: Double) -> String {
    let top = DiagramLayout.titleHeight + 3 + Double(place) * DiagramLayout.rowHeight
    let baseline = number(top + 14)
    let (name, detail) = (DiagramText.name(row), DiagramText.detail(row))
    var text = ""
    var x = DiagramLayout.padding
    if row.mark != .same {
      text +=
        "<rect class=\"\(row.mark.rawValue)\" x=\"1\" y=\"\(number(top))\" width=\"\(number(width - 2))\" height=\"20\"/>"
      // Not by color alone.
      let sign = row.mark == .added ? "+" : row.mark == .removed ? "−" : "~"
      text += "<text x=\"\(number(x))\" y=\"\(baseline)\">\(sign)</text>"
      x += 14
    }
    text += "<text x=\"\(number(x))\" y=\"\(baseline)\">\(Markup.escaped(name))\(title(row.name, name))</text>"
    if !detail.isEmpty {
      text += "<text class=\"detail\" x=\"\(number(width - DiagramLayout.padding))\" y=\"\(baseline)\">"
      text += "\(Markup.escaped(detail))\(title(row.detail, detail))</text>"
    }
    return text + "\n"
  }

  /// A tooltip for what was cut.
  private func title(_ whole: String, _ shown: String) -> String {
    shown.hasSuffix("…") ? "<title>\(Markup.escaped(Markup.shortened(whole, to: 2000)))</title>" : ""
  }

  // MARK: Lines

  private func line(_ index: Int) -> String {
    let link = diagram.links[index]
    let route = layout.routes[index]
    guard let first = route.points.first, let last = route.points.last else { return "" }
    let classes = ["line", link.isInheritance ? "inherits" : nil, link.mark == .same ? nil : link.mark.rawValue]
    var text = "<g class=\"\(classes.compactMap { $0 }.joined(separator: " "))\""
    text += " data-ends=\"\(link.from.box) \(link.to.box)\"><title>\(Markup.escaped(link.title))</title>"
    text += "<path class=\"course\" d=\"\(course(route))\"/>"
    if link.isInheritance {
      text += triangle(last, isAtLeft: route.leavesRight)
    } else {
      // A loop arrives from the right at both ends.
      text += foot(first, link.from.count, isAtLeft: !route.leavesRight)
      text += foot(last, link.to.count, isAtLeft: route.leavesRight && !route.isLoop)
    }
    return text + "</g>\n"
  }

  private func course(_ route: DiagramLayout.Route) -> String {
    let points = route.points
    guard let first = points.first else { return "" }
    var text = "M\(number(first.x)) \(number(first.y))"
    if route.isLoop, let last = points.last {
      let reach = number(first.x + DiagramLayout.loopReach * 1.33)
      return text + "C\(reach) \(number(first.y)) \(reach) \(number(last.y)) \(number(last.x)) \(number(last.y))"
    }
    for (from, to) in zip(points, points.dropFirst()) {
      if from.y == to.y {
        text += "H\(number(to.x))"
      } else {
        let middle = number((from.x + to.x) / 2)
        text += "C\(middle) \(number(from.y)) \(middle) \(number(to.y)) \(number(to.x)) \(number(to.y))"
      }
    }
    return text
  }

  /// The triangle whose point is at a box.
  ///
  /// - Parameter isAtLeft: Whether the point is at the left edge of its box.
  private func triangle(_ point: DiagramLayout.Point, isAtLeft: Bool) -> String {
    let side = isAtLeft ? -1.0 : 1
    let x = number(point.x + side * 12)
    return "<path class=\"outlined\" d=\"M\(number(point.x)) \(number(point.y))L\(x) \(number(point.y - 6))"
      + "V\(number(point.y + 6))Z\"/>"
  }

  /// The symbol for how many objects may be at an end.
  private func foot(_ point: DiagramLayout.Point, _ count: ClosedRange<Int>?, isAtLeft: Bool) -> String {
    guard let count else { return "" }
    let side = isAtLeft ? -1.0 : 1
    let (x, y) = (point.x, point.y)
    var text = ""
    if count.upperBound > 1 {
      let tip = number(x + side * 9)
      text += "M\(number(x)) \(number(y - 5))L\(tip) \(number(y))L\(number(x)) \(number(y + 5))"
    } else {
      text += "M\(number(x + side * 6)) \(number(y - 5))v10"
    }
    guard count.lowerBound == 0 else {
      return "<path d=\"\(text)M\(number(x + side * 12)) \(number(y - 5))v10\"/>"
    }
    // A circle of radius 3.
    let near = number(x + side * 9)
    let circle = "M\(near) \(number(y))a3 3 0 1 0 \(side < 0 ? "-6" : "6") 0a3 3 0 1 0 \(side < 0 ? "6" : "-6") 0Z"
    return "<path d=\"\(text)\"/><path class=\"outlined\" d=\"\(circle)\"/>"
  }
}
