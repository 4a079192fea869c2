// Code that uses a coordinator needs models, values and stores, so the SPI is exported as well.
@_exported public import AtomicStoreSPI
