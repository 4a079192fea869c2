// Models, values and node tables are in every signature here.
@_exported public import AtomicStoreSPI
