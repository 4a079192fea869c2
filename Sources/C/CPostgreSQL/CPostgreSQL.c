// The functions of libpq that PostgreSQL stores call. Each finds the library's own in the table that is filled once.
// Without the library, those that take NULL do nothing, and the others must not be called: see cpostgres_unavailable.
// They are hidden: what else a program links or loads finds libpq's own.
#include "CPostgreSQL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Return type, name, parameters, arguments.
#define FUNCTIONS(F) \
  F(char *, PQcmdStatus, (PGresult *result), (result)) \
  F(char *, PQcmdTuples, (PGresult *result), (result)) \
  F(PGconn *, PQconnectdb, (const char *options), (options)) \
  F(PQconninfoOption *, PQconninfoParse, (const char *options, char **message), (options, message)) \
  F(char *, PQerrorMessage, (const PGconn *connection), (connection)) \
  F(PGresult *, PQexec, (PGconn *connection, const char *statement), (connection, statement)) \
  F(PGresult *, PQexecParams, \
    (PGconn *connection, const char *statement, int count, const Oid *types, const char *const *values, \
     const int *lengths, const int *formats, int format), \
    (connection, statement, count, types, values, lengths, formats, format)) \
  F(PGresult *, PQexecPrepared, \
    (PGconn *connection, const char *name, int count, const char *const *values, const int *lengths, \
     const int *formats, int format), \
    (connection, name, count, values, lengths, formats, format)) \
  F(char *, PQfname, (const PGresult *result, int column), (result, column)) \
  F(Oid, PQftype, (const PGresult *result, int column), (result, column)) \
  F(int, PQgetCopyData, (PGconn *connection, char **buffer, int isAsynchronous), (connection, buffer, isAsynchronous)) \
  F(PGresult *, PQgetResult, (PGconn *connection), (connection)) \
  F(int, PQgetisnull, (const PGresult *result, int row, int column), (result, row, column)) \
  F(int, PQgetlength, (const PGresult *result, int row, int column), (result, row, column)) \
  F(char *, PQgetvalue, (const PGresult *result, int row, int column), (result, row, column)) \
  F(int, PQntuples, (const PGresult *result), (result)) \
  F(PGresult *, PQprepare, \
    (PGconn *connection, const char *name, const char *statement, int count, const Oid *types), \
    (connection, name, statement, count, types)) \
  F(int, PQputCopyData, (PGconn *connection, const char *bytes, int count), (connection, bytes, count)) \
  F(int, PQputCopyEnd, (PGconn *connection, const char *message), (connection, message)) \
  F(char *, PQresultErrorField, (const PGresult *result, int field), (result, field)) \
  F(size_t, PQresultMemorySize, (const PGresult *result), (result)) \
  F(ExecStatusType, PQresultStatus, (const PGresult *result), (result)) \
  F(int, PQsetClientEncoding, (PGconn *connection, const char *encoding), (connection, encoding)) \
  F(PQnoticeProcessor, PQsetNoticeProcessor, (PGconn *connection, PQnoticeProcessor processor, void *context), \
    (connection, processor, context)) \
  F(ConnStatusType, PQstatus, (const PGconn *connection), (connection))

// Those that free what they are given, which may be NULL.
#define FREEING(F) \
  F(PQclear, PGresult *) \
  F(PQconninfoFree, PQconninfoOption *) \
  F(PQfinish, PGconn *) \
  F(PQfreemem, void *)

#define POINTER(type, name, parameters, arguments) type(*name) parameters;
#define FREEING_POINTER(name, type) void (*name)(type);
static struct {
  FUNCTIONS(POINTER)
  FREEING(FREEING_POINTER)
} libpq;

static char problem[256];

// A pointer to a function, which C does not let be assigned from one to data.
static void find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  if (found == NULL && problem[0] == 0) {
    snprintf(problem, sizeof problem, "libpq.so.5 has no function %s", name);
  }
  memcpy(function, &found, sizeof found);
}

static void load(void) {
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *message = dlerror();
    snprintf(problem, sizeof problem, "libpq cannot be loaded: %s", message != NULL ? message : "unknown reason");
    return;
  }
#define FIND(type, name, parameters, arguments) find(library, #name, &libpq.name);
#define FREEING_FIND(name, type) find(library, #name, &libpq.name);
  FUNCTIONS(FIND)
  FREEING(FREEING_FIND)
}

const char *cpostgres_unavailable(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return problem[0] != 0 ? problem : NULL;
}

#define HIDDEN __attribute__((visibility("hidden")))
#define FORWARD(type, name, parameters, arguments) \
  HIDDEN type name parameters { return libpq.name arguments; }
#define FREEING_FORWARD(name, type) \
  HIDDEN void name(type what) { \
    if (what != NULL) libpq.name(what); \
  }
FUNCTIONS(FORWARD)
FREEING(FREEING_FORWARD)

static void ignore(void *context, const char *message) {
  (void)context;
  (void)message;
}

void cpostgres_silence(PGconn *connection) { PQsetNoticeProcessor(connection, ignore, NULL); }

const char *cpostgres_state(const PGresult *result) { return PQresultErrorField(result, PG_DIAG_SQLSTATE); }
