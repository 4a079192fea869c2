#ifndef ATOMIC_STORE_KIT_CSQLITE_H
#define ATOMIC_STORE_KIT_CSQLITE_H

#include <sqlite3.h>

// Swift can call neither functions with "..." nor see SQLITE_TRANSIENT, which is a cast.

static inline int csqlite_switch(sqlite3 *database, int option, int isOn) {
  return sqlite3_db_config(database, option, isOn, (int *)0);
}

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline void csqlite_result_blob(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
  sqlite3_result_blob64(context, bytes, count, SQLITE_TRANSIENT);
}

// Of what is in a file, a connection trusts the tables and indexes alone.
static inline void csqlite_distrust(sqlite3 *database) {
  csqlite_switch(database, SQLITE_DBCONFIG_DEFENSIVE, 1);
  csqlite_switch(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
  csqlite_switch(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
  csqlite_switch(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0);
  csqlite_switch(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0);
}

static inline int csqlite_count_down(void *left) { return --*(long *)left < 0; }

// Interrupts the connection's statements after so many thousand steps, which are counted down.
static inline void csqlite_limit_steps(sqlite3 *database, long *thousands) {
  sqlite3_progress_handler(database, 1000, csqlite_count_down, thousands);
}

#endif
