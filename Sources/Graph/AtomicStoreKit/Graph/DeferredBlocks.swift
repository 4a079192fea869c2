/// A queue of blocks. Removing the first one takes constant time.
struct DeferredBlocks {
  private var blocks: ContiguousArray<(() -> Void)?> = []
  private var first = 0

  mutating func append(_ block: @escaping () -> Void) { blocks.append(block) }

  mutating func popFirst() -> (() -> Void)? {
    guard first < blocks.count else { return nil }
    let block = blocks[first]
    blocks[first] = nil
    first += 1
    if first * 2 >= blocks.count {
      blocks.removeFirst(first)
      first = 0
    }
    return block
  }
}
