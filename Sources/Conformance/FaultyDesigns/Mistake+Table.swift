// What each mistake is, which format makes it, and which checks must find it.
extension Mistake {
  /// A format of this package.
  enum Design: String, CaseIterable, Sendable { case ledger, paged, binder, packed }

  struct Entry {
    var design: Design
    var text: String
    var foundBy: [String]
    init(_ design: Design, _ text: String, _ foundBy: [String]) {
      self.design = design
      self.text = text
      self.foundBy = foundBy
    }
  }

  private static let all = [values, metadata, counts, surroundings, more, again, columns, hidden].reduce(into: [:]) {
    $0.merge($1) { $1 }
  }
  private static func entry(_ mistake: Mistake) -> Entry { all[mistake] ?? Entry(.ledger, "is not described", []) }

  /// The format that makes the mistake.
  var design: Design { Self.entry(self).design }
  /// What the format does, as a sentence without its subject.
  var text: String { Self.entry(self).text }
  /// The IDs of the checks that must find it.
  var foundBy: [String] { Self.entry(self).foundBy }

  private static let values: [Mistake: Entry] = [
    .nanPayloadLost: Entry(.ledger, "writes not-a-number without its payload", ["VAL-08", "VAL-38"]),
    .nanSignLost: Entry(.paged, "writes not-a-number without its sign", ["VAL-08", "VAL-38"]),
    .signallingNaNQuieted: Entry(.ledger, "writes a signalling not-a-number as a quiet one", ["VAL-08", "VAL-38"]),
    .floatNaNPayloadLost: Entry(.paged, "writes a not-a-number of 32 bits as the usual one", ["VAL-38"]),
    .floatNegativeZeroLost: Entry(.ledger, "writes -0.0 of 32 bits as 0.0", ["VAL-38"]),
    .dateNegativeZeroLost: Entry(.paged, "writes a date of -0.0 seconds as one of 0.0", ["VAL-38"]),
    .dateInfinityClamped: Entry(.ledger, "writes infinite dates as the distant past and future", ["VAL-38"]),
    .dateFractionLostBefore2001: Entry(
      .paged, "writes dates before 2001 in whole seconds", ["VAL-13", "VAL-14", "VAL-38"]),
    .dateNaNBecomesNil: Entry(.binder, "writes a date that is not-a-number as nil", ["VAL-38"]),
    .decimalNaNBecomesZero: Entry(.ledger, "writes a decimal that is not-a-number as 0", ["VAL-11", "VAL-38"]),
    .infinityInUntypedLost: Entry(.binder, "writes infinities in attributes of no type as nil", ["VAL-39"]),
    .decimalTrailingZerosLostInUntyped: Entry(
      .ledger, "writes decimals in attributes of no type without the zeros at their end", ["VAL-39"]),
    .untypedURIBecomesText: Entry(.ledger, "writes URIs in attributes of no type as text", ["VAL-32", "VAL-39"]),
    .untypedFloatBecomesDouble: Entry(
      .paged, "writes floats in attributes of no type as doubles", ["VAL-32", "VAL-39"]),
    .untypedWholeDoubleBecomesInteger: Entry(
      .binder, "writes whole doubles in attributes of no type as integers", ["VAL-32", "VAL-39"]),
    .untypedDateBecomesDouble: Entry(
      .ledger, "writes dates in attributes of no type as numbers", ["VAL-32", "VAL-39"]),
    .untypedUUIDBecomesText: Entry(.paged, "writes UUIDs in attributes of no type as text", ["VAL-32", "VAL-39"]),
    .untypedEmptyTextBecomesNil: Entry(.ledger, "writes empty texts in attributes of no type as nil", ["VAL-39"]),
    .untypedEmptyDataBecomesNil: Entry(.paged, "writes empty data in attributes of no type as nil", ["VAL-39"]),
    .untypedBooleanBecomesInteger: Entry(
      .binder, "writes truth values in attributes of no type as 0 and 1", ["VAL-32", "VAL-39"]),
    .leadingBOMStripped: Entry(.ledger, "writes texts without U+FEFF at their beginning", ["VAL-23", "VAL-38"]),
    .trailingBOMStripped: Entry(.paged, "writes texts without U+FEFF at their end", ["VAL-23", "VAL-38"]),
    .leadingNULCut: Entry(.ledger, "writes texts without U+0000 at their beginning", ["VAL-21", "VAL-38"]),
    .uriPercentCaseChanged: Entry(.ledger, "writes percent escapes of URIs in upper case", ["VAL-38"]),
    .uriLowercased: Entry(.paged, "writes URIs in lower case", ["VAL-38"]),
    .uriBOMStripped: Entry(.binder, "writes URIs without U+FEFF at their beginning", ["VAL-38"]),
    .textOf65536Cut: Entry(.ledger, "writes a text of 65,536 bytes without the last one", ["VAL-41"]),
    .textBeyond65535Cut: Entry(.paged, "writes the first 65,535 bytes of a text", ["VAL-41"]),
    .dataOf65536Cut: Entry(.paged, "writes 65,536 bytes of data without the last one", ["VAL-41"]),
    .dataBeyond16MiBCut: Entry(.binder, "writes the first 16 MiB of data", ["VAL-41"]),
    .textBeyond16MiBCut: Entry(.binder, "writes the first 16 MiB of a text", ["VAL-27", "VAL-41"]),
    .dataTrailingZeroCut: Entry(.ledger, "writes data without a zero byte at its end", ["VAL-38"]),
  ]

