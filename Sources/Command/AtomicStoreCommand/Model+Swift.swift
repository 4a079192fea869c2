import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import ModelClasses
import ModelFiles

extension Model {
  struct WriteSwift: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "swift",
      abstract: "Write the classes of a model's entities as Swift source files.",
      discussion: """
          atomicstore model swift App.xcdatamodeld --output Sources/App/Model

        One file for each entity, with typed properties, keys for predicates and sorting, and a function for each fetch
        request of the model; and one file that registers the classes. An attribute whose user info has the entry
        'enum' ('low, high', 'low = 1, high = 5', 'Level: low, high') gets an enumeration. Files that are the same
        already are not written. Other files in the directory are not touched.
        """)
    @Argument(help: "The model file, or a store that carries a model; - for standard input.") var source: String
    @Option(
      name: [.customShort("o"), .customLong("output")],
      help: "The directory of the source files. It is created if it does not exist.")
    var output: String
    @Option(help: "The version, if the file has several.") var version: String?
    @Option(help: "The name of the model in Swift; by default that of the file.") var name: String?
    @Flag(name: .customLong("public"), help: "Make the classes public, for use by other modules.") var isPublic = false
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let read = try ModelSource.read(source, version: version, json: common.json)
        guard let model = read.model else {
          throw CommandFailure("\(source): the store does not carry a model", exitCode: 65, json: common.json)
        }
        for text in read.warnings { Diagnostics.say("atomicstore: \(source): \(text)") }
        let writer = SwiftModelWriter(model, name: name ?? PathParts.stem(of: source), isPublic: isPublic)
        let files: [(name: String, text: String)]
        do throws(SwiftModelError) { files = try writer.files() } catch {
          throw CommandFailure(error.message, exitCode: 65, json: common.json)
        }
        func path(_ name: String) -> String { output.hasSuffix("/") ? output + name : output + "/" + name }
        // First, since what is there decides what is written.
        if let first = files.first {
          Publication.undoInterrupted(beside: path(first.name))
          try InstalledFormats.registry.refuseWithinStore(StorePath.inspect(path(first.name)))
        }
        var changed: [(path: String, bytes: [UInt8])] = []
        for (name, text) in files {
          let (path, bytes) = (path(name), Array(text.utf8))
          let place = try StorePath.inspect(path)
          guard place.holdsContent else {
            changed.append((path, bytes))
            continue
          }
          let there = try StoreSource(opening: place).bytes().withUnsafeBytes { Array($0) }
          guard there.starts(with: SwiftModelWriter.mark.utf8) else {
            throw CommandFailure(
              "\(path): this file was not generated, and is not replaced; nothing was written", exitCode: 73,
              json: common.json)
          }
          // An unchanged file keeps its date, so that nothing is compiled again.
          if there != bytes { changed.append((path, bytes)) }
        }
        let unit = try Publication(madeOf: try FileOutput.places([source]))
        try unit.makeDirectory(output)
        for (path, bytes) in changed { try unit.addFile(bytes, at: path, replaces: true) }
        try unit.commit()
        let names = files.map(\.name)
        try Diagnostics.put(
          common.json
            ? JSONValue.object([("files", .array(names.map { .string($0) }))]).text + "\n"
            : names.map { "\($0)\n" }.joined())
      }
    }
  }
}
