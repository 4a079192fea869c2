#ifndef CEXITGUARD_H
#define CEXITGUARD_H

/// Replaces `exit`, `_exit`, `_Exit` and `quick_exit` of the program that links it: where a plug-in, or a library that it calls, would end the program
/// as if all were done, standard error names the plug-in, and the exit code is 70. For commands only, which say themselves that they succeeded.

#endif
