// The folder comes from pkg-config, or is Debian's: tools that read the interface do not ask pkg-config.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

// A notice of the server is no diagnostic of ours.
static inline void cpostgres_ignore(void *context, const char *message) {
  (void)context;
  (void)message;
}
static inline void cpostgres_silence(PGconn *connection) {
  PQsetNoticeProcessor(connection, cpostgres_ignore, 0);
}
static inline const char *cpostgres_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
