// An outline of the doors to files, until branch `files` brings them. Same names, same signatures.
public struct FileIdentity: Hashable, Sendable {}
public struct StoreProbe: Sendable {
  public var name: String
  public var prefix: [UInt8]
  public var size: Int
  public var isFolder: Bool
  public var memberNames: [String]
  public var fileExtension: String
  public func prefix(ofMember name: String) -> [UInt8] { [] }
}
public final class StoreBytes: Sendable {
  public var count: Int { 0 }
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> R) throws(PersistentStoreError) -> R { try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
}
public final class StoreSource: Sendable {
  public let name: String = ""
  public var isFolder: Bool { false }
  public var memberNames: [String] { [] }
  public var size: Int { 0 }
  public func bytes(ofMember member: String? = nil, limit: Int? = nil) throws(PersistentStoreError) -> StoreBytes { StoreBytes() }
  public func readChunks(ofMember member: String? = nil, size: Int = 256 * 1024, _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Bool) throws(PersistentStoreError) {}
}
public final class StagedFile {
  public func write(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {}
  public func close() throws(PersistentStoreError) {}
}
public final class StagedStore {
  public func file() throws(PersistentStoreError) -> StagedFile { StagedFile() }
  public func member(_ name: String) throws(PersistentStoreError) -> StagedFile { StagedFile() }
}
