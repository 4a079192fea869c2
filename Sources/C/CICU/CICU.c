// The few functions of ICU that matches and time zones need. Each call goes through the table that is filled once.
#include "CICU.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Names without a version: they are only looked up.
#define U_DISABLE_RENAMING 1
#include <unicode/ucal.h>
#include <unicode/uregex.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#define FUNCTIONS(F) \
  F(u_errorName) F(utext_close) F(utext_setup) F(uregex_clone) F(uregex_close) F(uregex_matches64) F(uregex_open) \
  F(uregex_setMatchCallback) F(uregex_setStackLimit) F(uregex_setUText) F(ucal_close) F(ucal_get) \
  F(ucal_getCanonicalTimeZoneID) F(ucal_open) F(ucal_setMillis)

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
    snprintf(reason, sizeof reason, "libicui18n.so was not found");
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

static void loadOnce(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

// What a match of a pattern counts.
typedef struct {
  // Of a place to come back to: each is kept with all groups and counters of the pattern.
  int64_t weight;
  // At most the places that a match keeps without a look at the text; 0 if it never keeps one.
  int64_t unseen;
} cicu_cost;

struct cicu_matcher {
  URegularExpression *expression;
  UText *text;
  UChar *units;
  size_t capacity;
  cicu_cost cost;
  int64_t steps;
  int64_t limit;
};

// MARK: Text

// ICU counts the places that it may come back to by the ten thousand, from 0 for each text, and does not count what it
// reads between two of them: with (?>.*) all of the text. So it gets the text in parts, and each part that it asks for
// counts. If a pattern may keep places, each index that it moves to counts as well: otherwise a match of a short text
// would count nothing, and might still keep 9,999 places.
enum { PART = 64, STEPS_PER_PART = 5, PLACES_PER_CALL = 10000 };

// What a move to an index counts: the place that is kept with it, and some of those that are kept without one.
static int64_t stepsPerMove(const cicu_matcher *matcher) {
  return matcher->cost.unseen == 0 ? 0 : matcher->cost.weight * (1 + matcher->cost.unseen / 16);
}

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
  // Below 0, ICU asks for the offset of each index.
  text->nativeIndexingLimit = ((cicu_matcher *)text->context)->cost.unseen == 0 ? text->chunkLength : -1;
  text->chunkOffset = (int32_t)(index - start);
  return wanted >= 0 && wanted < count;
}

static UBool readPart(UText *text, int64_t index, UBool isForward) {
  cicu_matcher *matcher = (cicu_matcher *)text->context;
  matcher->steps += STEPS_PER_PART + stepsPerMove(matcher);
  return choosePart(text, index, isForward);
}

static int32_t moveToIndex(const UText *text, int64_t index) {
  cicu_matcher *matcher = (cicu_matcher *)text->context;
  matcher->steps += stepsPerMove(matcher);
  return (int32_t)(index - text->chunkNativeStart);
}

static int64_t currentIndex(const UText *text) { return text->chunkNativeStart + text->chunkOffset; }

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
  .mapOffsetToNative = currentIndex, .mapNativeIndexToUTF16 = moveToIndex,
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

// MARK: Patterns

// A group of a pattern, or the whole pattern, as far as it was read.
typedef struct {
  // The ways through it that do not look at the text, and how many alternatives have such a way.
  int64_t ways;
  int64_t emptyAlternatives;
  int64_t alternatives;
  // Whether the present alternative matches some letter.
  bool hasLetter;
  bool isAssertion;
} cicu_group;

enum { MAXIMUM_DEPTH = 128 };

static int64_t product(int64_t one, int64_t other) {
  return one > PLACES_PER_CALL / other ? PLACES_PER_CALL : one * other;
}

typedef struct {
  const UChar *units;
  int32_t count;
  int32_t place;
} cicu_reader;

static UChar unitAt(const cicu_reader *reader, int32_t distance) {
  return reader->place + distance < reader->count ? reader->units[reader->place + distance] : 0;
}

static void skipPast(cicu_reader *reader, UChar last) {
  while (reader->place < reader->count && reader->units[reader->place++] != last) {}
}

// Skips a set, which may contain others.
static void skipSet(cicu_reader *reader) {
  int32_t depth = 0;
  int32_t start = -1;
  while (reader->place < reader->count) {
    UChar unit = reader->units[reader->place++];
    if (unit == '\\') {
      reader->place += 1;
    } else if (unit == '[') {
      depth += 1;
      if (unitAt(reader, 0) == '^') reader->place += 1;
      start = reader->place;
    } else if (unit == ']' && reader->place - 1 != start && --depth == 0) {
      return;
    }
  }
}

