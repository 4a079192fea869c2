import AtomicStoreSPI
import YAMLStore

/// Called once, by the program that loads the plug-in.
@_cdecl("atomicstore_plugin_register_v1")
public func registerFormats(_ sink: UnsafeMutableRawPointer) {
  StorePluginSink.add(YAMLStore.self, to: sink)
}
