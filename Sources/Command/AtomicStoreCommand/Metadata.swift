import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import FoundationEssentials

struct Metadata: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "metadata",
    abstract: "Read or change a store's metadata.", subcommands: [Get.self, Set.self])

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get",
      abstract: "Print the metadata, or the value of one key. No objects are decoded.",
      discussion: """
          atomicstore metadata get Company.xml
          atomicstore metadata get Company.xml NSStoreUUID
        """)
    @Argument(help: "The store; - for standard input.") var store: String
    @Argument(help: "The key; by default all keys.") var key: String?
    @Option(help: "The type, if it should not be detected from the content.", completion: Completions.types) var from:
      String?
    @Option(
      name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
    var readOptions: [String] = []
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let options = try parseOptions(readOptions)
        let input = try Input.path(for: store)
        let metadata = try readingTwice {
          try PersistentStoreCoordinator.metadataForPersistentStore(
            type: from, at: input, options: options, registry: InstalledFormats.registry)
        }
        var entries = metadata.entries
        entries["NSStoreType"] = .string(metadata.storeType)
        entries["NSStoreUUID"] = .string(metadata.uuid.uuidString)
        if let key {
          guard let value = entries[key] else {
            throw CommandFailure(
              "\(Input.shown(store)): the metadata does not have the key '\(key)'", exitCode: 1, json: common.json)
          }
          return try Diagnostics.put((common.json ? value.json.text : GraphComparison.plain(value)) + "\n")
        }
        if common.json {
          return try Diagnostics.put(JSONValue.object(entries.map { ($0.key, $0.value.json) }).text + "\n")
        }
        try Diagnostics.put(entries.map { "\($0.key): \(GraphComparison.plain($0.value))\n" }.joined())
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract:
        "Set a key to a value, or remove it. Only the metadata changes; if the format allows it, all other bytes stay the same.",
      discussion: """
          atomicstore metadata set Company.xml BuildNumber 43 --type integer
          atomicstore metadata set Company.xml BuildNumber --remove
        """)
    @Argument(help: "The store.") var store: String
    @Argument(help: "The key.") var key: String
    @Argument(help: "The value, as text unless --type specifies another type.") var value: String?
    @Option(help: "The type of the value: string, integer, real, boolean.") var type = "string"
    @Flag(help: "Remove the key.") var remove = false
    @Option(help: "The store's type, if it should not be detected from the content.", completion: Completions.types)
    var from: String?
    @Option(
      name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
    var readOptions: [String] = []
    @Flag(
      inversion: .prefixedNo,
      help:
        "Read the store back and compare it before it replaces the old one. Default: only for stores of plug-ins."
    ) var verify: Bool?
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        guard remove == (value == nil) else {
          throw CommandFailure("specify a value, or --remove", exitCode: 64, json: common.json)
        }
        guard store != "-" else {
          throw CommandFailure("standard input cannot be changed: specify a file", exitCode: 64)
        }
        guard !Self.ownKeys.contains(key) else {
          throw CommandFailure(
            "\(Input.shown(store)): the kit manages the metadata key '\(key)', which cannot be changed", exitCode: 65)
        }
        let options = try parseOptions(readOptions)
        let path = try Input.path(for: store)
        let value = try value.map { try parsed($0) }
        do {
          try PersistentStoreCoordinator.updateMetadata(
            type: from, at: path, options: options, registry: InstalledFormats.registry,
            verifiesSaves: { verify ?? (InstalledFormats.origin(of: $0) != nil) }
          ) { entries in
            if remove, entries[key] == nil {
              throw CommandFailure("\(Input.shown(store)): the metadata does not have the key '\(key)'", exitCode: 1)
            }
            entries[key] = value
          }
        } catch let error as PersistentStoreError where error.code == .changedOnDisk {
          if let failure = try edited(path, options) { throw failure }
          throw error
        }
      }
    }

    /// The error for a store that is always refused because it was edited after it was saved: that is invalid data, not
    /// an error of this save.
    private func edited(_ path: String, _ options: StoreOptions) throws -> CommandFailure? {
      do {
        _ = try readingTwice {
          try PersistentStoreCoordinator(registry: InstalledFormats.registry)
            .addPersistentStore(type: from, at: path, options: options, isReadOnly: true)
        }
        return nil
      } catch let failure as CommandFailure {
        return failure
      }
    }

    /// The keys that formats and common saves write themselves. Other values would be misinterpreted.
    private static let ownKeys =
      StoreMetadata.reservedKeys + ["AtomicStoreModel", "AtomicStoreExactEntries", "AtomicStoreSaveSet"]
      + VersionHashes.derivedMetadataKeys

    private func parsed(_ text: String) throws -> PropertyListValue {
      switch type {
      case "string": return .string(text)
      case "integer":
        // The range of a property list's signed and unsigned integers.
        if let number = Int128(text), number >= Int128(Int64.min), number <= Int128(UInt64.max) {
          return .integer(number)
        }
      case "real":
        if let number = Double(text) {
          // A number beyond the range of a double would become infinity or zero.
          let mantissa = text.lowercased().prefix { $0 != "e" && $0 != "p" }
          let isLost =
            number.isInfinite && text.contains(where: \.isNumber)
            || number == 0 && mantissa.contains { "123456789".contains($0) }
          guard !isLost else {
            throw CommandFailure("'\(text)' is out of range for a real", exitCode: 64, json: common.json)
          }
          return .real(number)
        }
      case "boolean":
        if ["true", "yes", "1"].contains(text.lowercased()) { return true }
        if ["false", "no", "0"].contains(text.lowercased()) { return false }
      default:
        throw CommandFailure(
          "--type must be string, integer, real or boolean, not '\(type)'", exitCode: 64, json: common.json)
      }
      throw CommandFailure("'\(text)' is not a valid \(type)", exitCode: 64, json: common.json)
    }
  }
}
