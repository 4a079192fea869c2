// As Mistake+Table: what is found by what is round a value, by a count that is not round, and by a second call.
extension Mistake {
  static let surroundings: [Mistake: Entry] = [
    .equalToPreviousRowOmitted: Entry(.ledger, "leaves out a value that the object before has too", ["VAL-44"]),
    .equalToOtherAttributeOmitted: Entry(
      .paged, "leaves out a value that another attribute of the object has too", ["VAL-44"]),
    .longTextsInterned: Entry(
      .ledger, "takes long texts for equal that have the same length, beginning and end", ["VAL-44"]),
    .textOf128Cut: Entry(.ledger, "writes a text of 128 bytes without the last one", ["VAL-45"]),
    .textOf16384Cut: Entry(.paged, "writes a text of 16,384 bytes without the last one", ["VAL-45"]),
    .dataOf32768Cut: Entry(.binder, "writes 32,768 bytes of data without the last one", ["VAL-45"]),
    .floatsOf8Digits: Entry(.ledger, "writes floats with 8 digits", ["VAL-38"]),
    .doublesOf16Digits: Entry(.binder, "writes doubles with 16 digits", ["VAL-07", "VAL-38"]),
    .decimalExponentSpelled: Entry(.paged, "writes the zeros of a decimal's power of ten", ["VAL-38"]),
    .lastRowOf128Lost: Entry(.paged, "writes 127 objects of 128", ["SCL-06"]),
    .lastRowOf1024Lost: Entry(.binder, "writes 1,023 objects of 1,024", ["SCL-06"]),
    .lastRowOf10000Lost: Entry(.paged, "writes 9,999 objects of 10,000", ["SCL-06"]),
    .lastSlotOf64Lost: Entry(.ledger, "writes 63 properties of 64", ["SCL-08"]),
    .lastSlotOf128Lost: Entry(.paged, "writes 127 properties of 128", ["SCL-08"]),
    .inheritedWithoutParentRowsLost: Entry(
      .paged, "leaves out inherited values where the parent entity has no objects", ["SCH-10"]),
    .lastRowLostInSixteenthSave: Entry(.paged, "leaves out the last object at the 16th save of a process", ["SCL-05"]),
    .lastRowMissedInThirdLoad: Entry(.paged, "leaves out the last object at the third load of a process", ["SCL-03"]),
    .orderOf100Lost: Entry(.ledger, "sorts an ordered relationship of 100 objects", ["SCL-07"]),
    .lastMemberOf128Lost: Entry(.binder, "writes 127 members of 128", ["SCL-07"]),
    .descendingOrderReversed: Entry(.paged, "turns an ordered relationship that descends", ["SCL-07", "REL-07"]),
    .orderOfOneToManyLost: Entry(
      .ledger, "sorts ordered relationships whose inverse leads to one object", ["SCL-07"]),
    .referencesWrapAt32Bits: Entry(.ledger, "writes references in 32 bits", ["REF-18"]),
    .referencesBeyond53BitsRounded: Entry(.paged, "writes references as doubles", ["REF-18"]),
    .negativeReferencesPositive: Entry(.binder, "writes references without a sign", ["REF-18"]),
    .linkToZeroLost: Entry(.ledger, "takes a relationship to the reference 0 for none", ["REF-18"]),
    .sharedReferencesDropped: Entry(
      .paged, "leaves out objects whose reference another entity's object has", ["REF-18"]),
  ]

