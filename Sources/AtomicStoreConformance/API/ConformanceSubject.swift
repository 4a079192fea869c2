public import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// A store format under test, and what its author supplies.
public struct ConformanceSubject: Sendable {
  /// The store format.
  public internal(set) var type: any AtomicStore.Type
  /// Other formats whose files this one must leave alone, and that it converts from and to.
  public var others: [any AtomicStore.Type] = []
  /// Makes more stores to try, from one that the format wrote itself: its files by name, one file under the empty name.
  public var crafted: (@Sendable ([String: [UInt8]]) -> [CraftedStore])?
  /// Makes of a store that holds two objects, with the references 1111111 and 2000003, one in which both have the same:
  /// for formats that write references neither as text nor as whole bytes nor in groups of seven bits. Its files by
  /// name, one file under the empty name. Nil where it cannot.
  public var duplicate: (@Sendable ([String: [UInt8]]) -> [String: [UInt8]]?)?
  /// How many random graphs the check of random graphs makes; nil for as many as it makes by itself.
  public var runs: Int?
  /// How to write the type on a command line, for the command that runs a check again.
  public var arguments: String
  /// The fault that is planted, when the harness is tested.
  var fault: String?
  /// Mistakes that the format itself can be told to make, when the harness is tested.
  package var designFaults: [DesignFault] = []
  /// Makes one of them, for the rest of the process.
  package var makeDesignFault: (@Sendable (_ name: String) -> Void)?
  /// For the harness's own tests: checks and faults besides the catalogue's.
  var ownChecks: [CheckDefinition] = []
  var ownFaults: [Fault] = []
  /// In seconds: nothing in a check may take longer, whatever the check allows. Nil for the checks' own limits.
  package var timeLimit: Int?
  /// For the harness's own tests: as where the calls of a process cannot be seen.
  var isBlind = false

  /// Creates a subject.
  ///
  /// - Parameters:
  /// - type: The format under test.
  /// - others: Other formats. The one under test may be among them: it is left out.
  public init(_ type: any AtomicStore.Type, others: [any AtomicStore.Type] = []) {
    self.type = type
    // A list of all of one's formats is what is at hand.
    self.others = others.filter { ObjectIdentifier($0) != ObjectIdentifier(type) }
    arguments = "--type \(Self.quoted(type.storeType))"
  }

  /// As a shell takes it for one word.
  static func quoted(_ text: String) -> String {
    let isPlain =
      !text.isEmpty
      && text.unicodeScalars.allSatisfy { scalar in
        "a"..."z" ~= scalar || "A"..."Z" ~= scalar || "0"..."9" ~= scalar || "-_./+,:@".unicodeScalars.contains(scalar)
      }
    return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
  }
}
