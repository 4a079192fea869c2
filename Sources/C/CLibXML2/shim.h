#ifndef ATOMIC_STORE_KIT_CLIBXML2_H
#define ATOMIC_STORE_KIT_CLIBXML2_H

// Debian builds libxml2 with ICU, and its headers then pull in ICU's, whose types clash with those of
// Foundation's own ICU module in debug builds ("'UErrorCode' has different definitions in different modules").
// Nothing here needs ICU, so the headers are configured without it.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>
#include <libxml/xmlerror.h>
#include <libxml/dict.h>
#include <libxml/globals.h>

// libxml2 keeps, for each thread, functions that take errors which belong to no parser, and prints when no one set
// one. They are set aside while a parser of ours runs, and put back for other users of libxml2 in the process.
// In C because Swift can neither write a function with "..." nor name its type.
typedef struct {
  xmlGenericErrorFunc generic;
  void *genericContext;
  xmlStructuredErrorFunc structured;
  void *structuredContext;
} ErrorReporting;

static void ignoreMessage(void *context, const char *message, ...) {
  (void)context;
  (void)message;
}

static inline ErrorReporting silenceErrorReporting(void) {
  ErrorReporting outer = {xmlGenericError, xmlGenericErrorContext, xmlStructuredError, xmlStructuredErrorContext};
  xmlSetGenericErrorFunc(NULL, ignoreMessage);
  xmlSetStructuredErrorFunc(NULL, NULL);
  return outer;
}

static inline void restoreErrorReporting(ErrorReporting outer) {
  xmlSetGenericErrorFunc(outer.genericContext, outer.generic);
  xmlSetStructuredErrorFunc(outer.structuredContext, outer.structured);
}

#endif
