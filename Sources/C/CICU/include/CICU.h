// ICU's regular expressions and time zones. ICU is loaded when one first needs it: the names of its functions and files contain
// its version, and a program that was linked with one version would run nowhere else.
#ifndef CICU_H
#define CICU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  // Of a pattern, in UTF-8.
  CICU_MAXIMUM_PATTERN = 20000,
  // Of the places that a match may have to come back to.
  CICU_MAXIMUM_BYTES = 64000000,
  // A match of more steps may have made its matcher large.
  CICU_MANY_STEPS = 10000,
};

// A compiled pattern with the memory for a match, for one thread at a time.
typedef struct cicu_matcher cicu_matcher;

// What is wrong with a pattern: ICU's name of the error, or why there is no ICU; and the line and the column of the last
// character that was read, from 1. Both are 0 if ICU does not tell.
typedef struct {
  const char *name;
  bool isWithoutICU;
  int32_t line;
  int32_t column;
} cicu_problem;

// NULL if the pattern, which is UTF-8, has a problem.
cicu_matcher *cicu_compile(const uint8_t *pattern, size_t length, bool ignoresCase, cicu_problem *problem);
// Another matcher of the same pattern; NULL if there is no memory.
cicu_matcher *cicu_copy(const cicu_matcher *matcher);
void cicu_free(cicu_matcher *matcher);

typedef enum {
  cicu_different,
  cicu_matching,
  cicu_too_many_steps,
  cicu_too_much_memory,
  cicu_failed,
} cicu_result;

// Whether the pattern matches the whole text, which is UTF-8. Adds the steps that it took to `steps`: five for each part
// of the text that it reads; and, if it may have to come back to a place, one for each place and for each move within
// the text, more if the pattern has many groups and choices. The same match always takes the same number. The limit is
// compared whenever ten thousand places were kept, so it may be exceeded by as much. A step takes 10 to 70 ns.
cicu_result cicu_matches(cicu_matcher *matcher, const uint8_t *text, size_t length, int64_t limit, int64_t *steps);

// A time zone, for one thread at a time.
typedef struct cicu_zone cicu_zone;

// A zone by its name, such as Europe/Berlin. NULL if ICU does not know the name, or if ICU cannot be used: then
// `problem` says why, and is otherwise NULL.
cicu_zone *cicu_zone_open(const char *name, const char **problem);
// The seconds that the zone is ahead of UTC at a moment, in milliseconds since 1970.
int32_t cicu_zone_offset(cicu_zone *zone, double milliseconds);
void cicu_zone_free(cicu_zone *zone);

#endif
