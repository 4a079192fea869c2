import AtomicStoreSPI
import Glibc

/// A mistake that one of the formats here can be told to make, one at a time: what the harness must find in formats
/// that it does not know.
enum Mistake: String, CaseIterable, Sendable {
  // Floating-point values, numbers, dates.
  case nanPayloadLost, nanSignLost, signallingNaNQuieted, floatNaNPayloadLost, floatNegativeZeroLost
  case dateNegativeZeroLost, dateInfinityClamped, dateFractionLostBefore2001, dateNaNBecomesNil, decimalNaNBecomesZero
  case infinityInUntypedLost, decimalTrailingZerosLostInUntyped
  // Values whose attribute has no type.
  case untypedURIBecomesText, untypedFloatBecomesDouble, untypedWholeDoubleBecomesInteger, untypedDateBecomesDouble
  case untypedUUIDBecomesText, untypedEmptyTextBecomesNil, untypedEmptyDataBecomesNil, untypedBooleanBecomesInteger
  // Texts and URIs.
  case leadingBOMStripped, trailingBOMStripped, leadingNULCut, uriPercentCaseChanged, uriLowercased, uriBOMStripped
  case textOf65536Cut, textBeyond65535Cut, dataOf65536Cut, dataBeyond16MiBCut, textBeyond16MiBCut, dataTrailingZeroCut
  // Metadata.
  case metadataKeysComposed, metadataKeyBOMStripped, metadataKeyNULCut, metadataKeyTrimmed, metadataKeySplitAtDot
  case metadataDollarKeysDropped, metadataLongKeyCut, metadataUIDBecomesInteger, metadataUnsignedWraps
  case metadataWholeRealBecomesInteger, metadataNestedEmptyDropped, metadataDateWholeSeconds
  case metadataNegativeZeroLostInList, metadataNaNPayloadLost, metadataNestedKeysComposed, metadataTextBOMStripped
  case metadataBooleanInListBecomesInteger, metadataEmptyKeyDropped
  // The model that the file carries, and its defaults.
  case modelConfigurationsLost, modelFetchRequestsLost, modelUserInfoLost, modelIndexesLost, modelDefaultsLost
  case modelBoundsLost, modelVersionIdentifiersLost, modelExtrasLost, modelUniquenessLost, modelDeleteRulesLost
  case modelRenamingIdentifiersLost, modelFloatDefaultRounded, modelUserInfoComposed
  // References.
  case referenceBOMStripped, referenceNULCut, referenceTrimmed, referenceBeyond255Cut, referenceComposed
  case referenceLowercased
  // Counts.
  case rowsBeyond1000Lost, rowsBeyond4096Lost, rowsBeyond65536Lost, rowsBeyond100000Lost, lastRowOf4096Lost
  case membersBeyond1000Lost, membersBeyond4096Lost, orderBeyond255Lost, orderBeyond10Lost, membersBeyond9999Lost
  case entitiesBeyond255Lost, entitiesWithoutOwnPropertiesSkipped
  // The process.
  case changesDirectory, changesMask, blocksSignal, changesLocale, changesTimeZone, replacesStandardInput
  case changesEnvironment, ignoresBrokenPipes, changesRounding
  case takesLongerForEach
  // A value by what is round it.
  case equalToPreviousRowOmitted, equalToOtherAttributeOmitted, longTextsInterned, textOf128Cut, textOf16384Cut
  case dataOf32768Cut, floatsOf8Digits, doublesOf16Digits, decimalExponentSpelled
  case lastRowOf128Lost, lastRowOf1024Lost, lastRowOf10000Lost, lastSlotOf64Lost, lastSlotOf128Lost
  case inheritedWithoutParentRowsLost, lastRowLostInSixteenthSave, lastRowMissedInThirdLoad
  case orderOf100Lost, lastMemberOf128Lost, descendingOrderReversed, orderOfOneToManyLost
  case referencesWrapAt32Bits, referencesBeyond53BitsRounded, negativeReferencesPositive, linkToZeroLost
  case sharedReferencesDropped
  // More metadata, and more of the model.
  case metadataBeyond255Lost, metadataListBeyond255Cut, metadataTextBeyond65535Cut, metadataDataBeyond65535Cut
  case metadataDeepRealBecomesInteger, metadataLostWithoutObjects, metadataRemovalIgnored
  case modelPropertiesSorted, modelSubentityUserInfoLost, modelRegularExpressionsLost, modelTransformersLost
  case modelCountsLost, modelAbstractLost, modelFetchedPropertiesLost, modelIndexPredicatesLost, modelTransientLost
  case modelDerivationsLost, modelEntitiesSorted
  // Metadata that is saved alone, and writes that fail.
  case metadataAloneForgetsLastReference, metadataAloneKeepsOldEntries, metadataAloneTakesNewUUID
  case writeErrorsSwallowed, failingMembersSkipped
  // More of the process.
  case changesFileLimit, changesStackLimit, changesPriority, makesInputNonBlocking, startsTimer, leavesChildProcess
  case handlesSignal, leavesThread, renamesThread, changesDirectoryWhenRefusing, changesMaskInSave
  // As others, in stores that were read before they are saved.
  case nanPayloadLostInSecondSave, textOf128CutInSecondSave, rowsBeyond1000LostInSecondSave
  case orderBeyond10LostInSecondSave, untypedFloatBecomesDoubleInSecondSave, dataTrailingZeroCutInSecondSave
  case uriLowercasedInSecondSave, lastSlotOf64LostInSecondSave, propertyNamesTrimmedInSecondSave
  case descendingOrderReversedInSecondSave
  // Hashes, edges of long values, columns.
  case textsOfEqualSumInterned, textsOfOtherCaseInterned, wideCharactersSplit, longDataTrimmed, longTextsTrimmed
  case ledgerLastReferenceForgottenWhenEmpty
  case lateColumnLost, runOf256Cut, runOf65536Cut, lastGapOf64Filled, namesOfFormatSkipped
  // Of one design.
  case ledgerEntityNamesCanonical, ledgerPropertyNamesCanonical, ledgerEntityNamesTrimmed, ledgerPropertyNamesTrimmed
  case ledgerRowsBeyond20480Skipped, ledgerNilBecomesDefault, ledgerOwnDefaultOmitted
  case ledgerSlotsBeyond255Skipped, ledgerSlotsBeyond512Skipped, ledgerNoDepthLimit
  case pagedNoDepthLimit, pagedKeepsWhatItRead
  case binderMemberNumbersWrap
  // Behind a checksum.
  case ledgerVersionIgnored, ledgerSecondReferenceSkipped, pagedTrustsLengths, binderMakesRoomForCounts
  case packedInflatesWithoutLimit, packedVersionIgnored, packedSecondKeyTaken, packedOrdinalTakenForFirst
  case packedRestIgnored, packedSameReferenceIsNext, packedOrdinalsWrapAt16Bits
  case packedBytesReplaced

