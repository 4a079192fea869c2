#ifndef ATOMIC_STORE_KIT_CZLIB_H
#define ATOMIC_STORE_KIT_CZLIB_H

#include <zlib.h>

// A macro with the version and the size of the structure in it, which Swift does not see.
static inline int inflateRawInitialize(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }
// For the headers of zlib and gzip, whichever there is.
static inline int inflateWrappedInitialize(z_stream *stream) { return inflateInit2(stream, MAX_WBITS + 32); }

#endif
