import AtomicStoreKit
import AtomicStoreSPI

extension Faults {
  static let all: [Fault] = [
    values,
    moreValues,
    relationships,
    ends,
    references,
    sessions,
    changes,
    schema,
    initialization,
    metadata,
    loading,
    removal,
    registration,
    concurrency,
    hostileXML,
    hostilePropertyList,
    hostileCSV,
    saving,
    hostile,
    scale,
    conversion,
    traits,
    crafted,
    adversarial,
    metadataTables,
    counts,
    incrementalOpening,
    incrementalValues,
    incrementalRequests,
    incrementalGroups,
    incrementalUpdates,
    incrementalRelationships,
    incrementalSaving,
    incrementalHistory,
    incrementalWhole,
  ].flatMap { $0 }

  /// - Parameter subject: May have its own faults.
  static func named(_ name: String, in subject: ConformanceSubject) -> Fault? {
    all.first { $0.name == name } ?? subject.ownFaults.first { $0.name == name }
  }

  /// The format with a fault in it, for the rest of this process.
  static func plant(_ fault: Fault, in subject: ConformanceSubject) -> any AtomicStore.Type {
    FaultHooks.current = fault.hooks
    return FaultHooks.wrapped(subject.type)
  }

  /// An incremental type with a fault in it, for the rest of this process.
  static func plant(
    _ hooks: IncrementalFaultHooks, in type: any IncrementalStore.Type
  ) -> any IncrementalStore.Type {
    IncrementalFaultHooks.current = hooks
    func wrapped<Base: IncrementalStore>(_: Base.Type) -> any IncrementalStore.Type {
      FaultyIncrementalStore<Base>.self
    }
    return wrapped(type)
  }
}
