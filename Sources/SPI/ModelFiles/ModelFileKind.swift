import AtomicStoreSPI

/// The kind of a file of the model family, by its content.
enum ModelFileKind {
  /// XML, as Xcode 4 and later write it.
  case contents
  /// A `.mom`: a keyed archive of the model itself.
  case compiled
  /// A `.omo`: the same, optimized for memory mapping.
  case optimized
  /// `elements` of a `.xcdatamodel` from before Xcode 4: a keyed archive of the modelling tool's objects.
  case oldArchive
  /// `xcmapping.xml`: a Core Data XML store of the mapping editor.
  case mapping
  /// A `.cdm`: a keyed archive of a mapping model.
  case compiledMapping
  /// `VersionInfo.plist` of a `.momd`.
  case versionInfo
  /// A store in Core Data's XML format.
  case store
  /// A ZIP archive: an `.ipa` has models in it.
  case archive
  case unknown

  /// Detects the kind as far as possible without parsing: all XML is ``contents`` here.
  static func detect(_ bytes: UnsafeRawBufferPointer) -> ModelFileKind {
    if bytes.starts(with: "momv2$".utf8) { return .optimized }
    if bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) { return .archive }
    if bytes.starts(with: "bplist".utf8) {
      // Archives contain the names of their classes.
      if contains(bytes, "XDPMModel") || contains(bytes, "XDPMEntity") { return .oldArchive }
      return compiledKind(bytes)
    }
    var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    while start < bytes.count, " \t\n\r".utf8.contains(bytes[start]) { start += 1 }
    guard start < bytes.count else { return .unknown }
    // In this family, UTF-16 with a byte order mark is XML as well.
    if bytes[start] == UInt8(ascii: "<") || bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) {
      return .contents
    }
    return .unknown
  }

  /// The kind of an XML file whose root element is not a model's.
  static func detect(_ bytes: UnsafeRawBufferPointer, root: String) -> ModelFileKind {
    switch root {
    case "plist":
      if contains(bytes, "XDPMModel") { return .oldArchive }
      return compiledKind(bytes)
    case "database":
      return contains(bytes, "XDDevMappingModel") || contains(bytes, "XDDEVMAPPINGMODEL") ? .mapping : .store
    default: return .unknown
    }
  }

  private static func compiledKind(_ bytes: UnsafeRawBufferPointer) -> ModelFileKind {
    if contains(bytes, "NSManagedObjectModel_VersionHashes") { return .versionInfo }
    if contains(bytes, "NSMappingModel") { return .compiledMapping }
    return contains(bytes, "NSManagedObjectModel") ? .compiled : .unknown
  }

  private static func contains(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    guard let first = wanted.first, bytes.count >= wanted.count else { return false }
    for index in 0...bytes.count - wanted.count where bytes[index] == first {
      if bytes[index..<index + wanted.count].elementsEqual(wanted) { return true }
    }
    return false
  }

  /// The error that names the kind of the file and what to do.
  func refusal(_ file: String) -> PersistentStoreError {
    let text =
      switch self {
      case .contents: "this is a model"
      case .compiled: "this is a compiled model (.mom)"
      case .optimized: "this is an optimized compiled model (.omo)"
      case .oldArchive: "this is a model from before Xcode 4 (an archive of XDPMModel)"
      case .mapping:
        "this is a mapping model, which describes how one version becomes another: 'atomicstore model show' prints it, 'migrate --mapping' follows it"
      case .compiledMapping:
        "this is a compiled mapping model (.cdm), which describes how one version becomes another: 'atomicstore model show' prints it, 'migrate --mapping' follows it"
      case .versionInfo:
        "this is the list of the versions of a compiled model, not a model: use the .momd that contains it"
      case .store: "this is a store in Core Data's XML format, not a model"
      case .archive:
        "this is a ZIP archive, as an .ipa is: unzip it, and specify the directory, which is searched, or the model in it"
      case .unknown: "this is not a model file"
      }
    let isForeign = self == .unknown || self == .archive || self == .store || self == .versionInfo
    return PersistentStoreError(isForeign ? .unrecognizedFormat : .notSupported, text, at: StoreLocation(file: file))
  }
}
