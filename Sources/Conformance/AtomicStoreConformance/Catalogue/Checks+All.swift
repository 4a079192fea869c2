import AtomicStoreSPI
import FoundationEssentials

extension Checks {
  /// All, in the order of the catalogue.
  static let all: [CheckDefinition] =
    registration + initialization + damagedFiles + namesAndOptions + optionValues + metadata + loading + values
    + furtherValues
    + relationships + ends + references + changes + sessions + saving + publishing + concurrency
    + removal + schema + hostile + hostileProducts
    + payload + payloadRules + hostileXML + hostilePropertyList + hostileCSV + damagedCSV + scale + conversion + traits
    + crafted + tables + lengths + metadataTables + counts + carriedModel + process + deferred + incremental

  /// What checks do in new processes.
  static let allParts = parts + [conversionPart]

  /// What incremental stores are held to.
  static let incremental: [CheckDefinition] =
    incrementalOpening + incrementalValues + incrementalRequests + incrementalGroups
    + incrementalUpdates + incrementalRelationships
    + incrementalSaving
    + incrementalHistory + incrementalWhole
}
