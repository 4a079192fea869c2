import AtomicStoreSPI

/// Boxes that are connected, laid out in columns.
///
/// The method is Sugiyama's: lines are directed so that there is no circle; each box gets a column right of those that
/// lead to it; boxes and passing lines are ordered so that few lines cross; then they are moved to where their lines
/// are short and straight.
struct DiagramGroup {
  let members: [Int]
  let links: [Int]
  let diagram: ModelDiagram
  private let sizes: [BoxSize]
  var items: [DiagramItem] = []
  var edges: [DiagramEdge] = []
  /// The items of each column, from the top.
  var columns: [[Int]] = []
  /// The top of each item.
  var tops: [Double] = []
  /// The items that each link passes, from left to right; empty for loops.
  private var paths: [[Int]]

  private(set) var frames: [DiagramLayout.Frame] = []
  private(set) var routes: [DiagramLayout.Route] = []
  private(set) var width = 0.0
  private(set) var height = 0.0

  /// The number of places for lines that pass columns.
  static let maximumItemCount = 100_000

  init(_ diagram: ModelDiagram, _ sizes: [BoxSize], _ members: [Int], _ links: [Int]) {
    self.diagram = diagram
    self.sizes = members.map { sizes[$0] }
    self.members = members
    self.links = links
    paths = links.map { _ in [] }
  }

  mutating func layOut() throws(PersistentStoreError) {
    let index = Dictionary(uniqueKeysWithValues: members.enumerated().map { ($0.element, $0.offset) })
    let ends = links.map { link -> (Int, Int) in
      let link = diagram.links[link]
      return (index[link.from.box] ?? 0, index[link.to.box] ?? 0)
    }
    let assignment = ColumnAssignment(
      diagram: diagram, links: links, ends: ends, heights: sizes.map(\.height), widths: sizes.map(\.width))
    let columnOfBox = assignment.columns
    items = members.indices.map { DiagramItem(box: $0, column: columnOfBox[$0], height: sizes[$0].height) }
    try addEdges(ends)
    columns = Array(repeating: [], count: (columnOfBox.max() ?? 0) + 1)
    for item in items.indices { columns[items[item].column].append(item) }
    var ordering = ColumnOrdering(items: items, edges: edges, columns: columns)
    ordering.improve()
    columns = ordering.columns
    tops = VerticalFitting(items: items, edges: edges, columns: columns).tops()
    setFrames(ends)
  }

  /// Cuts each line into pieces from column to column.
  private mutating func addEdges(_ ends: [(Int, Int)]) throws(PersistentStoreError) {
    for (number, (one, other)) in ends.enumerated() where one != other {
      let link = diagram.links[links[number]]
      let isForward = items[one].column < items[other].column
      let (first, last) = isForward ? (one, other) : (other, one)
      let start = BoxSize.offset(isForward ? link.from : link.to, link)
      let end = BoxSize.offset(isForward ? link.to : link.from, link)
      var path = [first]
      for column in (items[first].column + 1)..<max(items[first].column + 1, items[last].column) {
        items.append(DiagramItem(box: nil, column: column, height: 0))
        path.append(items.count - 1)
      }
      path.append(last)
      guard items.count <= Self.maximumItemCount else {
        throw PersistentStoreError(.limitExceeded, "the model has too many relationships for a diagram")
      }
      for (from, to) in zip(path, path.dropFirst()) {
        items[from].right.append(edges.count)
        items[to].left.append(edges.count)
        edges.append(DiagramEdge(from: from, to: to, start: from == first ? start : 0, end: to == last ? end : 0))
      }
      paths[number] = path
    }
  }

  private mutating func setFrames(_ ends: [(Int, Int)]) {
    var lefts: [Double] = []
    var rights: [Double] = []
    var x = 0.0
    for column in columns.indices {
      let widest = columns[column].compactMap { items[$0].box.map { sizes[$0].width } }.max() ?? 0
      lefts.append(x)
      rights.append(x + widest)
      let lines = columns[column].reduce(0) { $0 + items[$1].right.count }
      x += widest + 70 + Double(min(90, 5 * lines))
    }
    let hasLoop = ends.contains { $0 == $1 && items[$0].column == columns.count - 1 }
    width = (rights.last ?? 0) + (hasLoop ? DiagramLayout.loopReach : 0)
    let top = tops.min() ?? 0
    for item in items.indices {
      tops[item] = (tops[item] - top).rounded()
      height = max(height, tops[item] + items[item].height)
    }
    frames = members.indices.map { box in
      let column = items[box].column
      return DiagramLayout.Frame(
        x: lefts[column], y: tops[box], width: rights[column] - lefts[column], height: sizes[box].height)
    }
    routes = links.indices.map { number in
      ends[number].0 == ends[number].1
        ? loop(number, ends[number].0, rights) : route(number, ends[number].0, lefts, rights)
    }
  }

  private func loop(_ number: Int, _ box: Int, _ rights: [Double]) -> DiagramLayout.Route {
    let link = diagram.links[links[number]]
    var start = tops[box] + BoxSize.offset(link.from, link)
    var end = tops[box] + BoxSize.offset(link.to, link)
    // A relationship that is its own inverse starts and ends in one row.
    if start == end { (start, end) = (start - 6, end + 6) }
    let x = rights[items[box].column]
    return DiagramLayout.Route(
      points: [DiagramLayout.Point(x: x, y: start), DiagramLayout.Point(x: x, y: end)], isLoop: true,
      leavesRight: true)
  }

  /// Straight across each column, from its left to its right edge; the curves between are implied.
  private func route(_ number: Int, _ first: Int, _ lefts: [Double], _ rights: [Double]) -> DiagramLayout.Route {
    let link = diagram.links[links[number]]
    let path = paths[number]
    let leavesRight = path.first == first
    let (near, far) = leavesRight ? (link.from, link.to) : (link.to, link.from)
    var points: [DiagramLayout.Point] = []
    for (place, item) in path.enumerated() {
      let column = items[item].column
      if place == 0 {
        points.append(DiagramLayout.Point(x: rights[column], y: tops[item] + BoxSize.offset(near, link)))
        points.append(DiagramLayout.Point(x: rights[column] + DiagramLayout.stub, y: points[0].y))
      } else if place == path.count - 1 {
        let y = tops[item] + BoxSize.offset(far, link)
        points.append(DiagramLayout.Point(x: lefts[column] - DiagramLayout.stub, y: y))
        points.append(DiagramLayout.Point(x: lefts[column], y: y))
      } else {
        points.append(DiagramLayout.Point(x: lefts[column], y: tops[item]))
        points.append(DiagramLayout.Point(x: rights[column], y: tops[item]))
      }
    }
    return DiagramLayout.Route(
      points: leavesRight ? points : points.reversed(), isLoop: false, leavesRight: leavesRight)
  }
}