  private static let metadata: [Mistake: Entry] = [
    .metadataKeysComposed: Entry(.ledger, "composes letters and accents in keys of metadata", ["MET-16"]),
    .metadataKeyBOMStripped: Entry(.paged, "writes keys of metadata without U+FEFF at their beginning", ["MET-16"]),
    .metadataKeyNULCut: Entry(.ledger, "writes keys of metadata up to the first U+0000", ["MET-16"]),
    .metadataKeyTrimmed: Entry(.binder, "trims keys of metadata", ["MET-16"]),
    .metadataKeySplitAtDot: Entry(.ledger, "takes a dot in a key of metadata for a path", ["MET-16"]),
    .metadataDollarKeysDropped: Entry(.paged, "leaves out metadata whose key begins with a dollar sign", ["MET-16"]),
    .metadataLongKeyCut: Entry(.paged, "writes the first 255 bytes of a key of metadata", ["MET-16"]),
    .metadataUIDBecomesInteger: Entry(.ledger, "writes UIDs of metadata as integers", ["MET-15"]),
    .metadataUnsignedWraps: Entry(.paged, "writes integers of metadata in 64 bits with a sign", ["MET-15"]),
    .metadataWholeRealBecomesInteger: Entry(
      .ledger, "writes whole reals of metadata as integers", ["MET-05", "MET-15"]),
    .metadataNestedEmptyDropped: Entry(.binder, "leaves out empty lists and tables within others", ["MET-15"]),
    .metadataDateWholeSeconds: Entry(.paged, "writes dates of metadata in whole seconds", ["MET-15"]),
    .metadataNegativeZeroLostInList: Entry(.ledger, "writes -0.0 in lists of metadata as 0.0", ["MET-15"]),
    .metadataNaNPayloadLost: Entry(.paged, "writes not-a-number in metadata without its payload", ["MET-15"]),
    .metadataNestedKeysComposed: Entry(.binder, "composes letters and accents in keys within metadata", ["MET-16"]),
    .metadataTextBOMStripped: Entry(.ledger, "writes texts of metadata without U+FEFF at their beginning", ["MET-15"]),
    .metadataBooleanInListBecomesInteger: Entry(
      .paged, "writes truth values in lists of metadata as 0 and 1", ["MET-05", "MET-15"]),
    .metadataEmptyKeyDropped: Entry(.binder, "leaves out metadata with an empty key", ["MET-16"]),
    .modelConfigurationsLost: Entry(.ledger, "writes the model without configurations", ["SCH-16"]),
    .modelFetchRequestsLost: Entry(.paged, "writes the model without fetch requests", ["SCH-16"]),
    .modelUserInfoLost: Entry(.binder, "writes the model without user info", ["SCH-16"]),
    .modelIndexesLost: Entry(.ledger, "writes the model without indexes", ["SCH-16"]),
    .modelDefaultsLost: Entry(.paged, "writes the model without defaults", ["SCH-16"]),
    .modelBoundsLost: Entry(.binder, "writes the model without bounds", ["SCH-16"]),
    .modelVersionIdentifiersLost: Entry(.ledger, "writes the model without version identifiers", ["SCH-16"]),
    .modelExtrasLost: Entry(.paged, "writes the model without what the kit does not interpret", ["SCH-16"]),
    .modelUniquenessLost: Entry(.binder, "writes the model without uniqueness constraints", ["SCH-16"]),
    .modelDeleteRulesLost: Entry(.ledger, "writes the model with the delete rule Nullify throughout", ["SCH-16"]),
    .modelRenamingIdentifiersLost: Entry(.paged, "writes the model without renaming identifiers", ["SCH-16"]),
    .modelFloatDefaultRounded: Entry(
      .binder, "writes defaults of the model that are not-a-number without their payload", ["SCH-16"]),
    .modelUserInfoComposed: Entry(.ledger, "composes letters and accents in user info of the model", ["SCH-16"]),
  ]

