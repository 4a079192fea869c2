#define _GNU_SOURCE
#include "CFloors.h"
#include <fcntl.h>
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/SAX2.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

int64_t peak_memory(void) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  if (f) fclose(f);
  return (int64_t)kib * 1024;
}

static void start(void *c, const xmlChar *n, const xmlChar *p, const xmlChar *u, int nn, const xmlChar **ns, int na,
                  int nd, const xmlChar **a) {
  (void)c, (void)n, (void)p, (void)u, (void)nn, (void)ns, (void)na, (void)nd, (void)a;
}
static void end(void *c, const xmlChar *n, const xmlChar *p, const xmlChar *u) { (void)c, (void)n, (void)p, (void)u; }
static void text(void *c, const xmlChar *b, int n) { (void)c, (void)b, (void)n; }

double floor_xml(const char *path) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) return -1;
  static char buffer[256 * 1024];
  double begin = now();
  xmlSAXHandler sax;
  memset(&sax, 0, sizeof sax);
  sax.initialized = XML_SAX2_MAGIC;
  sax.startElementNs = start;
  sax.endElementNs = end;
  sax.characters = text;
  sax.ignorableWhitespace = text;
  sax.cdataBlock = text;
  xmlParserCtxtPtr context = xmlCreatePushParserCtxt(&sax, NULL, NULL, 0, NULL);
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) xmlParseChunk(context, buffer, (int)got, 0);
  xmlParseChunk(context, NULL, 0, 1);
  int ok = context->wellFormed;
  xmlFreeParserCtxt(context);
  double seconds = now() - begin;
  close(fd);
  return ok ? seconds : -1;
}

static char *slurp(const char *path, size_t *size) {
  int fd = open(path, O_RDONLY);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) < 0) return NULL;
  char *bytes = malloc(s.st_size + 1);
  size_t filled = 0;
  ssize_t got;
  while ((got = read(fd, bytes + filled, s.st_size - filled)) > 0) filled += got;
  close(fd);
  *size = filled;
  return bytes;
}

double floor_csv(const char *const *paths) {
  double begin = now();
  volatile long sink = 0;
  for (; *paths; paths++) {
    size_t size;
    char *bytes = slurp(*paths, &size);
    if (!bytes) return -1;
    long fields = 0;
    int quoted = 0;
    for (size_t i = 0; i < size; i++) {
      char c = bytes[i];
      if (quoted) {
        if (c == '"') quoted = 0;
      } else if (c == '"') {
        quoted = 1;
      } else if (c == ',' || c == '\n') {
        fields++;
      }
    }
    sink += fields;
    free(bytes);
  }
  return now() - begin;
}

double floor_write(const char *source, const char *target) {
  size_t size;
  char *bytes = slurp(source, &size);
  if (!bytes) return -1;
  char temporary[4096];
  snprintf(temporary, sizeof temporary, "%s.tmp", target);
  double begin = now();
  int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  size_t done = 0;
  while (done < size) {
    size_t piece = size - done < (1 << 20) ? size - done : 1 << 20;
    ssize_t wrote = write(fd, bytes + done, piece);
    if (wrote < 0) return -1;
    done += wrote;
  }
  if (fsync(fd) != 0 || close(fd) != 0 || rename(temporary, target) != 0) return -1;
  double seconds = now() - begin;
  free(bytes);
  return seconds;
}

struct base { sqlite3 *db; sqlite3_stmt *employee, *department, *project, *member; };

void *sqlite_begin(const char *path) {
  unlink(path);
  struct base *b = calloc(1, sizeof *b);
  if (sqlite3_open(path, &b->db) != SQLITE_OK) return NULL;
  sqlite3_exec(b->db,
               "CREATE TABLE employee(id INTEGER PRIMARY KEY, name TEXT, title TEXT, badge INTEGER, rating REAL, salary TEXT,"
               " hired REAL, active INTEGER, token BLOB, department INTEGER, manager INTEGER);"
               "CREATE TABLE department(id INTEGER PRIMARY KEY, name TEXT);"
               "CREATE TABLE project(id INTEGER PRIMARY KEY, name TEXT);"
               "CREATE TABLE member(project INTEGER, employee INTEGER); BEGIN",
               0, 0, 0);
  sqlite3_prepare_v2(b->db, "INSERT INTO employee VALUES(?,?,?,?,?,?,?,?,?,?,?)", -1, &b->employee, 0);
  sqlite3_prepare_v2(b->db, "INSERT INTO department VALUES(?,?)", -1, &b->department, 0);
  sqlite3_prepare_v2(b->db, "INSERT INTO project VALUES(?,?)", -1, &b->project, 0);
  sqlite3_prepare_v2(b->db, "INSERT INTO member VALUES(?,?)", -1, &b->member, 0);
  return b;
}

