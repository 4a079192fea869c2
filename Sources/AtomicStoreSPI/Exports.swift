// A format author imports one module: errors and values come along, and the files that a format reads and writes.
@_exported public import StoreFiles
@_exported public import StorePrimitives
