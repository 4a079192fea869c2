#ifndef BENCHMARKS_CFLOORS_H
#define BENCHMARKS_CFLOORS_H
#include <stdint.h>

/// Seconds of a libxml2 SAX2 push parse with empty callbacks, 256 KiB chunks read from the file. Negative on failure.
double floor_xml(const char *path);
/// Seconds of a byte loop over CSV that counts fields; `paths` end with NULL. Reading the files is part of it.
double floor_csv(const char *const *paths);
/// Seconds of writing the bytes of `source` to `target` beside it: write, fsync, rename.
double floor_write(const char *source, const char *target);
/// Seconds of reading all tables of a database into structs.
double floor_sqlite_load(const char *path);
/// Seconds of reading all columns of all rows of a Core Data store's tables into structs.
double floor_core_data_load(const char *path);
/// Seconds of inserting all rows that `source` holds into a new database in one transaction.
double floor_sqlite_insert(const char *source, const char *target);

void *sqlite_begin(const char *path);
int sqlite_employee(void *db, int64_t id, const char *name, int name_length, const char *title, int title_length,
                    int64_t badge, double rating, const char *salary, int salary_length, double hired, int active,
                    const void *token, int token_length, int64_t department, int64_t manager);
int sqlite_named(void *db, int is_project, int64_t id, const char *name, int name_length);
int sqlite_member(void *db, int64_t project, int64_t employee);
int sqlite_end(void *db);

/// Seconds from the start of a command to its end, its output thrown away; `arguments` begin with its path and end with
/// NULL. Negative where it fails.
double command_seconds(const char *const *arguments);

/// Peak resident memory of this process in bytes.
int64_t peak_memory(void);
#endif
