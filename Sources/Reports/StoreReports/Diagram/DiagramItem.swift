/// What has a place in a column: a box, or a line that passes.
struct DiagramItem {
  /// The box, by its index among the members; nil for a passing line.
  var box: Int?
  var column: Int
  var height: Double
  /// The edges at the left and at the right.
  var left: [Int] = []
  var right: [Int] = []
}

/// The piece of a line between an item and one in the next column.
struct DiagramEdge {
  var from: Int
  var to: Int
  /// How far below the tops of the two items it meets them.
  var start: Double
  var end: Double
}
