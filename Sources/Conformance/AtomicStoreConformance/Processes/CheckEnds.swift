import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A failed expectation: what ends a check.
struct ExpectationFailure: Error, Codable, Sendable {
  var expected: String
  var actual: String
}

/// A check that cannot be tried here.
struct Skipped: Error, Codable, Sendable { var reason: String }

/// A check that, as its first look at the store's files shows, is not about this kind of file.
struct NotApplicable: Error { var reason: String }

/// A check that applies, and for which the format's author gives no means.
struct Untested: Error { var reason: String }

/// A part of a check that ended otherwise than it should.
struct PhaseFailure: Error {
  var expected: String
  var actual: String
  var isCrash = false
  var isTimeOut = false
  /// The code of a store error that should not have been.
  var code: String?
}
