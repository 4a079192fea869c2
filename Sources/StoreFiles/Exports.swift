// Paths, sources and staged files are named with these errors and strings: the primitives come along.
@_exported public import StorePrimitives
