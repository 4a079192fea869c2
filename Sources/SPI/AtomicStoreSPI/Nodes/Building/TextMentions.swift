import StoreFiles

/// The string references of a load in the order in which they are mentioned, those of objects and those in
/// relationships, each with a number. Which objects they lead to is found out for all of them at the end, by
/// ``resolve(jobs:)``: searching for each as it is read would wait for memory each time.
///
/// `@unchecked Sendable`: the header is that of the memory, which is retained beside it and is sendable.
package struct TextMentions: @unchecked Sendable {
  private var memory: MentionMemory?
  /// That of the memory: references to the memory itself would be counted at each mention.
  private var header: UnsafeMutablePointer<MentionMemory.Header>?

  package init() {}

  /// The number of mentions.
  package var count: Int { header?.pointee.count ?? 0 }

  /// The size of the memory for mentions and their texts.
  var byteCount: Int { header?.pointee.byteCount ?? 0 }
  /// The part of it that is in use.
  var valueBytes: Int { header.map { $0.pointee.count * MemoryLayout<MentionKey>.stride + $0.pointee.longCount } ?? 0 }

  /// Adds a mention, and returns which one it is; nil if the system does not have enough memory.
  ///
  /// - Parameters:
  ///   - growth: Is increased by the bytes by which the memory grew.
  ///   - probable: How many mentions there will probably be, from how many there are; asked when the memory is full.
  @inline(__always) mutating func add(
    _ text: UnsafeBufferPointer<UInt8>, growth: inout Int, probable: (Int) -> Int = { _ in 0 }
  ) -> Int? {
    let header = header ?? makeMemory()
    let before = header.pointee.byteCount
    let mention = header.pointee.add(text, probable)
    growth += header.pointee.byteCount - before
    return mention
  }

  @inline(never) private mutating func makeMemory() -> UnsafeMutablePointer<MentionMemory.Header> {
    let made = MentionMemory()
    memory = made
    header = made.header
    return made.header
  }

  /// Adds all mentions of others, which are gone then, in their order, after those that are here. Returns false, with
  /// nothing added, if the system does not have enough memory.
  mutating func append(_ others: inout TextMentions) -> Bool {
    guard let other = others.memory else { return true }
    if let header {
      guard header.pointee.append(other.header.pointee) else { return false }
    } else {
      memory = other
      header = other.header
    }
    others = TextMentions()
    return true
  }

  /// Calls `body` with the bytes of a mention, which are valid inside `body` only.
  package func withBytes<Result>(of mention: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    guard let header, mention < header.pointee.count else {
      return body(UnsafeBufferPointer(start: nil, count: 0))
    }
    let key = header.pointee.keys[mention]
    guard let offset = key.offset else { return key.withShortBytes(body) }
    return body(MentionKey.longText(header.pointee.long, at: offset))
  }

  /// A mention as a string.
  package subscript(mention: Int) -> String { withBytes(of: mention) { String(decoding: $0, as: UTF8.self) } }

  /// Notes which node has a mention as its reference. False if another one has this mention, or without memory for
  /// nodes (``reserveNodes()``).
  package func define(_ mention: Int, as node: NodeHandle) -> Bool {
    header?.pointee.define(mention, node.bits) ?? false
  }

  /// Forgets the nodes of all mentions.
  package func removeNodes() { header?.pointee.removeNodes() }

  /// Finds the node of each mention whose text a node has as its reference.
  ///
  /// - Returns: False if two nodes have equal texts. What is found is then incomplete. Nil if the system does not have
  ///   enough memory.
  package func resolve(jobs: Int) -> Bool? { header.map { $0.pointee.resolve(jobs: jobs) } ?? true }

  /// Reserves memory for the nodes of all mentions. False if the system does not have enough.
  package func reserveNodes() -> Bool { header?.pointee.reserveNodes() ?? true }

  /// The node that was found for a mention; nil if there is none, or nothing was resolved.
  @inline(__always) package func node(of mention: Int) -> NodeHandle? {
    guard let nodes = header?.pointee.nodes, nodes[mention] != NodeHandle.nullBits else { return nil }
    return NodeHandle(bits: nodes[mention])
  }
}

/// The memory of mentions, in blocks that grow where they are if they are large.
///
/// `@unchecked Sendable`: a load writes to it on its thread only. While several threads resolve columns, all of them
/// only read.
private final class MentionMemory: @unchecked Sendable {
  struct Header {
    var keys: UnsafeMutablePointer<MentionKey>
    var count = 0
    var capacity = 0
    /// The texts that are too long for a key, see ``MentionKey/longText(_:at:)``.
    var long: UnsafeMutableRawPointer
    var longCount = 0
    var longCapacity = 0
    /// By mention; nil before nodes are noted.
    var nodes: UnsafeMutablePointer<UInt64>?

