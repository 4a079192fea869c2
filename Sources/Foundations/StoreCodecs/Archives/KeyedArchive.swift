public import StorePrimitives
import Synchronization

/// A keyed archive (as NSKeyedArchiver writes it, in a binary or XML property list), read as data.
///
/// No class is looked up by name and nothing is instantiated: an object is a table of values, and its class a string.
/// References between objects may form cycles; each object is read only on request, so only the caller's own traversal
/// can loop. The elements that lists and dictionaries return are counted over the whole archive: a list that is shared
/// by a million objects costs what the file costs, or is refused with `.limitExceeded`.
///
/// ```swift
/// let archive = try KeyedArchive(bytes, file: "Model.mom")
/// let model = try archive.root.expect(class: "NSManagedObjectModel")
/// for (name, entity) in try model.dictionary("NSEntities") ?? [] { … }
/// ```
public struct KeyedArchive: Sendable {
  /// The maximum number of objects in an archive.
  public static let maximumObjectCount = 10_000_000

  final class Storage: Sendable {
    let objects: [PropertyListValue]
    let file: String?
    /// How many elements may still be returned.
    let budget: Mutex<Int>
    init(_ objects: [PropertyListValue], file: String?, budget: Int) {
      self.objects = objects
      self.file = file
      self.budget = Mutex(budget)
    }
  }
  let storage: Storage
  /// The archive's entry points by name, `$top`; most archives have one, `root`.
  public let top: [(key: String, value: Value)]

  /// Reads an archive.
  ///
  /// - Parameters:
  ///   - bytes: A binary or XML property list.
  ///   - file: The name for errors.
  /// - Throws: as the property list's decoders; `.foreignFormat` for a property list that is not a keyed archive,
  ///   `.unsupportedVersion` for another version than 100000, `.limitExceeded` for more than ``maximumObjectCount``
  ///   objects.
  public init(_ bytes: UnsafeRawBufferPointer, file: String? = nil) throws(PersistentStoreError) {
    let list: PropertyListValue
    if PropertyList.isBinary(bytes) {
      do throws(PersistentStoreError) { list = try PropertyList.decodeBinary(bytes) } catch {
        throw error.located(StoreLocation(file: file))
      }
    } else {
      list = try PropertyList.decodeXML(Span(_unsafeBytes: bytes), file: file)
    }
    try self.init(list, byteCount: bytes.count, file: file)
  }

  /// Reads an archive.
  public init(_ bytes: [UInt8], file: String? = nil) throws(PersistentStoreError) {
    let result: Result<KeyedArchive, PersistentStoreError> = bytes.withUnsafeBytes { raw in
      do throws(PersistentStoreError) { return .success(try KeyedArchive(raw, file: file)) } catch {
        return .failure(error)
      }
    }
    self = try result.get()
  }

  private init(_ list: PropertyListValue, byteCount: Int, file: String?) throws(PersistentStoreError) {
    let place = StoreLocation(file: file)
    guard let dictionary = list.dictionaryValue, dictionary["$archiver"] != nil,
      case .array(let objects)? = dictionary["$objects"], case .dictionary(let top)? = dictionary["$top"]
    else { throw PersistentStoreError(.foreignFormat, "this property list is not a keyed archive", at: place) }
    guard dictionary["$archiver"]?.stringValue == "NSKeyedArchiver", dictionary["$version"]?.integerValue == 100_000
    else {
      throw PersistentStoreError(.unsupportedVersion, "only keyed archives of version 100000 are supported", at: place)
    }
    guard objects.count <= Self.maximumObjectCount else {
      throw PersistentStoreError(
        .limitExceeded, "the archive has more than \(Self.maximumObjectCount) objects", at: place)
    }
    // Each reference takes at least a byte of the file: real archives have far fewer.
    let storage = Storage(objects, file: file, budget: byteCount &* 2 &+ 100_000)
    self.storage = storage
    self.top = top.map { entry in
      (
        entry.key,
        Value(storage: storage, value: entry.value, index: nil, path: Path(parent: nil, step: .key(entry.key))).resolved
      )
    }
  }

