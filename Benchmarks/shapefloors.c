// What the operations on a store of some shape are measured against: processor time of one pass over the same file.
//   shapefloors sax FILE      libxml2's SAX2 push parser with empty callbacks
//   shapefloors scan FILE     every byte looked at, as many at once as the compiler's vectors hold
//   shapefloors read FILE     read through one buffer
#include <fcntl.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { chunk = 1 << 20 };
static char buffer[chunk];

static void start(void *c, const xmlChar *n, const xmlChar *p, const xmlChar *u, int nn, const xmlChar **ns, int na,
                  int nd, const xmlChar **a) {
  (void)c, (void)n, (void)p, (void)u, (void)nn, (void)ns, (void)na, (void)nd, (void)a;
}
static void end(void *c, const xmlChar *n, const xmlChar *p, const xmlChar *u) { (void)c, (void)n, (void)p, (void)u; }
static void text(void *c, const xmlChar *b, int n) { (void)c, (void)b, (void)n; }

static int sax(int file) {
  xmlSAXHandler handler;
  memset(&handler, 0, sizeof handler);
  handler.initialized = XML_SAX2_MAGIC;
  handler.startElementNs = start;
  handler.endElementNs = end;
  handler.characters = text;
  xmlParserCtxtPtr context = xmlCreatePushParserCtxt(&handler, NULL, NULL, 0, NULL);
  if (!context) return 1;
  xmlCtxtUseOptions(context, XML_PARSE_HUGE | XML_PARSE_NONET);
  ssize_t count;
  int failed = 0;
  while (!failed && (count = read(file, buffer, 1 << 18)) > 0) failed = xmlParseChunk(context, buffer, (int)count, 0);
  if (!failed) failed = xmlParseChunk(context, buffer, 0, 1);
  xmlFreeParserCtxt(context);
  return failed != 0;
}

static int scan(int file) {
  unsigned long found = 0;
  ssize_t count;
  while ((count = read(file, buffer, chunk)) > 0) {
    for (ssize_t place = 0; place < count; place++)
      found += (buffer[place] == '<') + (buffer[place] == ',') + (buffer[place] == '\n') + (buffer[place] == '"');
  }
  return found == 0;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  int file = open(arguments[2], O_RDONLY);
  if (file < 0) return 1;
  if (!strcmp(arguments[1], "sax")) return sax(file);
  if (!strcmp(arguments[1], "scan")) return scan(file);
  while (read(file, buffer, chunk) > 0) {}
  return 0;
}
