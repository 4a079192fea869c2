import AtomicStoreSPI

extension NodeTable {
  /// Reads the objects of a staged store as another program will, before it is published: with the limits of a reader,
  /// and with the values that the format supplies only when they are read.
  ///
  /// - Parameters:
  ///   - source: The staged files.
  ///   - reader: A new value of the format that wrote them.
  ///   - limits: Those of the reader.
  ///   - written: The objects that were written.
  /// - Throws: `.limitExceeded`, and what reading throws.
  static func staged(
    _ source: StoreSource, by reader: inout any AtomicStore, model: ManagedObjectModel, file: String,
    limits: StoreLimits, written: NodeTable
  ) throws(PersistentStoreError) -> NodeTable {
    let size = try source.totalSize()
    try limits.check(size: size, at: StoreLocation(file: file))
    let builder = NodeTableBuilder(model: model, file: file, limits: limits, inputBytes: size)
    // Ends that contradict each other are so in what was written, or are a difference.
    builder.compareEnds(by: .asStored)
    builder.share(written)
    try reader.load(source, into: builder)
    return try builder.finish().supplied { slot, node, nodes throws(PersistentStoreError) in
      try reader.value(slot: slot, of: node, in: nodes)
    }
  }

  /// The objects with all deferred values.
  func supplied(
    by value: (Int, NodeHandle, NodeTable) throws(PersistentStoreError) -> StoredValue
  ) throws(PersistentStoreError) -> NodeTable {
    var whole = self
    for (node, slot) in deferredSlots where contains(node) {
      try whole.set(try value(slot, node, self), slot: slot, of: node)
    }
    return whole
  }
}

extension StoreLimits {
  /// - Throws: `.limitExceeded` for a store of that size.
  func check(size: Int, at location: StoreLocation) throws(PersistentStoreError) {
    guard size > bytes else { return }
    throw exceeded("maximumBytes", bytes, "the store has \(size) bytes", at: location)
  }
}
