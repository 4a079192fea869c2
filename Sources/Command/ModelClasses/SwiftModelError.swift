/// Why no classes can be written for a model.
package struct SwiftModelError: Error, CustomStringConvertible {
  /// The entity and its property, what the model says, and what is wrong with it.
  package let message: String
  package var description: String { message }
}
