// libpq, which is loaded when it is first needed: it brings some twenty libraries along, whose loading alone takes
// longer than most commands, and a program that never meets a PostgreSQL store runs where there is none.
#ifndef CPOSTGRESQL_H
#define CPOSTGRESQL_H

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

// Why libpq cannot be used; NULL if it can. The first call loads it.
const char *cpostgres_unavailable(void);

// Drops the notices of the server, which are not diagnostics of ours.
void cpostgres_silence(PGconn *connection);

// The SQLSTATE of a result that is an error; NULL for others.
const char *cpostgres_state(const PGresult *result);

#endif
