public import StorePrimitives

extension BinaryPropertyListReader {
  /// Calls `body` with each element of an array, in order.
  public func forEachElement(
    of array: Object, _ body: (Object) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let list = try references(of: array)
    // Throws the error about the kind.
    if list.isDictionary { _ = try element(0, of: array) }
    for position in 0..<list.count { try body(try reference(position, list)) }
  }
}
