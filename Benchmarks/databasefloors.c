// What the databases of the package are measured against: the same statements from C, without objects.
//   databasefloors save FILE BADGE LEVEL       finds an employee of a SQLiteGraph file by its badge, and changes one value
//   databasefloors saves FILE BADGE COUNT      finds it once, and changes it that many times: a transaction each
//   databasefloors copy URL FILE TABLE SCHEMA  fills TABLE of SCHEMA from FILE, as COPY … TO STDOUT BINARY wrote it
//   databasefloors out URL FILE TABLE SCHEMA   writes such a file
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *database;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "databasefloors: %s: %s\n", what, why);
  exit(1);
}

static void run(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql, sqlite3_errmsg(database));
}

static sqlite3_stmt *prepared(const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) fail(sql, sqlite3_errmsg(database));
  return statement;
}

// Executes a statement; the first column of its last row, or 0.
static int64_t number(sqlite3_stmt *statement) {
  int64_t found = 0;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) found = sqlite3_column_int64(statement, 0);
  if (code != SQLITE_DONE) fail(sqlite3_sql(statement), sqlite3_errmsg(database));
  sqlite3_reset(statement);
  return found;
}

static void change(int64_t id, int64_t entity, int64_t level) {
  static sqlite3_stmt *begin, *stamp, *version, *update, *next, *transaction, *history, *commit;
  if (!begin) {
    begin = prepared("BEGIN IMMEDIATE");
    stamp = prepared("SELECT value FROM atomicstore_metadata WHERE key = 'stamp'");
    version = prepared("SELECT ver, id FROM \"Employee\" WHERE id IN (?1)");
    update = prepared("UPDATE \"Employee\" SET ver = ?1, \"level\" = ?3 WHERE id = ?2");
    next = prepared("SELECT COALESCE(MAX(number), 0) + 1 FROM atomicstore_transactions");
    transaction = prepared(
        "INSERT INTO atomicstore_transactions (number, save, date, author, context) VALUES (?1, ?2, ?3, ?4, ?5)");
    history = prepared(
        "INSERT INTO atomicstore_changes (number, place, ent, id, ref, kind, slots) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    commit = prepared("COMMIT");
  }
  number(begin);
  number(stamp);
  sqlite3_bind_int64(version, 1, id);
  int64_t now = number(version);
  sqlite3_bind_int64(update, 1, now + 1);
  sqlite3_bind_int64(update, 2, id);
  sqlite3_bind_int64(update, 3, level);
  number(update);
  int64_t place = number(next);
  char name[40];
  snprintf(name, sizeof name, "00000000-0000-0000-0000-%012lld", (long long)place);
  sqlite3_bind_int64(transaction, 1, place);
  sqlite3_bind_text(transaction, 2, name, -1, SQLITE_TRANSIENT);
  sqlite3_bind_double(transaction, 3, 8e8);
  number(transaction);
  sqlite3_bind_int64(history, 1, place);
  sqlite3_bind_int64(history, 2, 0);
  sqlite3_bind_int64(history, 3, entity);
  sqlite3_bind_int64(history, 4, id);
  sqlite3_bind_text(history, 6, "update", -1, SQLITE_STATIC);
  sqlite3_bind_text(history, 7, "6", -1, SQLITE_STATIC);
  number(history);
  number(commit);
}

static int save(const char *path, const char *badge, int64_t level, int64_t count) {
  if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    fail(path, sqlite3_errmsg(database));
  run("PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384");
  run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
  sqlite3_stmt *find = prepared("SELECT t.id, t.ent FROM \"Employee\" t WHERE t.\"badge\" IS NOT NULL AND t.\"badge\" = ?1");
  sqlite3_bind_int64(find, 1, strtoll(badge, NULL, 10));
  if (sqlite3_step(find) != SQLITE_ROW) fail(badge, "not found");
  int64_t id = sqlite3_column_int64(find, 0), entity = sqlite3_column_int64(find, 1);
  while (sqlite3_step(find) == SQLITE_ROW) {}
  sqlite3_finalize(find);
  for (int64_t round = 0; round < count; round++) change(id, entity, level + round % 2);
  sqlite3_close_v2(database);
  return 0;
}

static PGconn *connection;

static void execute(const char *sql, ExecStatusType wanted) {
  PGresult *result = PQexec(connection, sql);
  if (PQresultStatus(result) != wanted) fail(sql, PQerrorMessage(connection));
  PQclear(result);
}

static void begin(const char *url, const char *table, const char *schema, const char *form) {
  connection = PQconnectdb(url);
  if (PQstatus(connection) != CONNECTION_OK) fail("connect", PQerrorMessage(connection));
  char sql[500];
  snprintf(sql, sizeof sql, "SET search_path TO \"%s\"", schema);
  execute(sql, PGRES_COMMAND_OK);
  if (strstr(form, "FROM")) execute("BEGIN ISOLATION LEVEL SERIALIZABLE", PGRES_COMMAND_OK);
  snprintf(sql, sizeof sql, form, table);
  execute(sql, strstr(form, "FROM") ? PGRES_COPY_IN : PGRES_COPY_OUT);
}

static int copy(const char *url, const char *path, const char *table, const char *schema) {
  static char buffer[1 << 18];
  FILE *file = fopen(path, "r");
  if (!file) fail(path, "cannot be opened");
  begin(url, table, schema, "COPY \"%s\" FROM STDIN BINARY");
  size_t size;
  while ((size = fread(buffer, 1, sizeof buffer, file)) > 0) {
    if (PQputCopyData(connection, buffer, (int)size) != 1) fail("COPY", PQerrorMessage(connection));
  }
  PQputCopyEnd(connection, NULL);
  PGresult *result;
  while ((result = PQgetResult(connection))) {
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail("COPY", PQerrorMessage(connection));
    PQclear(result);
  }
  execute("COMMIT", PGRES_COMMAND_OK);
  PQfinish(connection);
  return 0;
}

static int out(const char *url, const char *path, const char *table, const char *schema) {
  FILE *file = fopen(path, "w");
  if (!file) fail(path, "cannot be opened");
  begin(url, table, schema, "COPY \"%s\" TO STDOUT BINARY");
  char *row;
  int size;
  while ((size = PQgetCopyData(connection, &row, 0)) > 0) {
    fwrite(row, 1, (size_t)size, file);
    PQfreemem(row);
  }
  if (size < -1) fail("COPY", PQerrorMessage(connection));
  fclose(file);
  PQfinish(connection);
  return 0;
}

int main(int count, char **arguments) {
  if (count == 5 && !strcmp(arguments[1], "save")) return save(arguments[2], arguments[3], strtoll(arguments[4], NULL, 10), 1);
  if (count == 5 && !strcmp(arguments[1], "saves")) return save(arguments[2], arguments[3], 0, strtoll(arguments[4], NULL, 10));
  if (count == 6 && !strcmp(arguments[1], "copy")) return copy(arguments[2], arguments[3], arguments[4], arguments[5]);
  if (count == 6 && !strcmp(arguments[1], "out")) return out(arguments[2], arguments[3], arguments[4], arguments[5]);
  return 2;
}