    var byteCount: Int { capacity * MemoryLayout<MentionKey>.stride + longCapacity }
  }
  let header: UnsafeMutablePointer<Header>

  init() {
    header = .allocate(capacity: 1)
    header.initialize(
      to: Header(
        keys: Header.resized(nil, 16).assumingMemoryBound(to: MentionKey.self), long: Header.resized(nil, 16)))
  }

  deinit {
    PagedMemory.free(header.pointee.keys)
    PagedMemory.free(header.pointee.long)
    header.pointee.removeNodes()
    header.deallocate()
  }
}

extension MentionMemory.Header {
  static func resized(_ memory: UnsafeMutableRawPointer?, _ bytes: Int) -> UnsafeMutableRawPointer {
    PagedMemory.required(memory, to: bytes)
  }

  @inline(__always) mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ probable: (Int) -> Int) -> Int? {
    let mention = count
    if mention == capacity, !reserveKeys(mention + 1, probable: probable(mention)) { return nil }
    guard let key = text.count <= MentionKey.greatestShort ? MentionKey(short: text) : addLong(text) else { return nil }
    (keys + mention).initialize(to: key)
    count = mention + 1
    return mention
  }

  @inline(never) private mutating func addLong(_ text: UnsafeBufferPointer<UInt8>) -> MentionKey? {
    let offset = longCount
    guard reserveLong(8 + text.count) else { return nil }
    (long + offset).storeBytes(of: UInt64(truncatingIfNeeded: text.count), as: UInt64.self)
    if let base = text.baseAddress { (long + offset + 8).copyMemory(from: base, byteCount: text.count) }
    longCount = offset + 8 + text.count
    return MentionKey(long: text, offset: offset)
  }

  @inline(never) private mutating func reserveKeys(_ needed: Int, probable: Int = 0) -> Bool {
    guard needed > capacity else { return true }
    let larger = max(needed, capacity * 2, 16)
    // Without memory for as many as there will probably be, less is tried.
    return probable > larger && resizeKeys(probable) || resizeKeys(larger)
  }

  private mutating func resizeKeys(_ larger: Int) -> Bool {
    guard let memory = PagedMemory.resized(keys, to: larger * MemoryLayout<MentionKey>.stride) else { return false }
    keys = memory.assumingMemoryBound(to: MentionKey.self)
    capacity = larger
    return true
  }

  private mutating func reserveLong(_ more: Int) -> Bool {
    let needed = longCount + more
    guard needed > longCapacity else { return true }
    let larger = max(needed, longCapacity * 2, 256)
    guard let memory = PagedMemory.resized(long, to: larger) else { return false }
    long = memory
    longCapacity = larger
    return true
  }

  fileprivate mutating func append(_ other: Self) -> Bool {
    let distance = longCount
    guard reserveKeys(count + other.count), reserveLong(other.longCount) else { return false }
    let end = keys + count
    if other.longCount == 0 {
      end.initialize(from: other.keys, count: other.count)
    } else {
      for index in 0..<other.count { (end + index).initialize(to: other.keys[index].moved(by: distance)) }
      (long + distance).copyMemory(from: other.long, byteCount: other.longCount)
      longCount += other.longCount
    }
    count += other.count
    return true
  }

  mutating func define(_ mention: Int, _ node: UInt64) -> Bool {
    guard reserveNodes(), let nodes, nodes[mention] == NodeHandle.nullBits else { return false }
    nodes[mention] = node
    return true
  }

  mutating func reserveNodes() -> Bool {
    if nodes != nil { return true }
    guard let memory = PagedMemory.resized(nil, to: max(count, 1) * 8) else { return false }
    let made = memory.assumingMemoryBound(to: UInt64.self)
    made.initialize(repeating: NodeHandle.nullBits, count: count)
    nodes = made
    return true
  }

  mutating func removeNodes() {
    if let nodes { PagedMemory.free(nodes) }
    nodes = nil
  }

  func resolve(jobs: Int) -> Bool? {
    // Without nodes, nothing can be found.
    guard let nodes else { return true }
    return MentionJoin(keys, long: long, nodes: nodes, count: count, jobs: jobs)?.run(jobs: jobs)
  }
}
