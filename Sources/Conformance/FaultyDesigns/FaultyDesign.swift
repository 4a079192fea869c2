public import AtomicStoreSPI

/// A format that can be told to make mistakes, for the self-test of the harness.
public struct FaultyDesign: Sendable {
  /// A mistake that the format can be told to make.
  public struct Fault: Sendable {
    /// Its name.
    public let name: String
    /// What the format does, as a sentence without its subject.
    public let text: String
    /// The IDs of the checks that must find it.
    public let foundBy: [String]
  }

  /// The format.
  public let type: any AtomicStore.Type
  /// What it can be told to do.
  public let faults: [Fault]

  /// All formats of this module.
  public static let all = Mistake.Design.allCases.map { design in
    FaultyDesign(
      type: design.type,
      faults: Mistake.allCases.filter { $0.design == design }
        .map { Fault(name: $0.rawValue, text: $0.text, foundBy: $0.foundBy) })
  }

  /// Has the formats make a mistake, for the rest of the process.
  ///
  /// - Parameter name: One of the names of ``faults``; another one is ignored.
  public static func make(_ name: String) { Mistake.current = Mistake(rawValue: name) }
}

extension Mistake.Design {
  fileprivate var type: any AtomicStore.Type {
    switch self {
    case .ledger: LedgerStore.self
    case .paged: PagedStore.self
    case .binder: BinderStore.self
    case .packed: PackedStore.self
    }
  }
}
