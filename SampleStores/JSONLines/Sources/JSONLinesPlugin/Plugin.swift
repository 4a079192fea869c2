import AtomicStoreSPI
import JSONLinesStore

/// Called once, by the program that loads the plug-in.
@_cdecl("atomicstore_plugin_register_v1")
public func registerFormats(_ sink: UnsafeMutableRawPointer) {
  StorePluginSink.add(JSONLinesStore.self, to: sink)
}
