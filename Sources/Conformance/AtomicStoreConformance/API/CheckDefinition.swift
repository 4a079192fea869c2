import AtomicStoreSPI
import FoundationEssentials

/// A check as the catalogue has it.
struct CheckDefinition: Sendable {
  /// Whether a store's traits let a check be run as it is.
  enum Demand: Sendable {
    case applies
    /// The store declares that it cannot: then it must say so when it is asked.
    case refuses(String)
    case notApplicable(String)
  }
  let id: String
  let level: ConformanceCheck.Level
  let profile: ConformanceCheck.Profile
  let title: String
  let source: String
  let procedure: String
  let causes: [String]
  /// The faults that it must catch, by their names in ``Faults``.
  let catches: [String]
  /// In seconds, before the check is given up.
  let timeLimit: Int
  /// Whether it needs a store that can be written, as nearly all do.
  let needsWriting: Bool
  /// Whether it saves a store that was opened, which stores that can only be written whole do not allow. A check whose
  /// save is refused for that reason needs no flag: it is one that ends without an error.
  let changesStore: Bool
  let demand: @Sendable (StoreTraits) -> Demand
  let body: @Sendable (CheckContext) throws -> Void

  init(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, profile: ConformanceCheck.Profile = .core,
    from source: String, by procedure: String, causes: [String] = [], catches: [String] = [], timeLimit: Int = 30,
    needsWriting: Bool = true, changesStore: Bool = false,
    demand: @escaping @Sendable (StoreTraits) -> Demand = { _ in .applies },
    _ body: @escaping @Sendable (CheckContext) throws -> Void
  ) {
    self.id = id
    self.level = level
    self.profile = profile
    self.title = title
    self.source = source
    self.procedure = procedure
    self.causes = causes
    self.catches = catches
    self.timeLimit = timeLimit
    self.needsWriting = needsWriting
    self.changesStore = changesStore
    self.demand = demand
    self.body = body
  }
}