  static let more: [Mistake: Entry] = [
    .metadataBeyond255Lost: Entry(.ledger, "writes the first 255 entries of metadata", ["MET-17"]),
    .metadataListBeyond255Cut: Entry(.paged, "writes the first 255 elements of lists in metadata", ["MET-17"]),
    .metadataTextBeyond65535Cut: Entry(.binder, "writes the first 65,535 bytes of texts in metadata", ["MET-17"]),
    .metadataDataBeyond65535Cut: Entry(.paged, "writes the first 65,535 bytes of data in metadata", ["MET-17"]),
    .metadataDeepRealBecomesInteger: Entry(
      .ledger, "writes whole reals deep in metadata as integers", ["MET-17"]),
    .metadataLostWithoutObjects: Entry(.binder, "does not write the metadata of an empty store", ["MET-18"]),
    .metadataRemovalIgnored: Entry(.ledger, "keeps entries of metadata that were removed", ["MET-18"]),
    .metadataAloneKeepsOldEntries: Entry(
      .ledger, "keeps entries that were removed where metadata is saved alone", ["MET-18"]),
    .metadataAloneForgetsLastReference: Entry(
      .ledger, "forgets the last reference where metadata is saved alone", ["REF-08"]),
    .metadataAloneTakesNewUUID: Entry(.ledger, "takes a new UUID where metadata is saved alone", ["MET-07"]),
    .modelPropertiesSorted: Entry(.ledger, "writes the properties of the model sorted by name", ["SCH-16"]),
    .modelEntitiesSorted: Entry(.paged, "writes the entities of the model sorted backwards", ["SCH-16"]),
    .modelSubentityUserInfoLost: Entry(.paged, "writes sub-entities of the model without user info", ["SCH-16"]),
    .modelRegularExpressionsLost: Entry(.binder, "writes the model without regular expressions", ["SCH-16"]),
    .modelTransformersLost: Entry(.ledger, "writes the model without value transformers", ["SCH-16"]),
    .modelCountsLost: Entry(.paged, "writes the model without the counts of relationships", ["SCH-16"]),
    .modelAbstractLost: Entry(.binder, "writes abstract entities of the model as others", ["SCH-16"]),
    .modelFetchedPropertiesLost: Entry(.ledger, "writes the model without fetched properties", ["SCH-16"]),
    .modelIndexPredicatesLost: Entry(.paged, "writes the model without the predicates of indexes", ["SCH-16"]),
    .modelTransientLost: Entry(.binder, "writes transient attributes of the model as others", ["SCH-16"]),
    .modelDerivationsLost: Entry(.ledger, "writes the model without derivation expressions", ["SCH-16"]),
    .writeErrorsSwallowed: Entry(.ledger, "skips an error of a write", ["SAV-04"]),
    .failingMembersSkipped: Entry(.binder, "skips files that cannot be written", ["SAV-04"]),
    .changesFileLimit: Entry(.ledger, "changes how many files may be open", ["PRO-04"]),
    .changesStackLimit: Entry(.paged, "changes a limit of the process", ["PRO-04"]),
    .changesPriority: Entry(.ledger, "changes the priority of the process", ["PRO-04"]),
    .makesInputNonBlocking: Entry(.paged, "makes reads of standard input return at once", ["PRO-04"]),
    .startsTimer: Entry(.ledger, "starts a timer", ["PRO-04"]),
    .leavesChildProcess: Entry(.paged, "leaves a child process", ["PRO-04"]),
    .handlesSignal: Entry(.ledger, "handles a signal", ["PRO-04"]),
    .leavesThread: Entry(.paged, "leaves a thread", ["PRO-04"]),
    .renamesThread: Entry(.ledger, "renames a thread of the program", ["PRO-04"]),
    .changesDirectoryWhenRefusing: Entry(.paged, "changes the current directory where it refuses a file", ["PRO-04"]),
    .changesMaskInSave: Entry(.ledger, "changes the mask of permissions in a save", ["PRO-04"]),
  ]