// Skips an escape. Returns whether it matches a letter, rather than a position or what a group matched.
static bool skipEscape(cicu_reader *reader) {
  UChar unit = unitAt(reader, 1);
  reader->place += 2;
  if (unit == 'Q') {
    bool hasLetter = false;
    while (reader->place < reader->count && !(unitAt(reader, 0) == '\\' && unitAt(reader, 1) == 'E')) {
      reader->place += 1;
      hasLetter = true;
    }
    reader->place += 2;
    return hasLetter;
  }
  if (unit == 'k') skipPast(reader, '>');
  if (unitAt(reader, 0) == '{' && unit < 0x80 && strchr("pPNx", (char)unit) != NULL) skipPast(reader, '}');
  return unit >= 0x80 || strchr("AbBEGkzZ123456789", (char)unit) == NULL;
}

// Skips a quantifier, if there is one. Returns how often it repeats at most, with 2 for any number, and 0 for none.
static int64_t skipQuantifier(cicu_reader *reader, bool *mayBeNone, bool *isChoice) {
  int64_t most = 2;
  *mayBeNone = *isChoice = true;
  switch (unitAt(reader, 0)) {
  case '?': case '*': break;
  case '+': *mayBeNone = false; break;
  case '{': {
    int64_t numbers[2] = {0, 0};
    int32_t index = 0;
    while (unitAt(reader, 1) != '}' && reader->place + 1 < reader->count) {
      reader->place += 1;
      UChar unit = unitAt(reader, 0);
      if (unit == ',') index = 1;
      bool isDigit = unit >= '0' && unit <= '9';
      if (isDigit && numbers[index] < PLACES_PER_CALL) numbers[index] = numbers[index] * 10 + unit - '0';
    }
    reader->place += 1;
    *mayBeNone = numbers[0] == 0;
    *isChoice = index == 1;
    most = numbers[1] > numbers[0] ? numbers[1] : numbers[0] + index;
    break;
  }
  default: *mayBeNone = *isChoice = false; return 0;
  }
  reader->place += 1;
  if (unitAt(reader, 0) == '?' || unitAt(reader, 0) == '+') reader->place += 1;
  return most;
}

// Begins a group. Returns false for flags and comments, which are not groups.
static bool beginGroup(cicu_reader *reader, cicu_group *group, bool *hasSpace) {
  *group = (cicu_group){.ways = 1, .alternatives = 1};
  reader->place += 1;
  if (unitAt(reader, 0) != '?') return true;
  UChar unit = unitAt(reader, 1);
  UChar next = unitAt(reader, 2);
  reader->place += 2;
  group->isAssertion = unit == '=' || unit == '!' || (unit == '<' && (next == '=' || next == '!'));
  if (unit == '#') {
    skipPast(reader, ')');
    return false;
  }
  if (unit == '<') {
    if (group->isAssertion) reader->place += 1; else skipPast(reader, '>');
    return true;
  }
  if (group->isAssertion || unit == ':' || unit == '>') return true;
  for (; reader->place - 1 < reader->count; reader->place += 1) {
    unit = unitAt(reader, -1);
    if (unit == 'x') *hasSpace = true;
    if (unit == ')') return false;
    if (unit == ':') return true;
  }
  return false;
}

static void endAlternative(cicu_group *group) {
  if (!group->hasLetter) group->emptyAlternatives += 1;
  group->hasLetter = false;
}

