import AtomicStoreSPI
import TableStore

/// Called once, by the program that loads the plug-in.
@_cdecl("atomicstore_plugin_register_v1")
public func registerFormats(_ sink: UnsafeMutableRawPointer) {
  StorePluginSink.add(TableStore.self, to: sink)
}
