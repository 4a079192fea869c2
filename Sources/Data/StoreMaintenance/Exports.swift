// Models, values, node tables and coordinators are in every signature here.
@_exported public import StoreCoordination
