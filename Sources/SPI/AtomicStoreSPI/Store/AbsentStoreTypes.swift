/// Store types that a build of the kit leaves out, so that an error can name what is missing when a file of them is
/// opened.
package struct AbsentStoreTypes: Sendable {
  /// The names of the types.
  package var storeTypes: [String]
  /// The trait of the package that adds them.
  package var trait: String
  /// What a file of these types begins with; empty if they are not files.
  package var magic: [UInt8] = []
  /// Their file name extensions, without the leading dot.
  package var fileExtensions: [String] = []
  /// The schemes of their URLs.
  package var urlSchemes: [String] = []

  package init(
    storeTypes: [String], trait: String, magic: [UInt8] = [], fileExtensions: [String] = [], urlSchemes: [String] = []
  ) {
    self.storeTypes = storeTypes
    self.trait = trait
    self.magic = magic
    self.fileExtensions = fileExtensions
    self.urlSchemes = urlSchemes
  }

  /// What is missing, and what adds it.
  var explanation: String {
    let isOne = storeTypes.count == 1
    return
      "the store type\(isOne ? "" : "s") \(storeTypes.joined(separator: " and ")) \(isOne ? "is" : "are") not part "
      + "of this build: add the trait '\(trait)' where the package AtomicStoreKit is named"
  }
}

extension StoreRegistry {
  /// - Throws: `.notSupported` for content of a type that this build leaves out.
  func refuseAbsent(_ probe: StoreProbe) throws(PersistentStoreError) {
    guard let found = absent.first(where: { !$0.magic.isEmpty && probe.prefix.starts(with: $0.magic) }) else { return }
    throw PersistentStoreError(.notSupported, found.explanation, at: StoreLocation(file: probe.name))
  }

  /// - Throws: `.notSupported` for a URL of a type that this build leaves out.
  package func refuseAbsent(urlScheme: String, at url: String) throws(PersistentStoreError) {
    guard let found = absent.first(where: { $0.urlSchemes.contains(urlScheme) }) else { return }
    throw PersistentStoreError(.notSupported, found.explanation, at: StoreLocation(file: url))
  }

  /// Why a name or a file name extension does not have a type, if this build leaves it out.
  package func absence(storeType: String? = nil, fileExtension: String? = nil) -> String? {
    absent.first { types in
      storeType.map { name in types.storeTypes.contains { ScalarString($0) == ScalarString(name) } } ?? false
        || fileExtension.map { types.fileExtensions.contains($0) } ?? false
    }?.explanation
  }
}