static int step(sqlite3_stmt *s) {
  int result = sqlite3_step(s) == SQLITE_DONE;
  sqlite3_reset(s);
  return result;
}

int sqlite_employee(void *db, int64_t id, const char *name, int nl, const char *title, int tl, int64_t badge,
                    double rating, const char *salary, int sl, double hired, int active, const void *token, int kl,
                    int64_t department, int64_t manager) {
  sqlite3_stmt *s = ((struct base *)db)->employee;
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, name, nl, SQLITE_STATIC);
  sqlite3_bind_text(s, 3, title, tl, SQLITE_STATIC);
  sqlite3_bind_int64(s, 4, badge);
  sqlite3_bind_double(s, 5, rating);
  sqlite3_bind_text(s, 6, salary, sl, SQLITE_STATIC);
  sqlite3_bind_double(s, 7, hired);
  sqlite3_bind_int(s, 8, active);
  sqlite3_bind_blob(s, 9, token, kl, SQLITE_STATIC);
  sqlite3_bind_int64(s, 10, department);
  if (manager) sqlite3_bind_int64(s, 11, manager); else sqlite3_bind_null(s, 11);
  return step(s);
}

int sqlite_named(void *db, int is_project, int64_t id, const char *name, int nl) {
  sqlite3_stmt *s = is_project ? ((struct base *)db)->project : ((struct base *)db)->department;
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, name, nl, SQLITE_STATIC);
  return step(s);
}

int sqlite_member(void *db, int64_t project, int64_t employee) {
  sqlite3_stmt *s = ((struct base *)db)->member;
  sqlite3_bind_int64(s, 1, project);
  sqlite3_bind_int64(s, 2, employee);
  return step(s);
}

int sqlite_end(void *db) {
  struct base *b = db;
  int ok = sqlite3_exec(b->db, "COMMIT", 0, 0, 0) == SQLITE_OK;
  sqlite3_finalize(b->employee);
  sqlite3_finalize(b->department);
  sqlite3_finalize(b->project);
  sqlite3_finalize(b->member);
  sqlite3_close(b->db);
  free(b);
  return ok;
}

struct employee {
  int64_t id, badge, department, manager;
  double rating, hired, salary_number;
  char *name, *title, *salary, *token;
  int name_length, title_length, salary_length, token_length, active;
};
struct named { int64_t id; char *name; int length; };
struct member { int64_t project, employee; };
struct all {
  struct employee *employees;
  struct named *departments, *projects;
  struct member *members;
  size_t ne, nd, np, nm;
};

static char *copy(const void *bytes, int length) {
  char *result = malloc(length + 1);
  memcpy(result, bytes, length);
  result[length] = 0;
  return result;
}
static void *room(void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return array;
  *capacity = *capacity ? *capacity * 2 : 1024;
  return realloc(array, *capacity * size);
}

// Which rows, and in which order of columns: of the floors' own database, and of a Core Data store.
struct queries { const char *employees, *departments, *projects, *members; int salary_is_number; };
static const struct queries own = {"SELECT * FROM employee", "SELECT * FROM department", "SELECT * FROM project",
                                   "SELECT * FROM member", 0};
static const struct queries core_data = {
    "SELECT Z_PK, ZNAME, ZTITLE, ZBADGE, ZRATING, ZSALARY, ZHIRED, ZACTIVE, ZTOKEN, ZDEPARTMENT, ZMANAGER FROM ZEMPLOYEE",
    "SELECT Z_PK, ZNAME FROM ZDEPARTMENT", "SELECT Z_PK, ZNAME FROM ZPROJECT",
    "SELECT Z_3PROJECTS, Z_2MEMBERS FROM Z_2PROJECTS", 1};