  static let again: [Mistake: Entry] = [
    .nanPayloadLostInSecondSave: Entry(.ledger, "loses payloads of not-a-number with the second save", ["VAL-38"]),
    .textOf128CutInSecondSave: Entry(.paged, "cuts texts of 128 bytes with the second save", ["VAL-45"]),
    .rowsBeyond1000LostInSecondSave: Entry(.paged, "writes 1,000 objects with the second save", ["SCL-06"]),
    .orderBeyond10LostInSecondSave: Entry(.binder, "sorts long relationships with the second save", ["SCL-07"]),
    .untypedFloatBecomesDoubleInSecondSave: Entry(
      .paged, "makes doubles of floats of no type with the second save", ["VAL-39"]),
    .dataTrailingZeroCutInSecondSave: Entry(.ledger, "cuts a zero byte with the second save", ["VAL-38"]),
    .uriLowercasedInSecondSave: Entry(.binder, "writes URIs in lower case with the second save", ["VAL-38"]),
    .lastSlotOf64LostInSecondSave: Entry(.ledger, "writes 63 properties of 64 with the second save", ["SCL-08"]),
    .propertyNamesTrimmedInSecondSave: Entry(
      .ledger, "trims names of properties with the second save", ["VAL-43"]),
    .descendingOrderReversedInSecondSave: Entry(
      .paged, "turns relationships that descend with the second save", ["SCL-07"]),
  ]

  static let columns: [Mistake: Entry] = [
    .textsOfEqualSumInterned: Entry(
      .ledger, "takes texts for equal that have the same length and sum of bytes", ["VAL-44"]),
    .textsOfOtherCaseInterned: Entry(.paged, "takes texts for equal that differ in the case of letters", ["VAL-44"]),
    .wideCharactersSplit: Entry(.paged, "decodes texts in pieces of 64 KiB", ["VAL-45"]),
    .longDataTrimmed: Entry(.binder, "leaves out line feeds at the end of long data", ["VAL-45"]),
    .longTextsTrimmed: Entry(.ledger, "trims long texts", ["VAL-45"]),
    .lateColumnLost: Entry(
      .paged, "leaves out a property that the first 1,000 objects of an entity do not have", ["SCL-06"]),
    .runOf256Cut: Entry(.binder, "leaves out the last of 256 equal values", ["SCL-06"]),
    .runOf65536Cut: Entry(.ledger, "leaves out the last of 65,536 equal values", ["SCL-06"]),
    .lastGapOf64Filled: Entry(
      .binder, "writes false for a missing Boolean of the last of 64 objects", ["SCL-06"]),
    .ledgerLastReferenceForgottenWhenEmpty: Entry(
      .ledger, "forgets the last reference with the last object", ["REF-19"]),
    .namesOfFormatSkipped: Entry(.ledger, "leaves out properties whose names it uses itself", ["VAL-43"]),
  ]

  static let hidden: [Mistake: Entry] = [
    .ledgerVersionIgnored: Entry(.ledger, "reads files of any version", ["SCH-13"]),
    .packedVersionIgnored: Entry(.packed, "reads compressed files of any version", ["SCH-13"]),
    .ledgerSecondReferenceSkipped: Entry(.ledger, "skips an object whose reference was there before", ["LOD-06"]),
    .pagedTrustsLengths: Entry(.paged, "reads as many bytes as a length behind a digest says", ["HOS-16"]),
    .binderMakesRoomForCounts: Entry(.binder, "makes as much room as a count behind a digest says", ["HOS-17"]),
    .packedSecondKeyTaken: Entry(.packed, "takes the later one of two keys of one name", ["HOS-19"]),
    .packedOrdinalTakenForFirst: Entry(
      .packed, "takes the number of an object that is not there for the first one", ["HOS-20"]),
    .packedSameReferenceIsNext: Entry(
      .packed, "takes a reference that was there before for the next one", ["LOD-06"]),
    .packedBytesReplaced: Entry(.packed, "replaces compressed bytes that are not text", ["INI-19"]),
    .packedOrdinalsWrapAt16Bits: Entry(.packed, "writes numbers of objects in 16 bits", ["SCL-06"]),
    .packedRestIgnored: Entry(.packed, "skips what follows the last compressed piece", ["AUT-01"]),
    .packedInflatesWithoutLimit: Entry(.packed, "decompresses whatever size there is", ["HOS-18"]),
  ]
}
