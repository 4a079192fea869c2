#ifndef TABLE_STORE_SQLITE_H
#define TABLE_STORE_SQLITE_H

#include <sqlite3.h>

// Swift cannot call functions with "..." and does not see SQLITE_TRANSIENT, which is a cast.

// For a database of someone else: its schema runs no code, and cannot be changed.
static inline void tables_protect(sqlite3 *database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

static inline int tables_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// A null pointer would bind NULL, and empty data has no other.
static inline int tables_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

#endif
