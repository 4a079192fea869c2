// Code that imports the codecs needs their errors and values, so the primitives are exported as well.
@_exported public import StorePrimitives
