package import AtomicStoreSPI
import StoreCodecs

extension MappingModel {
  /// Reads the mapping model at a path: `.cdm`, `.xcmappingmodel`, or the `xcmapping.xml` inside it.
  ///
  /// - Returns: nil for anything that is not a mapping model.
  /// - Throws: An error for a mapping model that cannot be read.
  package static func read(at path: String) throws(PersistentStoreError) -> MappingModel? {
    let place = try StorePath.inspect(path)
    guard place.holdsContent else { return nil }
    let source = try StoreSource(opening: place)
    var member: String?
    if source.isFolder {
      guard source.memberNames.contains("xcmapping.xml") else { return nil }
      member = "xcmapping.xml"
    }
    // Most files are something else: those that are recognized by their first bytes are not read completely.
    let head = try source.bytes(ofMember: member, limit: 4096)
    guard head.withUnsafeBytes({ $0.starts(with: "bplist".utf8) || $0.contains(UInt8(ascii: "<")) }) else { return nil }
    let name = source.displayName(ofMember: member)
    let bytes = try source.bytes(ofMember: member)
    switch bytes.withUnsafeBytes({ ModelFileKind.detect($0) }) {
    case .compiledMapping: return try compiled(try bytes.archive(name))
    case .contents:
      guard bytes.withUnsafeBytes({ ModelFileKind.detect($0, root: "database") == .mapping }) else { return nil }
      var reader = MappingSourceReader(file: name)
      return try reader.read(try XMLElement.parse(bytes.span, file: name))
    default: return nil
    }
  }

  /// The mapping models of a directory, such as an application's bundle, two levels deep, by path.
  ///
  /// - Throws: `.notFound` if it contains none; an error for one that cannot be read.
  package static func all(in directory: String) throws(PersistentStoreError) -> [(path: String, model: MappingModel)] {
    var result: [(path: String, model: MappingModel)] = []
    var waiting = [(path: directory, depth: 0)]
    while let (path, depth) = waiting.popLast() {
      for name in try StorePath.inspect(path).allNames().map({ ScalarString($0) }).sorted().map(\.string) {
        let inner = path + "/" + name
        if name.hasSuffix(".cdm") || name.hasSuffix(".xcmappingmodel") {
          guard let model = try read(at: inner) else { continue }
          result.append((inner, model))
        } else if depth < 2, try StorePath.inspect(inner).kind == .folder {
          waiting.append((inner, depth + 1))
        }
      }
    }
    guard !result.isEmpty else {
      throw PersistentStoreError(
        .notFound, "the directory does not contain a mapping model (.cdm, .xcmappingmodel)",
        at: StoreLocation(file: directory))
    }
    return result.sorted { ScalarString($0.path) < ScalarString($1.path) }
  }
}
