#pragma once

/// Do nothing: valgrind, told to, begins to count at the first, and writes down at the second how many instructions were
/// executed since.
void aim_begin(void);
void aim_end(void);
