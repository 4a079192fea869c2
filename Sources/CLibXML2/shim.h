#ifndef ATOMIC_STORE_KIT_CLIBXML2_H
#define ATOMIC_STORE_KIT_CLIBXML2_H

// Debian builds libxml2 with ICU, and its headers then pull in ICU's, whose types clash with those of
// Foundation's own ICU module in debug builds ("'UErrorCode' has different definitions in different modules").
// Nothing here needs ICU, so the headers are told that there is none.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>
#include <libxml/xmlerror.h>

#endif
