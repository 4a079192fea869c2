import AtomicStoreSPI

extension DiagramLayout {
  /// Lays a diagram out.
  ///
  /// - Throws: `.limitExceeded` if lines would have to pass too many columns.
  package init(_ diagram: ModelDiagram) throws(PersistentStoreError) {
    self.init()
    let sizes = diagram.boxes.map(BoxSize.init)
    frames = sizes.map { Frame(x: 0, y: 0, width: $0.width, height: $0.height) }
    routes = diagram.links.map { _ in Route(points: [], isLoop: false, leavesRight: true) }
    var groups: [DiagramGroup] = []
    for members in Self.components(diagram) {
      var group = DiagramGroup(diagram, sizes, members.boxes, members.links)
      try group.layOut()
      groups.append(group)
    }
    pack(groups)
  }

  /// The boxes that are connected, with their lines; the largest group first.
  private static func components(_ diagram: ModelDiagram) -> [(boxes: [Int], links: [Int])] {
    var group = Array(diagram.boxes.indices)
    func root(_ box: Int) -> Int {
      var box = box
      while group[box] != box {
        group[box] = group[group[box]]
        box = group[box]
      }
      return box
    }
    for link in diagram.links {
      let (one, other) = (root(link.from.box), root(link.to.box))
      if one != other { group[max(one, other)] = min(one, other) }
    }
    var members: [Int: (boxes: [Int], links: [Int])] = [:]
    for box in diagram.boxes.indices { members[root(box), default: ([], [])].boxes.append(box) }
    for (index, link) in diagram.links.enumerated() {
      members[root(link.from.box), default: ([], [])].links.append(index)
    }
    return members.sorted { ($1.value.boxes.count, $0.key) < ($0.value.boxes.count, $1.key) }.map(\.value)
  }

  /// Places the groups in rows: large ones first, then the single boxes by their height.
  private mutating func pack(_ groups: [DiagramGroup]) {
    let gap = 40.0
    let area = groups.reduce(0) { $0 + ($1.width + gap) * ($1.height + gap) }
    let limit = max(groups.map(\.width).max() ?? 0, (area * 1.5).squareRoot())
    let order = groups.indices.sorted {
      if (groups[$0].members.count > 1) != (groups[$1].members.count > 1) { return groups[$0].members.count > 1 }
      if groups[$0].height != groups[$1].height { return groups[$0].height > groups[$1].height }
      return $0 < $1
    }
    var (x, y, rowHeight) = (0.0, 0.0, 0.0)
    for index in order {
      let group = groups[index]
      if x > 0, x + group.width > limit {
        (x, y, rowHeight) = (0, y + rowHeight + gap, 0)
      }
      place(group, Self.margin + x, Self.margin + y)
      width = max(width, x + group.width)
      rowHeight = max(rowHeight, group.height)
      x += group.width + gap
    }
    width += 2 * Self.margin
    height = y + rowHeight + 2 * Self.margin
  }

  private mutating func place(_ group: DiagramGroup, _ x: Double, _ y: Double) {
    for (index, box) in group.members.enumerated() {
      frames[box] = group.frames[index]
      frames[box].x += x
      frames[box].y += y
    }
    for (index, link) in group.links.enumerated() {
      routes[link] = group.routes[index]
      for point in routes[link].points.indices {
        routes[link].points[point].x += x
        routes[link].points[point].y += y
      }
    }
  }
}
