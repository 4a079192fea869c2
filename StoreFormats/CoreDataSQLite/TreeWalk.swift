import AtomicStoreSPI

/// What can be reached of the tree of one table.
struct TreeContent {
  /// A page with rows, and the keys that may be on it.
  struct Leaf {
    let page: Int
    let keys: ClosedRange<Int64>
  }
  /// A page that cannot be read, and the keys of the rows below it.
  struct Gap {
    let page: Int
    let keys: ClosedRange<Int64>
    let reason: String
  }

  /// In the order of their keys.
  var leaves: [Leaf] = []
  var gaps: [Gap] = []
  /// All pages of the tree, without those of long values.
  var pages: [Int] = []
}

/// Walks through trees of tables from their roots. No page is used twice, in one tree or in several, so that the time
/// grows with the file.
struct TreeWalk {
  private let pages: DatabasePages
  /// The pages that belong to trees, by number.
  private(set) var claimed: [Bool]
  /// The pages of which the pointer map says that they are below another one, by that one's number.
  private let childrenByMap: [Int: [Int]]
  /// SQLite's own limit of the depth of a tree.
  private static let maximumDepth = 20

  init(_ pages: DatabasePages) {
    self.pages = pages
    claimed = Array(repeating: false, count: pages.count + 1)
    var children: [Int: [Int]] = [:]
    if pages.hasPointerMap {
      for page in 1...max(pages.count, 1) {
        if let (use, parent) = pages.use(of: page), use == .tree { children[parent, default: []].append(page) }
      }
    }
    childrenByMap = children
  }

  /// Marks pages as used, so that no other tree has them.
  mutating func claim(_ numbers: [Int]) {
    for number in numbers where claimed.indices.contains(number) { claimed[number] = true }
  }

  /// The tree below a page. Its pages are not claimed.
  ///
  /// - Parameter keys: The keys that the rows may have.
  func content(below root: Int, keys: ClosedRange<Int64> = .min ... .max) -> TreeContent {
    var content = TreeContent()
    var seen: Set<Int> = []
    visit(root, parent: nil, keys, 0, &content, &seen)
    return content
  }

  /// Whether a page is below a root that has been damaged, or is one itself: what is left of a tree.
  func isRootless(_ page: Int) -> Bool {
    guard !claimed[page], pages.header(page)?.kind.isTable == true else { return false }
    switch pages.use(of: page) {
    case (.root, _)?, nil: return true
    case (.tree, let parent)?: return pages.header(parent)?.kind.isTable != true
    default: return false
    }
  }

  private func visit(
    _ page: Int, parent: Int?, _ keys: ClosedRange<Int64>, _ depth: Int, _ content: inout TreeContent,
    _ seen: inout Set<Int>
  ) {
    func lose(_ reason: String) { content.gaps.append(TreeContent.Gap(page: page, keys: keys, reason: reason)) }
    guard depth < Self.maximumDepth else { return lose("the tree is deeper than SQLite makes one") }
    guard !claimed.indices.contains(page) || !claimed[page], !seen.contains(page) else {
      return lose("it belongs to something else")
    }
    if let parent, let (use, owner) = pages.use(of: page), use != .tree || owner != parent {
      return lose("it belongs to something else")
    }
    guard let header = pages.header(page), header.kind.isTable else {
      lose(pages.description(of: page))
      // The map of pages says what was below it, and not in which order.
      let below = (childrenByMap[page] ?? []).filter { !claimed[$0] && !seen.contains($0) }
        .map { (page: $0, key: firstKey(below: $0)) }
        .sorted { ($0.key, $0.page) < ($1.key, $1.page) }
      if pages.isUsable(page) { mark(page, &content, &seen) }
      for child in below { visit(child.page, parent: page, keys, depth + 1, &content, &seen) }
      return
    }
    mark(page, &content, &seen)
    guard header.kind == .interiorTable else {
      content.leaves.append(TreeContent.Leaf(page: page, keys: keys))
      return
    }
    var low = keys.lowerBound
    for index in 0..<header.cellCount {
      guard low <= keys.upperBound else {
        content.gaps.append(
          TreeContent.Gap(page: page, keys: keys.upperBound...keys.upperBound, reason: "its entries are out of order"))
        return
      }
      guard let offset = pages.cellOffset(index, of: header),
        let key = pages.variableInteger(at: header.start + offset + 4, before: header.start + pages.usableSize)?.value
      else {
        content.gaps.append(
          TreeContent.Gap(page: page, keys: low...keys.upperBound, reason: "its entry \(index + 1) is damaged"))
        continue
      }
      // A key that is not in order says nothing about the rows below it.
      let isInOrder = key >= low && key <= keys.upperBound
      visit(
        Int(pages.bytes.bigEndian32(header.start + offset)), parent: page,
        isInOrder ? low...key : low...keys.upperBound, depth + 1, &content, &seen)
      if isInOrder, key < .max { low = key + 1 }
    }
    guard low <= keys.upperBound else { return }
    visit(pages.lastChild(header), parent: page, low...keys.upperBound, depth + 1, &content, &seen)
  }

  private func mark(_ page: Int, _ content: inout TreeContent, _ seen: inout Set<Int>) {
    seen.insert(page)
    content.pages.append(page)
  }

  /// The least key below a page, by which pages without a parent are put in order.
  private func firstKey(below page: Int) -> Int64 {
    var page = page
    for _ in 0..<Self.maximumDepth {
      guard let header = pages.header(page), header.cellCount > 0, let offset = pages.cellOffset(0, of: header) else {
        return .max
      }
      let end = header.start + pages.usableSize
      switch header.kind {
      case .interiorTable: page = Int(pages.bytes.bigEndian32(header.start + offset))
      case .leafTable:
        guard let size = pages.variableInteger(at: header.start + offset, before: end)?.size else { return .max }
        return pages.variableInteger(at: header.start + offset + size, before: end)?.value ?? .max
      default: return .max
      }
    }
    return .max
  }
}
