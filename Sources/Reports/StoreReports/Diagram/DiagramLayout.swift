/// Where the boxes and lines of a diagram are, in pixels from the top left corner.
///
/// Entities that are connected form a group, which is laid out in columns: a line leads from a row in one column to a
/// row in a column further right. Where it passes a column, room is kept for it, and between columns it is a curve that
/// stays there. So no line runs over a box. Groups are packed side by side.
package struct DiagramLayout: Sendable {
  /// A point.
  package struct Point: Sendable, Hashable {
    /// From the left.
    package var x: Double
    /// From the top.
    package var y: Double
  }
  /// A rectangle.
  package struct Frame: Sendable, Hashable {
    /// The left edge.
    package var x: Double
    /// The top edge.
    package var y: Double
    /// The width.
    package var width: Double
    /// The height.
    package var height: Double
  }
  /// The course of a line.
  package struct Route: Sendable, Hashable {
    /// The points where pieces of the line meet. Pieces between points of the same height are straight, the others
    /// curves that begin and end horizontally.
    package var points: [Point]
    /// Whether the line leads from a box to itself: an arc at the right of its box.
    package var isLoop: Bool
    /// Whether the line leaves its first box to the right, and arrives at the last from the left.
    var leavesRight: Bool
  }

  /// The frames of the boxes, in the diagram's order.
  package internal(set) var frames: [Frame] = []
  /// The lines, in the diagram's order.
  package internal(set) var routes: [Route] = []
  /// The width of the picture.
  package internal(set) var width = 0.0
  /// The height of the picture.
  package internal(set) var height = 0.0

  static let rowHeight = 20.0
  static let titleHeight = 30.0
  static let fontSize = 12.0
  static let titleSize = 14.0
  static let padding = 10.0
  static let margin = 24.0
  /// The room for symbols at the ends of lines.
  static let stub = 16.0
  /// How far an arc at the right of a box reaches.
  static let loopReach = 34.0

  init() {}
}

/// The size of a box, and where lines meet it.
struct BoxSize {
  var width: Double
  var height: Double

  init(_ box: ModelDiagram.Box) {
    let size = DiagramLayout.fontSize
    var widest = TextWidth.pixels(DiagramText.title(box), fontSize: DiagramLayout.titleSize, isBold: true)
    if box.isAbstract { widest += 10 + TextWidth.pixels("abstract", fontSize: size) }
    for row in box.rows {
      let mark = row.mark == .same ? 0.0 : 14
      let name = TextWidth.pixels(DiagramText.name(row), fontSize: size)
      widest = max(widest, mark + name + 18 + TextWidth.pixels(DiagramText.detail(row), fontSize: size))
    }
    width = max(120, widest + 2 * DiagramLayout.padding)
    height = DiagramLayout.titleHeight + Double(box.rows.count) * DiagramLayout.rowHeight + (box.rows.isEmpty ? 0 : 6)
  }

  /// How far below the top of its box the line of an end meets it. At a title, lines of inheritance come above others.
  static func offset(_ end: ModelDiagram.End, _ link: ModelDiagram.Link) -> Double {
    guard let row = end.row else { return link.isInheritance ? 10 : 22 }
    return DiagramLayout.titleHeight + (Double(row) + 0.5) * DiagramLayout.rowHeight + 3
  }
}

/// The texts of a diagram as they are drawn: names are untrusted, and may be long.
enum DiagramText {
  static func title(_ box: ModelDiagram.Box) -> String { Markup.shortened(Markup.visible(box.name), to: 60) }
  static func name(_ row: ModelDiagram.Row) -> String { Markup.shortened(Markup.visible(row.name), to: 60) }
  static func detail(_ row: ModelDiagram.Row) -> String { Markup.shortened(Markup.visible(row.detail), to: 70) }
}
