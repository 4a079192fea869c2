// Whoever imports the codecs meets their errors and values: the vocabulary comes along.
@_exported public import StoreVocabulary
