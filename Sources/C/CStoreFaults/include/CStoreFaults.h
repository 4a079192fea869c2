#ifndef CSTOREFAULTS_H
#define CSTOREFAULTS_H

/// The system calls that a save is made of, seen on their way: counted, recorded, and failed on demand.
///
/// This target defines the calls themselves (`write`, `rename` and so on), so that every call in a program that links it is seen: the
/// kit's, Foundation's, and those of a format's own code. Until a state is armed (FaultState.h), a call costs one more comparison.
/// There is nothing here to call, and nothing to import: linking it is enough. Link it into programs that run conformance checks, and
/// into test targets; into nothing else.

#endif
