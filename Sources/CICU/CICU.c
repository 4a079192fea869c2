// The few functions of ICU that a match needs. Each call goes through the table that is filled once.
#include "CICU.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Names without a version: they are only looked up.
#define U_DISABLE_RENAMING 1
#include <unicode/uregex.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#define FUNCTIONS(F) \
  F(u_errorName) F(utext_close) F(utext_setup) F(uregex_clone) F(uregex_close) F(uregex_matches64) F(uregex_open) \
  F(uregex_setMatchCallback) F(uregex_setStackLimit) F(uregex_setUText)

#define POINTER(name) __typeof__(&name) name;
static struct { FUNCTIONS(POINTER) } icu;

static char reason[256];

static void load(void) {
  void *library = NULL;
  int version = 100;
  char name[64];
  while (library == NULL && --version >= 50) {
    snprintf(name, sizeof name, "libicui18n.so.%d", version);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) {
    snprintf(reason, sizeof reason, "regular expressions need ICU, and there is no libicui18n.so");
    return;
  }
#define FIND(function) \
  { \
    snprintf(name, sizeof name, #function "_%d", version); \
    void *found = dlsym(library, name); \
    if (found == NULL) { \
      snprintf(reason, sizeof reason, "libicui18n.so.%d has no function %s", version, name); \
      return; \
    } \
    memcpy(&icu.function, &found, sizeof found); \
  }
  FUNCTIONS(FIND)
}

struct cicu_matcher {
  URegularExpression *expression;
  UText *text;
  UChar *units;
  size_t capacity;
  // What a place to come back to counts: each is kept with all groups and counters of the pattern.
  int64_t weight;
  int64_t steps;
  int64_t limit;
};

// MARK: Text

// ICU counts the places that it may come back to, and not the text that it reads between two of them: with (?>.*) all of
// it. So it gets the text in parts, and each part that it asks for counts as well.
enum { PART = 64, STEPS_PER_PART = 5 };

static bool isInPair(const UChar *units, int64_t place, int64_t count) {
  return place > 0 && place < count && U16_IS_LEAD(units[place - 1]) && U16_IS_TRAIL(units[place]);
}

// Makes the part of the text that has the unit after an index, or before it, the current one.
static UBool choosePart(UText *text, int64_t index, UBool isForward) {
  const UChar *units = text->p;
  int64_t count = text->a;
  if (index < 0) index = 0;
  if (index > count) index = count;
  int64_t wanted = isForward ? index : index - 1;
  int64_t place = wanted < 0 ? 0 : wanted >= count && count > 0 ? count - 1 : wanted;
  int64_t start = place / PART * PART;
  int64_t end = start + PART < count ? start + PART : count;
  if (isInPair(units, start, count)) start -= 1;
  if (isInPair(units, end, count)) end += 1;
  text->chunkContents = units + start;
  text->chunkNativeStart = start;
  text->chunkNativeLimit = end;
  text->chunkLength = (int32_t)(end - start);
  text->nativeIndexingLimit = text->chunkLength;
  text->chunkOffset = (int32_t)(index - start);
  return wanted >= 0 && wanted < count;
}

static UBool readPart(UText *text, int64_t index, UBool isForward) {
  ((cicu_matcher *)text->context)->steps += STEPS_PER_PART;
  return choosePart(text, index, isForward);
}

static int64_t unitCount(UText *text) { return text->a; }

static UText *copyText(UText *copy, const UText *text, UBool isDeep, UErrorCode *status) {
  if (isDeep) *status = U_UNSUPPORTED_ERROR;
  copy = icu.utext_setup(copy, 0, status);
  if (U_FAILURE(*status)) return copy;
  copy->pFuncs = text->pFuncs;
  copy->context = text->context;
  copy->p = text->p;
  copy->a = text->a;
  choosePart(copy, text->chunkNativeStart + text->chunkOffset, true);
  return copy;
}

static int32_t extract(UText *text, int64_t start, int64_t limit, UChar *units, int32_t capacity, UErrorCode *status) {
  (void)text, (void)start, (void)limit, (void)units, (void)capacity;
  *status = U_UNSUPPORTED_ERROR;
  return 0;
}

static const UTextFuncs functions = {
  .tableSize = sizeof(UTextFuncs), .clone = copyText, .nativeLength = unitCount, .access = readPart, .extract = extract,
};

// Returns the number of units; there is room for as many as there are bytes.
static int64_t decode(const uint8_t *text, size_t length, UChar *units) {
  int64_t count = 0;
  size_t place = 0;
  while (place < length) {
    while (place < length && text[place] < 0x80) units[count++] = text[place++];
    if (place == length) break;
    UChar32 scalar;
    U8_NEXT_OR_FFFD(text, place, length, scalar);
    if (scalar < 0x10000) {
      units[count++] = (UChar)scalar;
    } else {
      units[count++] = U16_LEAD(scalar);
      units[count++] = U16_TRAIL(scalar);
    }
  }
  return count;
}

static bool makeRoom(cicu_matcher *matcher, size_t length) {
  if (length <= matcher->capacity && matcher->units != NULL) return true;
  size_t capacity = length + length / 2 + 64;
  if (capacity > SIZE_MAX / 4) return false;
  UChar *units = realloc(matcher->units, capacity * sizeof(UChar));
  if (units == NULL) return false;
  matcher->units = units;
  matcher->capacity = capacity;
  return true;
}

// MARK: Matchers

// ICU calls it whenever it has kept 10,000 places.
static UBool goOn(const void *context, int32_t rounds) {
  (void)rounds;
  cicu_matcher *matcher = (cicu_matcher *)context;
  matcher->steps += 10000 * matcher->weight;
  return matcher->steps <= matcher->limit;
}

static cicu_matcher *newMatcher(void) {
  cicu_matcher *matcher = calloc(1, sizeof *matcher);
  UErrorCode status = U_ZERO_ERROR;
  if (matcher != NULL && (matcher->text = icu.utext_setup(NULL, 0, &status)) == NULL) {
    free(matcher);
    return NULL;
  }
  if (matcher != NULL) {
    matcher->text->pFuncs = &functions;
    matcher->text->context = matcher;
  }
  return matcher;
}

static bool setUp(cicu_matcher *matcher, UErrorCode *status) {
  icu.uregex_setStackLimit(matcher->expression, CICU_MAXIMUM_BYTES, status);
  icu.uregex_setMatchCallback(matcher->expression, goOn, matcher, status);
  return U_SUCCESS(*status);
}

cicu_matcher *cicu_compile(const uint8_t *pattern, size_t length, bool ignoresCase, cicu_problem *problem) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  *problem = (cicu_problem){.name = reason[0] != 0 ? reason : "U_MEMORY_ALLOCATION_ERROR"};
  if (reason[0] != 0) return NULL;
  if (length > CICU_MAXIMUM_PATTERN) {
    problem->name = "U_REGEX_PATTERN_TOO_BIG";
    return NULL;
  }
  cicu_matcher *matcher = newMatcher();
  if (matcher == NULL || !makeRoom(matcher, length)) {
    cicu_free(matcher);
    return NULL;
  }
  int32_t count = (int32_t)decode(pattern, length, matcher->units);
  matcher->weight = 1 + count / 64;
  UErrorCode status = U_ZERO_ERROR;
  UParseError place = {0};
  matcher->expression =
    icu.uregex_open(matcher->units, count, ignoresCase ? UREGEX_CASE_INSENSITIVE : 0, &place, &status);
  if (U_SUCCESS(status) && setUp(matcher, &status)) return matcher;
  *problem = (cicu_problem){.name = icu.u_errorName(status), .line = place.line, .column = place.offset};
  cicu_free(matcher);
  return NULL;
}