  // Set before a store is made, by a process that has one thread then.
  nonisolated(unsafe) private static var chosen: Mistake?
  // Set by a load; stores are loaded and saved one after the other.
  nonisolated(unsafe) private static var hasLoaded = false

  /// The mistake that is made in this process; nil for none.
  static var current: Mistake? {
    get {
      guard let mistake = chosen, let later = inSecondSave[mistake] else { return chosen }
      return hasLoaded ? later : nil
    }
    set { chosen = newValue }
  }

  /// Called when a store was loaded.
  static func endLoad() { hasLoaded = true }

  private static let inSecondSave: [Mistake: Mistake] = [
    .nanPayloadLostInSecondSave: .nanPayloadLost, .textOf128CutInSecondSave: .textOf128Cut,
    .rowsBeyond1000LostInSecondSave: .rowsBeyond1000Lost, .orderBeyond10LostInSecondSave: .orderBeyond10Lost,
    .untypedFloatBecomesDoubleInSecondSave: .untypedFloatBecomesDouble,
    .dataTrailingZeroCutInSecondSave: .dataTrailingZeroCut, .uriLowercasedInSecondSave: .uriLowercased,
    .lastSlotOf64LostInSecondSave: .lastSlotOf64Lost,
    .propertyNamesTrimmedInSecondSave: .ledgerPropertyNamesTrimmed,
    .descendingOrderReversedInSecondSave: .descendingOrderReversed,
  ]

  static func `is`(_ mistake: Mistake) -> Bool { current == mistake }
}
