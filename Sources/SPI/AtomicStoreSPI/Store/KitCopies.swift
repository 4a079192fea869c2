internal import CStorePlugin

/// Copies of the kit in one process: a program and a library that each link the static product have one each.
///
/// Each copy has its own types, locks and lists of staged files, so an object or a format of one is not known to the
/// other. Nothing in the language or the linker refuses that.
package enum KitCopies {
  /// Marks this copy as used. Call it before a store is opened.
  ///
  /// - Throws: `.notSupported`, which names both copies, if another copy in this process is used too.
  package static func requireOnlyOne() throws(PersistentStoreError) {
    let capacity = 4096
    var other: String?
    var own = ""
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
      guard let path = buffer.baseAddress, asp_find_other_copy(path, capacity) == 1 else { return }
      other = String(cString: path)
      asp_path_of_this_copy(path, capacity)
      own = String(cString: path)
    }
    guard let other else { return }
    throw PersistentStoreError(
      .notSupported,
      "this process uses two copies of AtomicStoreKit, one in \(other) and one in \(own): "
        + "link the product AtomicStoreKitDynamic everywhere, or let only one of them link the kit")
  }
}
