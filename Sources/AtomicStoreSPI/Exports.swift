// A format author imports one module: the vocabulary comes along.
@_exported public import StoreVocabulary
