#pragma once

/// From now on memory that is asked for is counted, in this program and everything that it links.
void asc_begin(void);
/// How often memory was asked for since then.
long asc_end(void);
