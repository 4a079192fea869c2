public import FoundationEssentials
import Synchronization

/// Turns the values of transformable attributes into the bytes that stores keep, and back.
///
/// Register one by the name that the model gives (`valueTransformerName`) with
/// ``PersistentStoreCoordinator/setTransformer(_:forName:)``. Attributes whose transformer nobody registered take and
/// give their bytes untouched. (Foundation's `ValueTransformer` does not exist on Linux.)
public protocol AttributeTransformer: Sendable {
  /// The bytes of a value; throws where the value is not of the kind it transforms.
  func data(from value: Any) throws -> Data
  /// The value of bytes that ``data(from:)`` made.
  func value(from data: Data) throws -> Any
}

/// The transformers that a program registered, by name.
final class AttributeTransformers: Sendable {
  private let table = Mutex<[String: any AttributeTransformer]>([:])

  subscript(name: String) -> (any AttributeTransformer)? { table.withLock { $0[name] } }

  /// Registers a transformer; nil removes the one of that name.
  func set(_ transformer: (any AttributeTransformer)?, named name: String) { table.withLock { $0[name] = transformer } }
}
