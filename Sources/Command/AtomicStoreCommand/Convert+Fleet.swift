import AtomicStoreKit
import CommandSupport
import StoreCodecs
import StoreMaintenance

extension Convert {
  /// Converts each store of a list into a directory.
  func convertAll() throws {
    guard let output, let to else {
      throw CommandFailure("--files-from needs -o, the directory for the results, and --to, their type", exitCode: 64)
    }
    guard renumberMap == nil else {
      throw CommandFailure("--renumber-map is for one store, not for --files-from", exitCode: 64)
    }
    guard output != "-" else {
      throw CommandFailure("the results of --files-from are written to a directory, not to -", exitCode: 64)
    }
    let stores = try fleet.list(besides: sourcePath)
    let prepared = try converter()
    let model = try reading.loadCommonModel()
    let targets = try FleetTargets(
      stores.entries.map(\.path), below: output, type: to, in: InstalledFormats.registry, mayReplace: force)
    try FleetRun(stores, json: common.json).run { index, source in
      let target = try targets.target(index)
      var converter = prepared
      converter.model = try model ?? reading.loadModel(for: source)
      let input = try Input.path(for: source)
      if dryRun {
        converter.isDirectoryPrepared = !FleetTargets.directoryExists(of: target)
      } else {
        try targets.prepareDirectory(of: target, for: &converter)
      }
      return try answer(converter, input, target)
    }
  }

  /// The result of one store. Of one that is refused, the error has the findings of `--check`.
  private func answer(_ converter: StoreConverter, _ input: String, _ target: String) throws -> FleetAnswer {
    var findings: StoreCheck.Report?
    do {
      let report = try converted(converter, input, to: target, &findings)
      let isSound = findings?.isSound ?? true
      return FleetAnswer(Self.json(report, input, target, findings), exitCode: isSound ? 0 : 1)
    } catch {
      var failure = CommandFailure(error, json: true)
      if let findings, case .object(let fields)? = failure.details {
        failure.details = .object(fields + [("check", findings.json)])
      }
      throw failure
    }
  }
}
