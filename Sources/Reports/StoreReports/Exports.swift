// Models, values, node tables and stores are in every signature here.
@_exported public import StoreCoordination
