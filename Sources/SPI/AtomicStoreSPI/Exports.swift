// A format imports one module: it also exports errors and values, and the files that a format reads and writes.
@_exported public import StoreFiles
@_exported public import StorePrimitives
