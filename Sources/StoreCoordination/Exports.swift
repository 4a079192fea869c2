// Whoever works with a coordinator meets models, values and stores: the SPI comes along.
@_exported public import AtomicStoreSPI
