// What commands print with --json.
@_exported public import StoreJSON
