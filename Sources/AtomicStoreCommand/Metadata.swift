import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import Foundation

struct Metadata: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Read or change a store's metadata.", subcommands: [Get.self, Set.self])

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the metadata, or one key's value. No row is decoded.")
    @Argument(help: "The store; - for standard input.") var store: String
    @Argument(help: "The key; all keys without it.") var key: String?
    @Option(help: "The type, where the content should not be asked.") var from: String?
    @Option(
      name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
    var readOptions: [String] = []
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let options = try parseOptions(readOptions)
        let input = try Input.path(for: store)
        defer { Input.discard() }
        let metadata = try readingTwice {
          try PersistentStoreCoordinator.metadataForPersistentStore(
            type: from, at: input, options: options, registry: Tool.registry)
        }
        var entries = metadata.entries
        entries["NSStoreType"] = .string(metadata.storeType)
        entries["NSStoreUUID"] = .string(metadata.uuid.uuidString)
        if let key {
          guard let value = entries[key] else {
            throw CommandFailure("\(store): the metadata has no key '\(key)'", exitCode: 1, json: common.json)
          }
          return try Talk.put((common.json ? value.json.text : GraphComparison.plain(value)) + "\n")
        }
        if common.json {
          return try Talk.put(JSONValue.object(entries.map { ($0.key, $0.value.json) }).text + "\n")
        }
        try Talk.put(entries.map { "\($0.key): \(GraphComparison.plain($0.value))\n" }.joined())
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Set a key to a value, or remove it. Nothing but the metadata changes, as far as the format allows byte for byte."
    )
    @Argument(help: "The store.") var store: String
    @Argument(help: "The key.") var key: String
    @Argument(help: "The value, as text unless --type says otherwise.") var value: String?
    @Option(help: "What the value is: string, integer, real, boolean.") var type = "string"
    @Flag(help: "Remove the key.") var remove = false
    @Option(help: "The store's type, where the content should not be asked.") var from: String?
    @Option(
      name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
    var readOptions: [String] = []
    @Flag(
      inversion: .prefixedNo,
      help:
        "Read the store back and compare it before it takes the place of the old one. By default, stores of plug-ins are."
    ) var verify: Bool?
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        guard remove == (value == nil) else {
          throw CommandFailure("give a value, or --remove", exitCode: 64, json: common.json)
        }
        guard store != "-" else { throw CommandFailure("standard input cannot be changed: name a file", exitCode: 64) }
        guard !Self.ownKeys.contains(key) else {
          throw CommandFailure(
            "\(store): the metadata key '\(key)' is the kit's own, and what it says must be true", exitCode: 65)
        }
        let options = try parseOptions(readOptions)
        let path = try Input.path(for: store)
        let value = try value.map { try parsed($0) }
        do {
          try PersistentStoreCoordinator.updateMetadata(type: from, at: path, options: options, registry: Tool.registry,
            verifiesSaves: { verify ?? (Tool.origin(of: $0) != nil) }
          ) { entries in
            if remove, entries[key] == nil {
              throw CommandFailure("\(store): the metadata has no key '\(key)'", exitCode: 1)
            }
            entries[key] = value
          }
        } catch let error as PersistentStoreError where error.code == .changedOnDisk {
          if let failure = try edited(path, options) { throw failure }
          throw error
        }
      }
    }

    /// What the store is refused for whenever it is read, where that is because it was edited since it was saved: no
    /// trouble of this save, but bad data.
    private func edited(_ path: String, _ options: StoreOptions) throws -> CommandFailure? {
      do {
        _ = try readingTwice {
          try PersistentStoreCoordinator(registry: Tool.registry)
            .addPersistentStore(type: from, at: path, options: options, isReadOnly: true)
        }
        return nil
      } catch let failure as CommandFailure {
        return failure
      }
    }

    /// The keys that formats and common saves write for themselves. What else stood there would be taken for theirs.
    private static let ownKeys =
      StoreMetadata.reservedKeys + ["AtomicStoreModel", "AtomicStoreExactEntries", "AtomicStoreSaveSet"]

    private func parsed(_ text: String) throws -> PropertyListValue {
      switch type {
      case "string": return .string(text)
      case "integer":
        // What a property list can hold: of the numbers with a sign, and of those without.
        if let number = Int128(text), number >= Int128(Int64.min), number <= Int128(UInt64.max) {
          return .integer(number)
        }
      case "real":
        if let number = Double(text) {
          // Beyond what a double holds it would become infinite, or zero.
          let mantissa = text.lowercased().prefix { $0 != "e" && $0 != "p" }
          let isLost =
            number.isInfinite && text.contains(where: \.isNumber)
            || number == 0 && mantissa.contains { "123456789".contains($0) }
          guard !isLost else {
            throw CommandFailure("'\(text)' is beyond what a real can hold", exitCode: 64, json: common.json)
          }
          return .real(number)
        }
      case "boolean":
        if ["true", "yes", "1"].contains(text.lowercased()) { return true }
        if ["false", "no", "0"].contains(text.lowercased()) { return false }
      default:
        throw CommandFailure(
          "--type takes string, integer, real, boolean, not '\(type)'", exitCode: 64, json: common.json)
      }
      throw CommandFailure("'\(text)' is no \(type)", exitCode: 64, json: common.json)
    }
  }
}
