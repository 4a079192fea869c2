import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension ConformanceSubject {
  /// Adds the check FUZ-01, which gives the reader changed files.
  ///
  /// - Parameters:
  ///   - seconds: For how long.
  ///   - corpus: The directory in which files that the reader cannot bear are kept. What is in it is tried first.
  package mutating func addFuzzing(seconds: Double, corpus: String) {
    ownChecks.append(Checks.fuzzing(seconds, corpus))
  }
}

extension Checks {
  /// As HOS-01 and HOS-16, with stores of several kinds, and for as long as one likes.
  fileprivate static func fuzzing(_ seconds: Double, _ corpus: String) -> CheckDefinition {
    CheckDefinition(
      "FUZ-01", "Whatever a file's bytes are, opening it ends: with its objects or with a store error",
      profile: .hostile, from: kit,
      by:
        "changes of stores' files, and of their payloads, for \(Int(seconds)) s; a file that ends a process, of a program too, or takes more than 5 s or 3 GB, is made smaller and kept in \(corpus)",
      causes: ["a length or an index from the file is used unchecked"], timeLimit: Int(seconds) * 3 + 600
    ) { check in
      let bases = try check.fuzzedStores()
      var found = try check.knownFailures(in: corpus, bases.map(\.model))
      let end = ContinuousClock.now + .seconds(seconds)
      var random = SeededRandom(check.seed)
      var tried = 0
      while ContinuousClock.now < end {
        let base = bases[random.below(bases.count)]
        let path = check.path("fuzzed")
        Files.put(base.files, at: path)
        let payload = random.below(2) == 0 ? base.payload : nil
        let damages = Mutation.some(200, of: payload ?? base.files, &random)
        tried += damages.count
        do { _ = try check.openHostile(path, base.model, damages, of: payload) } catch let failure as ExpectationFailure
        {
          // Files that take long together, and none of them alone.
          guard let files = Files.content(check.folder + "/culprit") else {
            check.note("slow together, not alone: \(failure.expected)")
            continue
          }
          let reason = "\(failure.expected): \(failure.actual)".prefix(400)
          found.append(try check.keep(files, base.model, "\(reason)", in: corpus))
          Files.remove(check.folder + "/culprit")
        }
      }
      check.record.expected()
      check.note("\(tried) changed files")
      guard found.isEmpty else {
        throw ExpectationFailure(
          expected: "each of \(tried) files is opened, or refused with a store error",
          actual: "\(found.count) are not:\n" + found.prefix(20).map { "  " + $0 }.joined(separator: "\n"))
      }
    }
  }
}

extension CheckContext {
  fileprivate struct FuzzedStore {
    let model: ModelDescription
    let files: [String: [UInt8]]
    let payload: [String: [UInt8]]?
  }

  /// A small store, one with all kinds of relationships, and one with all kinds of values.
  fileprivate func fuzzedStores() throws -> [FuzzedStore] {
    var stores = [try small("small").path, try golden("golden").path].map { ($0, Models.nodes) }
    let values = Models.everyType(traits)
    let path = path("values")
    if (try unlessRefused("save values of all types", { try $0.forge(values, to: path).count })) != nil {
      stores.append((path, values.model))
    }
    return stores.map { path, model in
      let files = Files.content(path) ?? [:]
      return FuzzedStore(model: model, files: files, payload: payload(of: files))
    }
  }

  /// How a file is opened.
  private struct Opening {
    let model: ModelDescription?
    let options: StoreOptions
  }

  /// How a process that opens the files does not come to its end, of all ways: with each of the models, without one,
  /// with the options for files that were changed by hand, and without; nil if it does.
  private func failing(_ files: [String: [UInt8]], _ models: [ModelDescription?]) throws -> Opening? {
    let ways = (models + [nil]).flatMap { model in
      [handmade, [:]].map { Opening(model: model, options: $0) }
    }
    return try ways.first { try !endsWell(files, $0) }
  }

  private func endsWell(_ files: [String: [UInt8]], _ way: Opening) throws -> Bool {
    let path = path("tried")
    Files.put(files, at: path)
    let end = try attempt("open a file that was found", seconds: 5, memory: 3 << 30) { session -> Bool in
      do { _ = try session.read(path, way.model, options: way.options) } catch let error as PersistentStoreError {
        return !error.isProgramFailure
      }
      return true
    }
    if case .value(true) = end { return true }
    return false
  }

  /// What is in the corpus, and is not read well today either.
  fileprivate func knownFailures(in corpus: String, _ models: [ModelDescription]) throws -> [String] {
    try Files.names(in: corpus).sorted().compactMap { name in
      guard let files = Files.content(corpus + "/" + name), try failing(files, models) != nil else {
        return nil
      }
      return "\(corpus)/\(name), still"
    }
  }

  /// Makes a file that was found smaller, and keeps it.
  ///
  /// - Returns: Its path and what was done.
  fileprivate func keep(
    _ files: [String: [UInt8]], _ model: ModelDescription, _ label: String, in corpus: String
  ) throws -> String {
    Files.makeFolder(corpus)
    let suffix = traits.fileExtensions.first.map { "." + $0 } ?? ""
    let path = (1...).lazy.map { "\(corpus)/\($0)\(suffix)" }.first { !Files.exists($0) } ?? corpus
    // Whole first: making it smaller may be interrupted.
    Files.put(files, at: path)
    let small = try smaller(files, model)
    let size = small.values.reduce(0) { $0 + $1.count }
    Files.put(small, at: path)
    return "\(path), \(size) bytes: \(label)"
  }

  /// Leaves out pieces of a file, or of its payload, as long as it still cannot be read: halves first, then smaller
  /// ones.
  private func smaller(_ files: [String: [UInt8]], _ model: ModelDescription) throws -> [String: [UInt8]] {
    let hidden = payload(of: files)
    var content = hidden ?? files
    func made(_ content: [String: [UInt8]]) -> [String: [UInt8]]? { hidden == nil ? content : valid(content) }
    // What is not found again, such as a file that only takes long now and then, stays as it is.
    guard let again = made(content), let way = try failing(again, [model]) else { return files }
    var attempts = 500
    // A file that hangs takes seconds each time.
    let end = ContinuousClock.now + .seconds(60)
    for member in content.keys.sorted() {
      var piece = (content[member]?.count ?? 0) / 2
      while piece > 0, attempts > 0 {
        var start = 0
        while let bytes = content[member], start < bytes.count, attempts > 0, ContinuousClock.now < end {
          var less = content
          less[member]?.removeSubrange(start..<min(start + piece, bytes.count))
          attempts -= 1
          if let files = made(less), try !endsWell(files, way) { content = less } else { start += piece }
        }
        piece /= 2
      }
    }
    return made(content) ?? files
  }
}
