#ifndef CCONFORMANCE_H
#define CCONFORMANCE_H

#include "FaultState.h"
#include "Processes.h"

#endif
