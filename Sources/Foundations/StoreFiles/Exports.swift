// Paths, sources and staged files use these errors and strings, so the primitives are exported as well.
@_exported public import StorePrimitives
