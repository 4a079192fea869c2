import AtomicStoreSPI
import ModelFiles

extension MigrationPlan {
  /// The plan that follows the versions of a `.xcdatamodeld` or `.momd` up to the current one, in the order of their
  /// names: `Library`, `Library 2`, `Library 10`. For any other model file, the one step to it; with a mapping model,
  /// too, as it leads from one version to another without those between.
  ///
  /// - Parameters:
  ///   - path: The model file.
  ///   - version: The version to end at; nil for the current one.
  ///   - options: What each step may do beyond inference. A mapping file is for the last one.
  /// - Throws: what reading the models throws; `.invalidModel`.
  public init(
    versionsAt path: String, version: String? = nil, options: ModelMapping.Options = ModelMapping.Options()
  ) throws {
    let last = try ModelFile.read(at: path, version: version)
    let destination = try Self.model(last.description, path)
    guard let available = try ModelFile.versions(at: path), available.names.count > 1, let end = last.versionName else {
      var stage = Stage.inferred(to: destination, name: last.versionName)
      stage.options = options
      self.init([stage])
      return
    }
    let names = available.names.sorted { Self.precedes($0, $1) }
    if !options.mappingModels.isEmpty {
      var stage = Stage.inferred(to: destination, name: end)
      stage.options = options
      self.init(from: Self.models(names.filter { $0 != end }, path), [stage])
      return
    }
    var stages: [Stage] = []
    for name in names {
      let isLast = name == end
      // A version that cannot be read is not a step, and no reason to stop.
      guard isLast || (try? ModelFile.read(at: path, version: name)) != nil else { continue }
      let model = isLast ? destination : try Self.model(try ModelFile.read(at: path, version: name).description, path)
      var stage = Stage.inferred(to: model, name: name)
      stage.options = options
      if !isLast { stage.options.file = nil }
      stages.append(stage)
      if isLast { break }
    }
    self.init(from: try Self.others(names, after: end, path), stages)
    mayBeCut = true
  }

  /// Versions after the one that the plan ends at: a store may be of one of them.
  private static func others(_ names: [String], after end: String, _ path: String) throws -> [ManagedObjectModel] {
    guard let index = names.firstIndex(of: end) else { return [] }
    return models(Array(names[(index + 1)...]), path)
  }

  /// Those of the versions that can be read.
  private static func models(_ names: [String], _ path: String) -> [ManagedObjectModel] {
    names.compactMap { name in
      (try? ModelFile.read(at: path, version: name)).flatMap { try? ManagedObjectModel($0.description) }
    }
  }

  private static func model(_ description: ModelDescription, _ path: String) throws -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(description)
    } catch {
      throw PersistentStoreError(
        .invalidModel, error.errors.map { "\($0)" }.joined(separator: "; "), at: StoreLocation(file: path))
    }
  }

  /// Whether one version's name comes before another: numbers in them count as numbers.
  package static func precedes(_ one: String, _ other: String) -> Bool {
    func parts(_ name: String) -> [(text: String, number: Int?)] {
      var result: [(String, Int?)] = []
      var rest = name[...]
      while let first = rest.first {
        let isDigit = first.isASCII && first.isNumber
        let run = rest.prefix { ($0.isASCII && $0.isNumber) == isDigit }
        rest = rest.dropFirst(run.count)
        result.append((String(run), isDigit ? Int(run) : nil))
      }
      return result
    }
    for (a, b) in zip(parts(one), parts(other)) {
      if let first = a.number, let second = b.number {
        if first != second { return first < second }
      } else if !a.text.utf8.elementsEqual(b.text.utf8) {
        return a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
      }
    }
    return one.utf8.count < other.utf8.count
  }
}
