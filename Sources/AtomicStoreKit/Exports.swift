// Whoever works with the stack meets models, values and stores: the SPI comes along.
@_exported public import AtomicStoreSPI
