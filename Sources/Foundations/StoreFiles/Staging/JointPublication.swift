import CStoreFiles

/// Several results of one command, such as a store and a report about it, of which a signal leaves either nothing or
/// all.
package enum JointPublication {
  /// Runs a function that publishes results on this thread. Until the first one is published, a signal ends the program
  /// at once, and everything that is staged is removed; from then on it waits until the function has returned.
  ///
  /// The function must not wait for anyone once something is published, for example for the reader of a pipe.
  package static func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    guard asf_begin_joint() != 0 else { return try body() }
    defer { asf_end_joint() }
    return try body()
  }

  /// Notes that this thread has published a result. For staged stores, ``StagedStore/publish(patience:)`` does.
  package static func notePublished() { asf_hold_joint() }
}
