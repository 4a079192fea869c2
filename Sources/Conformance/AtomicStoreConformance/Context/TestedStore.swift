import AtomicStoreSPI

/// The store format that a check is run on, as its context has it.
struct TestedStore: Sendable {
  /// With the planted fault in it, if there is one.
  var type: any AtomicStore.Type
  /// The incremental store that a check is run on, with the planted fault; ``type`` stands for it then.
  var incremental: (any IncrementalStore.Type)?
  /// The same without the fault: what removes the stores of checks.
  var soundIncremental: (any IncrementalStore.Type)?
  /// Where its stores are created and destroyed; nil for files.
  var url: String?
  /// Other formats whose files this one must leave alone, and that it converts from and to.
  var others: [any AtomicStore.Type] = []
  var crafted: (@Sendable ([String: [UInt8]]) -> [CraftedStore])?
  /// As ``ConformanceSubject/duplicate``.
  var duplicate: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// As ``ConformanceSubject/payload``, ``ConformanceSubject/recomputeChecksum``, ``ConformanceSubject/newerVersion``.
  var payload: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  var recomputeChecksum: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  var newerVersion: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// How many random runs there are; nil for as many as the check has by itself.
  var runs: Int?
  /// The name of the planted fault.
  var fault: String?
  /// Mistakes that the system calls make for the planted fault, as bits of `csf_mistake`.
  var mistakes: Int32 = 0
  /// Nothing in a check may take longer, whatever the check allows.
  var timeLimit: Duration?
}
