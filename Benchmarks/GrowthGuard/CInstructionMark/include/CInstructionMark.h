#pragma once

/// Does nothing: valgrind, told to, writes down at each call how many instructions were executed since the last one.
void aim_mark(void);
