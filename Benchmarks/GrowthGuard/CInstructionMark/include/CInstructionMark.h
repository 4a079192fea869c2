#pragma once

/// Makes valgrind write to its log how many blocks of instructions were executed so far. Does nothing if the program does
/// not run under valgrind.
void aim_mark(void);
