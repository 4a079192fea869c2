// Only links the library: the C floors include libxml2's own headers.
