import AtomicStoreSPI
import FoundationEssentials

/// What a store's head says.
struct StoreHeader {
  var declaration = XMLDeclaration.standaloneYes
  var uuid: UUID?
  var lastReference: Int64 = 0
  /// The line that the head ends on.
  var endLine = 0
  /// All entries, those of ours included.
  var entries = PropertyListDictionary()
}