  private static let counts: [Mistake: Entry] = [
    .referenceBOMStripped: Entry(.ledger, "writes references without U+FEFF at their beginning", ["REF-17"]),
    .referenceNULCut: Entry(.paged, "writes references up to the first U+0000", ["REF-17"]),
    .referenceTrimmed: Entry(.binder, "trims references", ["REF-11", "REF-17"]),
    .referenceBeyond255Cut: Entry(.ledger, "writes the first 255 bytes of a reference", ["REF-15", "REF-17"]),
    .referenceComposed: Entry(.paged, "composes letters and accents in references", ["REF-11", "REF-17"]),
    .referenceLowercased: Entry(.binder, "writes references in lower case", ["REF-11", "REF-17"]),
    .rowsBeyond1000Lost: Entry(.paged, "writes the first 1,000 objects of an entity", ["SCL-06"]),
    .rowsBeyond4096Lost: Entry(.paged, "writes the first 4,096 objects of an entity", ["SCL-06"]),
    .rowsBeyond65536Lost: Entry(.paged, "writes the first 65,536 objects of an entity", ["SCL-06"]),
    .rowsBeyond100000Lost: Entry(.binder, "writes the first 100,000 objects of an entity", ["SCL-06"]),
    .lastRowOf4096Lost: Entry(.paged, "writes the first 4,095 objects of an entity", ["SCL-06"]),
    .membersBeyond1000Lost: Entry(.ledger, "writes the first 1,000 objects of a relationship", ["SCL-07"]),
    .membersBeyond4096Lost: Entry(.paged, "writes the first 4,096 objects of a relationship", ["SCL-07"]),
    .orderBeyond255Lost: Entry(.binder, "sorts an ordered relationship from the 256th object on", ["SCL-07"]),
    .orderBeyond10Lost: Entry(.ledger, "sorts ordered relationships of more than ten objects", ["SCL-07", "VAL-35"]),
    .membersBeyond9999Lost: Entry(.paged, "writes the first 9,999 objects of a relationship", ["SCL-07"]),
    .entitiesBeyond255Lost: Entry(.paged, "writes the objects of the first 255 entities", ["SCL-08"]),
    .entitiesWithoutOwnPropertiesSkipped: Entry(
      .binder, "leaves out objects of entities without additional properties", ["SCH-17"]),
    .changesDirectory: Entry(.ledger, "changes the current directory", ["PRO-04"]),
    .changesMask: Entry(.paged, "changes the mask of permissions", ["PRO-04"]),
    .blocksSignal: Entry(.ledger, "blocks a signal", ["PRO-04"]),
    .changesLocale: Entry(.paged, "sets a locale", ["PRO-04"]),
    .changesTimeZone: Entry(.ledger, "sets a time zone", ["PRO-04"]),
    .replacesStandardInput: Entry(.paged, "opens another file as standard input", ["PRO-04"]),
    .changesEnvironment: Entry(.paged, "sets a variable of the environment", ["PRO-04"]),
    .ignoresBrokenPipes: Entry(.ledger, "ignores a signal", ["PRO-04"]),
    .changesRounding: Entry(.ledger, "changes how numbers are rounded", ["PRO-04"]),
    .takesLongerForEach: Entry(.paged, "works longer for each object the more there are", ["SCL-01"]),
    .ledgerEntityNamesCanonical: Entry(
      .ledger, "finds entities by names as Swift compares strings", ["VAL-34", "VAL-43"]),
    .ledgerPropertyNamesCanonical: Entry(
      .ledger, "finds properties by names as Swift compares strings", ["VAL-33", "VAL-42", "VAL-43"]),
    .ledgerEntityNamesTrimmed: Entry(.ledger, "trims names of entities", ["VAL-43"]),
    .ledgerPropertyNamesTrimmed: Entry(.ledger, "trims names of properties", ["VAL-33", "VAL-43"]),
    .ledgerRowsBeyond20480Skipped: Entry(.ledger, "reads the first 20,480 objects", ["SCL-06"]),
    .ledgerNilBecomesDefault: Entry(.ledger, "reads the model's default where the file has nothing", ["VAL-40"]),
    .ledgerOwnDefaultOmitted: Entry(.ledger, "leaves out values that are the model's default", ["VAL-40"]),
    .ledgerSlotsBeyond255Skipped: Entry(.ledger, "writes the first 255 properties of an object", ["SCL-08", "VAL-37"]),
    .ledgerSlotsBeyond512Skipped: Entry(.ledger, "writes the first 512 properties of an object", ["SCL-08"]),
    .ledgerNoDepthLimit: Entry(.ledger, "reads whatever depth there is", ["HOS-15"]),
    .pagedNoDepthLimit: Entry(.paged, "reads whatever depth there is", ["HOS-15"]),
    .pagedKeepsWhatItRead: Entry(.paged, "holds on to what it read", ["SCL-03"]),
    .binderMemberNumbersWrap: Entry(.binder, "numbers its files in a byte", ["SCL-08"]),
  ]
}