  /// The number of objects, including the nil at number 0.
  package var objectCount: Int { storage.objects.count }

  /// The root object: `root`, or the first entry point if none has that name.
  ///
  /// - Throws: `.malformed` if there is none.
  public var root: Value {
    get throws(PersistentStoreError) {
      guard let found = top.first(where: { $0.key == "root" }) ?? top.first else {
        throw PersistentStoreError(.malformed, "the archive has no root object", at: StoreLocation(file: storage.file))
      }
      return found.value
    }
  }

  /// Returns all objects of a class, in the order of the archive. For archives whose root has another name.
  package func objects(ofClass name: String) -> [Value] {
    storage.objects.indices.lazy.map { index in
      Value(storage: storage, value: storage.objects[index], index: index, path: Path(parent: nil, step: .index(index)))
    }.filter { $0.className == name }
  }

  /// The path from the top to a value, for errors.
  final class Path: Sendable {
    enum Step: Sendable {
      case key(String)
      case index(Int)
    }
    let parent: Path?
    let step: Step
    init(parent: Path?, step: Step) {
      self.parent = parent
      self.step = step
    }
    /// The last steps, such as `NSEntities.Person.NSProperties`; an archive may be arbitrarily deep.
    var text: String {
      var steps: [String] = []
      var next: Path? = self
      while let path = next, steps.count < 8 {
        switch path.step {
        case .key(let key): steps.append(key.utf8.count > 80 ? key.prefix(60) + "…" : key)
        case .index(let index): steps.append("[\(index)]")
        }
        next = path.parent
      }
      return (next == nil ? "" : "….") + steps.reversed().joined(separator: ".")
    }
  }
}

extension KeyedArchive {
  /// A value in an archive: an object with keys, or a plain value such as a string, a number or bytes.
  public struct Value: Sendable {
    let storage: Storage
    let value: PropertyListValue
    /// The number of the object; nil for an inline value.
    public let index: Int?
    let path: Path

    /// The value with its reference resolved.
    var resolved: Value {
      guard case .uid(let number) = value, let index = Int(exactly: number), storage.objects.indices.contains(index)
      else { return self }
      return Value(storage: storage, value: storage.objects[index], index: index, path: path)
    }

    /// Whether this is nil: object number 0, or an NSNull.
    public var isNull: Bool {
      if index == 0 { return true }
      if case .string("$null") = value { return true }
      return className == "NSNull"
    }

    /// The name of the object's class; nil for plain values.
    public var className: String? { classValue?["$classname"]?.stringValue }

    /// The names of the object's class and its superclasses.
    public var classNames: [String] {
      guard let found = classValue else { return [] }
      let all = found["$classes"]?.arrayValue?.compactMap(\.stringValue) ?? []
      return all.isEmpty ? found["$classname"]?.stringValue.map { [$0] } ?? [] : all
    }

    private var classValue: PropertyListDictionary? {
      guard case .dictionary(let fields) = value, case .uid(let number)? = fields["$class"],
        let index = Int(exactly: number),
        storage.objects.indices.contains(index)
      else { return nil }
      return storage.objects[index].dictionaryValue
    }

    /// Returns an error with the number and class of the object, and the keys that lead to it as the property of the
    /// location.
    public func malformed(_ message: String, code: PersistentStoreError.Code = .malformed) -> PersistentStoreError {
      var place = index.map { "object \($0)" } ?? "a value within an object"
      if let className { place += " (\(className))" }
      return PersistentStoreError(
        code, "\(place): \(message)", at: StoreLocation(file: storage.file, property: path.text))
    }

    /// Returns this object, if it is of one of these classes or a subclass.
    ///
    /// - Throws: `.malformed`.
    public func expect(class names: String...) throws(PersistentStoreError) -> Value {
      guard classNames.contains(where: { names.contains($0) }) else {
        throw malformed("an object of the class \(names.joined(separator: " or ")) is expected")
      }
      return self
    }
  }
}
