// Code that imports Arrow tables needs nodes and errors too.
@_exported public import AtomicStoreSPI