static int load(const char *path, const struct queries *q, struct all *a) {
  sqlite3 *db;
  sqlite3_stmt *s;
  memset(a, 0, sizeof *a);
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, 0) != SQLITE_OK) return 0;
  size_t capacity = 0;
  if (sqlite3_prepare_v2(db, q->employees, -1, &s, 0) != SQLITE_OK) return 0;
  while (sqlite3_step(s) == SQLITE_ROW) {
    a->employees = room(a->employees, a->ne, &capacity, sizeof *a->employees);
    struct employee *e = &a->employees[a->ne++];
    e->id = sqlite3_column_int64(s, 0);
    e->name = copy(sqlite3_column_text(s, 1), e->name_length = sqlite3_column_bytes(s, 1));
    e->title = copy(sqlite3_column_text(s, 2), e->title_length = sqlite3_column_bytes(s, 2));
    e->badge = sqlite3_column_int64(s, 3);
    e->rating = sqlite3_column_double(s, 4);
    if (q->salary_is_number) e->salary_number = sqlite3_column_double(s, 5);
    else e->salary = copy(sqlite3_column_text(s, 5), e->salary_length = sqlite3_column_bytes(s, 5));
    e->hired = sqlite3_column_double(s, 6);
    e->active = sqlite3_column_int(s, 7);
    e->token = copy(sqlite3_column_blob(s, 8), e->token_length = sqlite3_column_bytes(s, 8));
    e->department = sqlite3_column_int64(s, 9);
    e->manager = sqlite3_column_int64(s, 10);
  }
  sqlite3_finalize(s);
  for (int project = 0; project < 2; project++) {
    struct named *list = 0;
    size_t count = 0;
    capacity = 0;
    if (sqlite3_prepare_v2(db, project ? q->projects : q->departments, -1, &s, 0) != SQLITE_OK) return 0;
    while (sqlite3_step(s) == SQLITE_ROW) {
      list = room(list, count, &capacity, sizeof *list);
      list[count].id = sqlite3_column_int64(s, 0);
      list[count].name = copy(sqlite3_column_text(s, 1), list[count].length = sqlite3_column_bytes(s, 1));
      count++;
    }
    sqlite3_finalize(s);
    if (project) a->projects = list, a->np = count; else a->departments = list, a->nd = count;
  }
  capacity = 0;
  if (sqlite3_prepare_v2(db, q->members, -1, &s, 0) != SQLITE_OK) return 0;
  while (sqlite3_step(s) == SQLITE_ROW) {
    a->members = room(a->members, a->nm, &capacity, sizeof *a->members);
    a->members[a->nm++] = (struct member){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
  }
  sqlite3_finalize(s);
  sqlite3_close(db);
  return a->ne > 0;
}

double floor_sqlite_load(const char *path) {
  struct all a;
  double begin = now();
  int ok = load(path, &own, &a);
  return ok ? now() - begin : -1;
}

double floor_core_data_load(const char *path) {
  struct all a;
  double begin = now();
  int ok = load(path, &core_data, &a);
  return ok ? now() - begin : -1;
}

double floor_sqlite_insert(const char *source, const char *target) {
  struct all a;
  if (!load(source, &own, &a)) return -1;
  double begin = now();
  void *db = sqlite_begin(target);
  for (size_t i = 0; i < a.nd; i++) sqlite_named(db, 0, a.departments[i].id, a.departments[i].name, a.departments[i].length);
  for (size_t i = 0; i < a.ne; i++) {
    struct employee *e = &a.employees[i];
    sqlite_employee(db, e->id, e->name, e->name_length, e->title, e->title_length, e->badge, e->rating, e->salary,
                    e->salary_length, e->hired, e->active, e->token, e->token_length, e->department, e->manager);
  }
  for (size_t i = 0; i < a.np; i++) sqlite_named(db, 1, a.projects[i].id, a.projects[i].name, a.projects[i].length);
  for (size_t i = 0; i < a.nm; i++) sqlite_member(db, a.members[i].project, a.members[i].employee);
  return sqlite_end(db) ? now() - begin : -1;
}

double command_seconds(const char *const *arguments) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  double begin = now();
  pid_t child;
  int status = -1;
  if (posix_spawn(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ) == 0) waitpid(child, &status, 0);
  double seconds = now() - begin;
  posix_spawn_file_actions_destroy(&actions);
  return status == 0 ? seconds : -1;
}
