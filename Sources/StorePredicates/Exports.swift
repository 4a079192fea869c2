// Whoever reads a predicate's text meets its tree, which the SPI declares.
@_exported public import AtomicStoreSPI
