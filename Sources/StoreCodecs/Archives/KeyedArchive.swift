public import StorePrimitives
import Synchronization

/// A keyed archive (what NSKeyedArchiver writes, as a binary or XML property list), read as data.
///
/// No class is looked up by its name and nothing is instantiated: an object is a table of values, and its class a
/// string. Objects refer to each other, in circles too; each is looked at when it is asked for, so that only a walk of
/// the caller's can go round and round. What lists and dictionaries hand out is counted over the whole archive: a list
/// that is shared by a million objects costs what the file costs, or is refused with `.limitExceeded`.
///
/// ```swift
/// let archive = try KeyedArchive(bytes, file: "Model.mom")
/// let model = try archive.root.expect(class: "NSManagedObjectModel")
/// for (name, entity) in try model.dictionary("NSEntities") ?? [] { … }
/// ```
public struct KeyedArchive: Sendable {
  /// The most objects that an archive may have.
  public static let maximumObjectCount = 10_000_000

  final class Storage: Sendable {
    let objects: [PropertyListValue]
    let file: String?
    /// How many elements may still be handed out.
    let budget: Mutex<Int>
    init(_ objects: [PropertyListValue], file: String?, budget: Int) {
      self.objects = objects
      self.file = file
      self.budget = Mutex(budget)
    }
  }
  let storage: Storage
  /// The archive's entry points by name, `$top`; most have one, `root`.
  public let top: [(key: String, value: Value)]

  /// Reads an archive.
  ///
  /// - Parameter file: For errors.
  /// - Throws: as the property list's decoders do; `.foreignFormat` for a property list that is no keyed archive,
  ///   `.unsupportedVersion` for another version than 100000, `.limitExceeded` beyond ``maximumObjectCount``.
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
      throw PersistentStoreError(.unsupportedVersion, "only keyed archives of version 100000 are read", at: place)
    }
    guard objects.count <= Self.maximumObjectCount else {
      throw PersistentStoreError(
        .limitExceeded, "an archive of more than \(Self.maximumObjectCount) objects", at: place)
    }
    // Each reference takes a byte of the file or more: honest archives stay far below.
    let storage = Storage(objects, file: file, budget: byteCount &* 2 &+ 100_000)
    self.storage = storage
    self.top = top.map { entry in
      (
        entry.key,
        Value(storage: storage, value: entry.value, index: nil, path: Path(parent: nil, step: .key(entry.key))).resolved
      )
    }
  }

  /// How many objects there are, the nil at number 0 included.
  public var objectCount: Int { storage.objects.count }

  /// The object that the archive stands for: `root`, or the first one where none is called that.
  ///
  /// - Throws: `.malformed` where there is none.
  public var root: Value {
    get throws(PersistentStoreError) {
      guard let found = top.first(where: { $0.key == "root" }) ?? top.first else {
        throw PersistentStoreError(.malformed, "the archive has no root object", at: StoreLocation(file: storage.file))
      }
      return found.value
    }
  }

  /// All objects of a class, in the order of the archive. For archives whose root has another name.
  public func objects(ofClass name: String) -> [Value] {
    storage.objects.indices.lazy.map { index in
      Value(storage: storage, value: storage.objects[index], index: index, path: Path(parent: nil, step: .index(index)))
    }.filter { $0.className == name }
  }

  /// The way from the top to a value, for errors.
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
    /// The last steps, `NSEntities.Person.NSProperties`; an archive may be as deep as it likes.
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
  /// A value in an archive: an object with keys of its own, or a plain one such as a string, a number or bytes.
  public struct Value: Sendable {
    let storage: Storage
    let value: PropertyListValue
    /// The number of the object; nil for a value that stands where it is used.
    public let index: Int?
    let path: Path

    /// What a reference leads to.
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

    /// The name of the object's class as text; nil for plain values.
    public var className: String? { classValue?["$classname"]?.stringValue }

    /// The names of the object's class and of those above it.
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

    /// The error with the number and class of the object, and the keys that led to it as its location's property.
    public func malformed(_ message: String, code: PersistentStoreError.Code = .malformed) -> PersistentStoreError {
      var place = index.map { "object \($0)" } ?? "a value within an object"
      if let className { place += " (\(className))" }
      return PersistentStoreError(
        code, "\(place): \(message)", at: StoreLocation(file: storage.file, property: path.text))
    }

    /// This object, if it is of one of these classes or below one.
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
