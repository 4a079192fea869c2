package import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StoreCoordination

/// A store format under test, and what its author supplies.
package struct ConformanceSubject: Sendable {
  /// The store format.
  package internal(set) var type: any AtomicStore.Type
  /// The incremental store under test; nil for a format of files that are loaded and saved whole. ``type`` has its name
  /// and traits then.
  var incrementalType: (any IncrementalStore.Type)?
  /// Where checks create and destroy stores of an incremental type that is not in files: a URL without a store, such as
  /// that of an empty schema. Checks at a URL run one after the other.
  var url: String?
  /// Other formats whose files this one must leave alone, and that it converts from and to.
  package var others: [any AtomicStore.Type] = []
  // What a type that conforms to `ChecksummedStore` has set.

  /// Makes more stores to try, from one that the format wrote itself: its files by name, one file under the empty name.
  package var crafted: (@Sendable ([String: [UInt8]]) -> [CraftedStore])?
  /// Makes of a store that holds two objects, with the references 1111111 and 2000003, one in which both have the same:
  /// for formats that write references neither as text nor as whole bytes nor in groups of seven bits. Its files by
  /// name, one file under the empty name. Nil where it cannot.
  package var duplicate: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// What of a store's files is damaged by the checks that come past a checksum, such as the decompressed bytes; nil
  /// for the files as they are. Its files by name, one file under the empty name.
  package var payload: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// Makes files valid again whose ``payload`` was damaged: without it, nothing behind a checksum is tested.
  package var recomputeChecksum: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// Makes a store of a later version of the format, which must be refused as `.unsupportedVersion`; nil where it
  /// cannot.
  package var newerVersion: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// How many random graphs the check of random graphs makes; nil for as many as it makes by itself.
  package var runs: Int?
  /// Options that each store is opened and created with, as if they were the defaults.
  private(set) var options: StoreOptions = [:]
  /// How to write the type on a command line, for the command that runs a check again.
  package var arguments: String
  /// The target of the test that made it.
  let testTarget: String
  /// The fault that is planted, when the harness is tested.
  var fault: String?
  /// Mistakes that the format itself can be told to make, when the harness is tested.
  package var designFaults: [DesignFault] = []
  /// Makes one of them, for the rest of the process.
  package var makeDesignFault: (@Sendable (_ name: String) -> Void)?
  /// For the harness's own tests: checks and faults besides the catalogue's.
  var ownChecks: [CheckDefinition] = []
  var ownFaults: [Fault] = []
  /// Nothing in a check may take longer, whatever the check allows. Nil for the checks’ own limits.
  package var timeLimit: Duration?
  /// For the harness's own tests: as where the calls of a process cannot be seen.
  var isBlind = false

  /// Creates a subject.
  ///
  /// - Parameters:
  /// - type: The format under test.
  ///   - others: Other formats. The one under test may be among them: it is left out, and so are in-process types,
  ///     which have no files.
  ///   - fileID: The file that calls; its target's tests are the only ones that a worker may come by.
  package init(
    _ type: any AtomicStore.Type, others: [any AtomicStore.Type] = [], fileID: StaticString = #fileID
  ) {
    self.type = type
    testTarget = Self.target(of: fileID)
    // A list of all of one's formats is what is at hand.
    self.others = others.filter { ObjectIdentifier($0) != ObjectIdentifier(type) && !$0.traits.isInProcess }
    arguments = "--type \(Self.quoted(type.storeType))"
    guard let type = type as? any ChecksummedStore.Type else { return }
    payload = { type.payload(of: $0) }
    recomputeChecksum = { type.recomputeChecksum(of: $0) }
    newerVersion = { type.newerVersion(of: $0) }
    duplicate = { type.duplicate(of: $0) }
    crafted = { type.crafted(from: $0) }
  }

  /// Creates a subject from an incremental type.
  ///
  /// - Parameters:
  ///   - type: The type under test.
  ///   - url: Where its stores are created and destroyed; nil for files, in directories of the harness. A store that no
  ///     check has created is not touched: the checks are blocked.
  ///   - fileID: The file that calls; its target's tests are the only ones that a worker may come by.
  package init(_ type: any IncrementalStore.Type, url: String? = nil, fileID: StaticString = #fileID) {
    self.type = Self.standIn(for: type)
    testTarget = Self.target(of: fileID)
    incrementalType = type
    self.url = url
    arguments = "--type \(Self.quoted(type.storeType))"
    if let url { arguments += " --url \(Self.quoted(StoreAddress.withoutPassword(url)))" }
  }

  private static func target(of fileID: StaticString) -> String { String("\(fileID)".prefix { $0 != "/" }) }

  /// Has all checks run with options for writing, as if they were the format's defaults.
  ///
  /// - Throws: `.invalidOption` for a name that the format does not have, and for a value that the option does not
  ///   take.
  package mutating func use(_ options: StoreOptions) throws(PersistentStoreError) {
    try type.traits.check(options, of: type.storeType, for: .writing)
    self.options = options
    for (name, value) in options.sorted(by: { $0.key < $1.key }) {
      arguments += " --write-option \(Self.quoted("\(name)=\(value)"))"
    }
  }

  private static func standIn(for type: any IncrementalStore.Type) -> any AtomicStore.Type {
    func make<Base: IncrementalStore>(_: Base.Type) -> any AtomicStore.Type { IncrementalStandIn<Base>.self }
    return make(type)
  }

  /// Whether a check is about this kind of store.
  func concerns(_ profile: ConformanceCheck.Profile) -> Bool {
    isInProcess ? profile == .core : (incrementalType != nil) == (profile == .incremental)
  }

  /// Whether its stores are in the memory of a process only.
  var isInProcess: Bool { incrementalType == nil && type.traits.isInProcess }

  /// The profile that a check belongs to for this subject.
  func profile(of definition: CheckDefinition) -> ConformanceCheck.Profile {
    isInProcess && definition.profile == .core ? .inProcess : definition.profile
  }

  /// As a shell takes it for one word.
  static func quoted(_ text: String) -> String {
    let isPlain =
      !text.isEmpty
      && text.unicodeScalars.allSatisfy { scalar in
        "a"..."z" ~= scalar || "A"..."Z" ~= scalar || "0"..."9" ~= scalar || "-_./+,:@".unicodeScalars.contains(scalar)
      }
    return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
  }
}
