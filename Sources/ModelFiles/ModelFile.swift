public import AtomicStoreSPI
public struct ModelFile: Sendable {
  public var description: ModelDescription
  public var warnings: [String]
  public static func read(at path: String) throws(PersistentStoreError) -> ModelFile {
    throw PersistentStoreError(.notSupported, "not yet")
  }
}
