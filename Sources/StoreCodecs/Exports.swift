// Whoever imports the codecs meets their errors and values: the primitives come along.
@_exported public import StorePrimitives
