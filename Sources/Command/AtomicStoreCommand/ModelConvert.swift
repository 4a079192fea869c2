import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import ModelFiles
import StorePredicates

extension Model {
  struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "convert",
      abstract:
        "Convert a model of any kind, or that of a store, to Xcode's source format (.xcdatamodel, .xcdatamodeld), or compile it (.mom, .momd).",
      discussion: """
          atomicstore model convert App.momd App.xcdatamodeld
          atomicstore model convert Old.xcdatamodel/elements Old.xcdatamodel
          atomicstore model convert App.xcdatamodeld App.momd

        The result is read back, and its version hashes are compared with those of the source, before it is moved into place.
        A .momd or .xcdatamodeld is converted to a .xcdatamodeld or .momd with all its versions; with --version, only one of
        them. Whether Core Data loads compiled models of this command was not verified.
        """)
    @Argument(help: "The model file, or a store that carries a model; - for standard input.") var source: String
    @Argument(help: "What to create: .xcdatamodel, .xcdatamodeld, .mom or .momd.") var target: String
    @Option(help: "The version to convert, if the source has several.") var version: String?
    @Flag(help: "Replace an existing model.") var force = false
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        guard !target.isEmpty else { throw CommandFailure("an empty path is not a file name", exitCode: 64) }
        let input = try Input.path(for: source)
        if source != "-" { try refuseSource() }
        let name = PathParts.stem(of: target)
        let unit = try Publication(madeOf: try FileOutput.places([source]))
        switch PathParts.fileExtension(of: target) {
        case "xcdatamodel":
          let model = try writable(try description(input, version))
          try unit.add(model, at: target, overwrite: force)
        case "mom":
          try FileOutput.check(target, besides: FileOutput.places([source]), replaces: force)
          let bytes = try compiled(try description(input, version))
          try unit.addFile(bytes, at: target, replaces: force)
        case "xcdatamodeld":
          let (names, current) = try versions(input, name)
          var list: [(name: String, model: ModelDescription)] = []
          for name in names { list.append((name.target, try writable(try description(input, name.source)))) }
          try unit.add(versions: list, current: current, at: target, overwrite: force)
        case "momd":
          let (names, current) = try versions(input, name)
          var list: [(name: String, model: ModelDescription, bytes: [UInt8])] = []
          for name in names {
            let model = try description(input, name.source)
            list.append((name.target, model, try compiled(model)))
          }
          try unit.add(compiled: list, current: current, at: target, overwrite: force)
        default:
          throw CommandFailure(
            "the result must have the extension .xcdatamodel, .xcdatamodeld, .mom or .momd, not '\(target)'",
            exitCode: 64)
        }
        try unit.commit()
      }
    }

    /// Refuses to write where the source is: what is replaced would be gone, other versions of the model with it.
    private func refuseSource() throws {
      let from = try StorePath.inspect(source)
      let to = try StorePath.inspect(target)
      guard StorePath.isSame(from, path: target) || from.contains(to) || to.contains(from) else { return }
      throw CommandFailure(
        "\(target): the target is the source, or one of them is in the other", exitCode: 73, json: common.json)
    }

    /// The versions of the source with their names in the result, and the current one.
    private func versions(
      _ input: String, _ name: String
    ) throws -> (names: [(source: String?, target: String)], current: String) {
      guard let available = try ModelFile.versions(at: input), !available.names.isEmpty else {
        return ([(version, name)], name)
      }
      if let version {
        let plain = ModelFile.plainVersionName(version)
        return ([(version, plain)], plain)
      }
      return (available.names.map { (source: Optional($0), target: $0) }, available.current ?? available.names[0])
    }

    private func description(_ input: String, _ version: String?) throws -> ModelDescription {
      let read = try ModelSource.read(input, version: version, allowsInvalid: true, json: common.json)
      for text in read.warnings + read.problems { Diagnostics.say("atomicstore: \(source): \(text)") }
      guard read.isWhole, let model = read.model else {
        throw CommandFailure(
          "\(source): the store does not carry a model; one inferred from its data would be a guess", exitCode: 65,
          json: common.json)
      }
      return model.description
    }

    /// The model as a file can hold it; what is omitted is reported.
    private func writable(_ model: ModelDescription) throws -> ModelDescription {
      let (kept, lost) = ModelFile.withoutWhatFilesCannotHold(model)
      for text in lost { Diagnostics.say("atomicstore: \(source): \(text)") }
      try checkHashes(try ModelFile.contents(of: kept), of: model)
      return kept
    }

    /// The model as a compiled file.
    private func compiled(_ model: ModelDescription) throws -> [UInt8] {
      for text in ModelFile.lostInCompiledModel(model) { Diagnostics.say("atomicstore: \(source): \(text)") }
      let bytes = try ModelFile.compiled(model, file: target, parser: .predicates)
      try checkHashes(bytes, of: model)
      return bytes
    }

    /// Reads the result back, and refuses one with other version hashes.
    private func checkHashes(_ bytes: [UInt8], of model: ModelDescription) throws {
      let again = try ModelFile.read(contents: bytes, name: target).description
      let differences = ManagedObjectModel(unchecked: again).versionHashDifferences(
        from: ManagedObjectModel(unchecked: model))
      guard differences.isEmpty else {
        throw CommandFailure(
          "\(target): the result would have other version hashes; nothing was written:\n"
            + differences.map { "  \($0)" }.joined(separator: "\n"), exitCode: 70, json: common.json)
      }
    }
  }
}

extension ModelExpressionParser {
  /// The language of predicates.
  fileprivate static let predicates = ModelExpressionParser(
    predicate: { try FetchPredicate(format: $0) }, expression: { try FetchExpression(format: $0) })
}
