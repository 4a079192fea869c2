public import FoundationEssentials
import Synchronization

/// Converts the values of transformable attributes to the bytes that stores hold, and back.
///
/// Register one under the name that the model gives (`valueTransformerName`) with
/// ``PersistentStoreCoordinator/setTransformer(_:forName:)``. Attributes without a registered transformer accept and
/// return their bytes unchanged. (Foundation's `ValueTransformer` does not exist on Linux.)
public protocol AttributeTransformer: Sendable {
  /// Returns the bytes of a value. Throws if the value is not of the type that it transforms.
  func data(from value: Any) throws -> Data
  /// Returns the value of bytes that ``data(from:)`` created.
  func value(from data: Data) throws -> Any
}

/// The registered transformers, by name.
final class AttributeTransformers: Sendable {
  private let table = Mutex<[String: any AttributeTransformer]>([:])

  subscript(name: String) -> (any AttributeTransformer)? { table.withLock { $0[name] } }

  /// Registers a transformer; nil removes the one of that name.
  func set(_ transformer: (any AttributeTransformer)?, named name: String) { table.withLock { $0[name] = transformer } }
}