cicu_matcher *cicu_copy(const cicu_matcher *matcher) {
  cicu_matcher *copy = newMatcher();
  if (copy == NULL) return NULL;
  copy->weight = matcher->weight;
  UErrorCode status = U_ZERO_ERROR;
  copy->expression = icu.uregex_clone(matcher->expression, &status);
  if (U_SUCCESS(status) && setUp(copy, &status)) return copy;
  cicu_free(copy);
  return NULL;
}

void cicu_free(cicu_matcher *matcher) {
  if (matcher == NULL) return;
  if (matcher->expression != NULL) icu.uregex_close(matcher->expression);
  if (matcher->text != NULL) icu.utext_close(matcher->text);
  free(matcher->units);
  free(matcher);
}

cicu_result cicu_matches(cicu_matcher *matcher, const uint8_t *text, size_t length, int64_t limit, int64_t *steps) {
  if (!makeRoom(matcher, length)) return cicu_too_much_memory;
  matcher->text->p = matcher->units;
  matcher->text->a = decode(text, length, matcher->units);
  choosePart(matcher->text, 0, true);
  matcher->steps = STEPS_PER_PART;
  matcher->limit = limit;
  UErrorCode status = U_ZERO_ERROR;
  icu.uregex_setUText(matcher->expression, matcher->text, &status);
  bool isMatch = icu.uregex_matches64(matcher->expression, 0, &status);
  *steps += matcher->steps;
  if (U_SUCCESS(status)) return isMatch ? cicu_matching : cicu_different;
  switch (status) {
  case U_REGEX_STOPPED_BY_CALLER: return cicu_too_many_steps;
  case U_REGEX_STACK_OVERFLOW:
  case U_MEMORY_ALLOCATION_ERROR: return cicu_too_much_memory;
  default: return cicu_failed;
  }
}
