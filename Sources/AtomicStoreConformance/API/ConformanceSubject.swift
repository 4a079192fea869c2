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
  /// How to write the type on a command line, for the command that runs a check again.
  public var arguments: String
  /// The fault that is planted, when the harness is tested.
  var fault: String?
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
