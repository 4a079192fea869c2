// Code that parses predicates uses their tree, which the SPI declares.
@_exported public import AtomicStoreSPI
