package import AtomicStoreSPI
import StoreCodecs

extension ModelFile {
  /// A description of a file of the model family, and what can be done with it.
  package struct Inspection: Sendable {
    /// The kind, such as `compiled model`.
    package var kind: String
    /// Facts about it: entities, versions.
    package var facts: [String]
    /// The next command; nil if there is none.
    package var next: String?
  }

  /// Describes a file or directory of the model family; nil for everything else, stores included.
  ///
  /// - Throws: An error for one that is damaged.
  package static func inspect(_ path: String) throws(PersistentStoreError) -> Inspection? {
    if let mapping = try MappingModel.read(at: path) {
      return Inspection(
        kind: "mapping model", facts: ["\(mapping.entityMappings.count) entity mappings"],
        next: "atomicstore model show \(path)")
    }
    do throws(PersistentStoreError) {
      let file = try read(at: path)
      return inspection(of: file, kind: try kindInWords(path), path)
    } catch {
      switch error.code {
      // Several versions, none of which is marked.
      case .invalidOption:
        let names = try versions(at: path)?.names ?? []
        return Inspection(
          kind: "compiled model",
          facts: ["versions: \(names.joined(separator: ", ")); none is marked as the current one"],
          next: "atomicstore model show \(path) --version NAME")
      case .notSupported: return Inspection(kind: error.message, facts: [], next: nil)
      case .unrecognizedFormat:
        guard let place = try? StorePath.inspect(path), place.kind == .file,
          let bytes = try? StoreSource(opening: place).bytes()
        else { return nil }
        if let member = bytes.withUnsafeBytes({ memberOfModel($0, path) }) { return member }
        let isVersionInfo = bytes.withUnsafeBytes {
          ModelFileKind.detect($0) == .versionInfo || ModelFileKind.detect($0, root: "plist") == .versionInfo
        }
        return isVersionInfo ? Inspection(kind: error.message, facts: [], next: nil) : nil
      default: throw error
      }
    }
  }

  /// Files of a model's directory that do not describe entities.
  private static func memberOfModel(_ bytes: UnsafeRawBufferPointer, _ path: String) -> Inspection? {
    func has(_ text: String) -> Bool {
      let head = Array(bytes.prefix(4096))
      let mark = Array(text.utf8)
      return head.indices.contains { head[$0...].starts(with: mark) }
    }
    let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    let next = "atomicstore model show \(directory.isEmpty ? "." : directory)"
    if PropertyList.isBinary(bytes), has("XDDiagram") || has("XDGraphic") {
      return Inspection(
        kind: "diagram of a model from before Xcode 4 (layout)", facts: ["the model is in 'elements' beside it"],
        next: next)
    }
    if has("<key>_XCCurrentVersionName</key>") {
      return Inspection(
        kind: "name of the current version of a model (.xccurrentversion)",
        facts: ["the versions are in the directory that it is in"], next: next)
    }
    return nil
  }

  private static func kindInWords(_ path: String) throws(PersistentStoreError) -> String {
    let place = try StorePath.inspect(path)
    if place.kind == .folder {
      let source = try StoreSource(opening: place)
      if source.memberNames.contains("contents") { return "model (.xcdatamodel)" }
      if source.memberNames.contains("elements") { return "model from before Xcode 4 (.xcdatamodel)" }
      return source.memberNames.contains { $0.hasSuffix(".mom") || $0.hasSuffix(".omo") }
        ? "compiled model with versions (.momd)" : "model with versions (.xcdatamodeld)"
    }
    switch try StoreSource(opening: place).bytes().withUnsafeBytes({ ModelFileKind.detect($0) }) {
    case .oldArchive: return "model from before Xcode 4 (elements)"
    case .compiled: return "compiled model (.mom)"
    case .optimized: return "optimized compiled model (.omo)"
    default:
      return try StoreSource(opening: place).bytes().withUnsafeBytes { ModelFileKind.detect($0, root: "plist") }
        == .compiled
        ? "compiled model (.mom, in XML)" : "model (contents)"
    }
  }

  private static func inspection(of file: ModelFile, kind: String, _ path: String) -> Inspection {
    let model = ManagedObjectModel(unchecked: file.description)
    var facts = [
      "\(model.entityCount) entities: " + model.entities.prefix(40).map(\.name).joined(separator: ", ")
        + (model.entityCount > 40 ? " …" : "")
    ]
    if !file.availableVersions.isEmpty {
      facts.insert(
        "versions: \(file.availableVersions.joined(separator: ", ")); this is \(file.versionName ?? "one")", at: 0)
    }
    let identifiers = file.description.versionIdentifiers.filter { !$0.isEmpty }
    if !identifiers.isEmpty { facts.append("identifier: \(identifiers.joined(separator: ", "))") }
    facts.append("checksum of the version hashes: \(model.versionHashes.checksum)")
    let isSource = kind.hasPrefix("model (") || kind.hasPrefix("model with")
    let next =
      isSource
      ? "atomicstore model show \(path)"
      : "atomicstore model convert \(path) NAME.\(file.availableVersions.count > 1 ? "xcdatamodeld" : "xcdatamodel")"
    return Inspection(kind: kind, facts: facts, next: next)
  }
}