// What a match of a pattern counts, from above: a group that may match nothing, in several ways or several times,
// multiplies the ways through the rest. Without such groups there is one way.
static cicu_cost measure(const UChar *units, int32_t count) {
  cicu_reader reader = {units, count, 0};
  cicu_group groups[MAXIMUM_DEPTH] = {{.ways = 1, .alternatives = 1}};
  cicu_group *group = groups;
  int64_t kept = 0, choices = 0;
  bool hasSpace = false;
  while (reader.place < count) {
    UChar unit = units[reader.place];
    cicu_group closed = {.ways = 1, .alternatives = 1};
    bool isLetter = false;
    switch (unit) {
    case '(':
      kept += 1;
      if (group == groups + MAXIMUM_DEPTH - 1) return (cicu_cost){1 + count / 16, PLACES_PER_CALL};
      if (beginGroup(&reader, group + 1, &hasSpace)) group += 1;
      continue;
    case '|':
      choices += 1;
      endAlternative(group);
      group->alternatives += 1;
      reader.place += 1;
      continue;
    case ')':
      reader.place += 1;
      endAlternative(group);
      closed = *group;
      isLetter = closed.emptyAlternatives == 0 && !closed.isAssertion;
      if (closed.alternatives > 1) closed.ways = product(closed.ways, 1 + closed.emptyAlternatives);
      if (group > groups) group -= 1;
      break;
    case '[':
      skipSet(&reader);
      isLetter = true;
      break;
    case '\\': isLetter = skipEscape(&reader); break;
    default:
      reader.place += 1;
      isLetter = unit != '^' && unit != '$';
    }
    bool mayBeNone, isChoice;
    int64_t most = skipQuantifier(&reader, &mayBeNone, &isChoice);
    choices += isChoice;
    if (most > 0) {
      kept += 1;
      if (unit == ')' && !isLetter) {
        int64_t ways = product(closed.ways, 2);
        for (int64_t round = 0; round < most && closed.ways < PLACES_PER_CALL; round++) {
          closed.ways = product(closed.ways, ways);
        }
      }
    }
    group->ways = product(group->ways, closed.ways);
    group->hasLetter |= isLetter && !mayBeNone;
  }
  while (group > groups) {
    group -= 1;
    group->ways = product(group->ways, group[1].ways);
  }
  int64_t weight = 1 + kept / 16;
  if (choices == 0) return (cicu_cost){weight, 0};
  endAlternative(group);
  // Where spaces and comments do not count, they were read as letters.
  if (hasSpace) return (cicu_cost){weight, PLACES_PER_CALL};
  if (group->alternatives > 1) group->ways = product(group->ways, 1 + group->emptyAlternatives);
  return (cicu_cost){weight, product(group->ways, choices)};
}

// MARK: Matchers

// ICU calls it whenever it has kept that many places.
static UBool goOn(const void *context, int32_t rounds) {
  (void)rounds;
  cicu_matcher *matcher = (cicu_matcher *)context;
  matcher->steps += PLACES_PER_CALL * matcher->cost.weight;
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
  loadOnce();
  *problem = (cicu_problem){
    .name = reason[0] != 0 ? reason : "U_MEMORY_ALLOCATION_ERROR", .isWithoutICU = reason[0] != 0,
  };
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
  matcher->cost = measure(matcher->units, count);
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
  copy->cost = matcher->cost;
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
  // Where the text ends, a match keeps places without a look at it.
  matcher->steps = STEPS_PER_PART + matcher->cost.weight * matcher->cost.unseen;
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

// MARK: Time zones

struct cicu_zone {
  UCalendar *calendar;
};

cicu_zone *cicu_zone_open(const char *name, const char **problem) {
  loadOnce();
  *problem = reason[0] == 0 ? NULL : reason;
  UChar units[64], canonical[64];
  size_t length = strlen(name);
  if (*problem != NULL || length == 0 || length >= 64) return NULL;
  for (size_t place = 0; place <= length; ++place) {
    if ((unsigned char)name[place] >= 0x80) return NULL;
    units[place] = (UChar)name[place];
  }
  // A calendar opens for unknown names, too, with the time of UTC.
  UErrorCode status = U_ZERO_ERROR;
  icu.ucal_getCanonicalTimeZoneID(units, (int32_t)length, canonical, 64, NULL, &status);
  if (U_FAILURE(status)) return NULL;
  UCalendar *calendar = icu.ucal_open(units, (int32_t)length, "en", UCAL_GREGORIAN, &status);
  if (U_FAILURE(status)) return NULL;
  cicu_zone *zone = malloc(sizeof *zone);
  if (zone == NULL) {
    icu.ucal_close(calendar);
    return NULL;
  }
  zone->calendar = calendar;
  return zone;
}

int32_t cicu_zone_offset(cicu_zone *zone, double milliseconds) {
  UErrorCode status = U_ZERO_ERROR;
  icu.ucal_setMillis(zone->calendar, milliseconds, &status);
  int32_t offset = icu.ucal_get(zone->calendar, UCAL_ZONE_OFFSET, &status);
  offset += icu.ucal_get(zone->calendar, UCAL_DST_OFFSET, &status);
  return U_SUCCESS(status) ? offset / 1000 : 0;
}

void cicu_zone_free(cicu_zone *zone) {
  icu.ucal_close(zone->calendar);
  free(zone);
}
