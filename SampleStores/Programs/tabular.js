#!/usr/bin/env node
// Tabular: a store format for AtomicStoreKit, as a program.
//
// A store is lines of JSON: one that describes the store, then one for each object.
//
//   {"store":"Tabular","version":1,"uuid":"…","last":2,"objects":2,"entries":{…},"model":{…}}
//   {"entity":"Person","reference":1,"values":{"name":"Ada","height":"double:1.65","team":2}}
//
// The class Tabular is the format: change it. What follows it speaks the protocol, which the article
// "Formats as programs" describes, and can stay as it is. Try it with
//
//   atomicstore conform --type Tabular --plugin tabular.js

"use strict";
const fs = require("fs");

/** What is wrong with a store, and where. The codes are those of the article. */
class StoreError extends Error {
  constructor(code, message, place) {
    super(message);
    this.answer = { code, message, ...place };
  }
}

class Tabular {
  /** The name of the store type. */
  static storeType = "Tabular";

  /** What the format can keep; what is not named is kept. See StoreTraits. */
  static traits = { summary: "Lines of JSON, one object each", extensions: ["tabular"] };

  /** The first bytes of a store, by which the kit recognizes it. */
  static signatures = [{ text: '{"store":"Tabular"' }];

  // Methods that the conformance checks may call, such as "recompute" of a format with a checksum: see the article.
  static checksum = [];

  /** Begins a request. The kit refuses options that the traits do not list. */
  constructor(options) {
    this.options = options;
  }

  /** Returns UUID, last reference, entries and model of a store, without reading its objects. */
  metadata(source) {
    return this.header(parse(first(source.lines()), 1)).metadata;
  }

  /** Yields all objects. What is skipped here is lost with the next save: be strict. */
  *load(source, entities) {
    let number = 0;
    let count = 0;
    for (const line of source.lines()) {
      number += 1;
      const item = parse(line, number);
      if (number === 1) {
        count = this.header(item).count;
        continue;
      }
      if (!hasMembers(item, ["entity", "reference", "values"])) {
        throw new StoreError("malformed", "an object has an entity, a reference and values", { line: number });
      }
      item.line = number;
      yield item;
    }
    // A file that was cut at the end of a line has every line whole and is not whole itself.
    if (number - 1 !== count) {
      const message = `the first line counts ${count} objects, and ${number - 1} follow`;
      throw new StoreError("malformed", message, { line: Math.max(number, 1) });
    }
  }

  /** Writes a store. Equal objects come in equal order: write them so that equal stores are equal bytes. */
  save(metadata, objects, count, target) {
    const { uuid, last, entries, model } = metadata;
    const header = { store: Tabular.storeType, version: 1, uuid, last, objects: count, entries, model };
    target.write(JSON.stringify(header) + "\n");
    for (const item of objects) target.write(JSON.stringify(item) + "\n");
  }

  /** The metadata in the first line, and the number of objects. */
  header(header) {
    const place = { line: 1 };
    if (!hasMembers(header, ["store", "version", "uuid", "last", "objects", "entries"], ["model"])) {
      throw new StoreError("malformed", "the first line does not describe a store", place);
    }
    if (header.store !== Tabular.storeType) {
      throw new StoreError("storeTypeMismatch", "the first line describes another store", place);
    }
    if (!Number.isInteger(header.version)) throw new StoreError("malformed", "the version is not a number", place);
    if (header.version !== 1) {
      const message = `written by version ${header.version}, and this one reads 1`;
      throw new StoreError("unsupportedVersion", message, place);
    }
    if (!Number.isInteger(header.objects) || header.objects < 0) {
      throw new StoreError("malformed", "the number of objects is not a number", place);
    }
    const { uuid, last, entries, model } = header;
    return { metadata: { uuid, last, entries, model }, count: header.objects };
  }
}

// JSON, read strictly: what is not understood is an error with its line.

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parse(line, number, member) {
  try {
    const text = decoder.decode(line);
    // JSON.parse would take the last of two members of one name, and round numbers.
    refuseDoubtful(text);
    const value = JSON.parse(text);
    // Half of a surrogate pair, which JSON can escape, is not a character.
    if (text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(JSON.stringify(value))) {
      throw new SyntaxError("half a character");
    }
    return value;
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError("malformed", error.message, { line: number, member });
  }
}

/** Refuses names that occur twice in an object, and numbers that are not integers as JavaScript has them. */
function refuseDoubtful(text) {
  const number = /[-+.\w]+/y;
  const open = [];
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "{" || sign === "[") {
      isName = sign === "{";
      open.push(isName ? new Set() : null);
    } else if (sign === "}" || sign === "]") {
      open.pop();
      isName = false;
    } else if (sign === ",") {
      isName = open.length > 0 && open[open.length - 1] !== null;
    } else if (sign === '"') {
      const end = endOfString(text, at);
      if (isName) {
        const name = JSON.parse(text.slice(at, end + 1));
        if (open[open.length - 1].has(name)) throw new SyntaxError(`the name '${name}' occurs twice in an object`);
        open[open.length - 1].add(name);
        isName = false;
      }
      at = end;
    } else if (sign === "-" || (sign >= "0" && sign <= "9")) {
      number.lastIndex = at;
      const digits = number.exec(text)[0];
      if (!Number.isInteger(Number(digits)) || String(Number(digits)) !== (digits === "-0" ? "0" : digits)) throw new SyntaxError(`${digits.slice(0, 20)} is not an integer`);
      at += digits.length - 1;
    }
  }
}

/** The index of the quotation mark that ends a string. */
function endOfString(text, start) {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text[escapes - 1] === "\\") escapes -= 1;
    if ((end - escapes) % 2 === 0) return end;
  }
  throw new SyntaxError("a string is not ended");
}

function first(lines) {
  for (const line of lines) return line;
  return Buffer.alloc(0);
}

/** Whether a value is an object with these members, perhaps some others, and no more. */
function hasMembers(value, needed, others = []) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const names = Object.keys(value);
  return (
    needed.every((name) => names.includes(name)) &&
    names.every((name) => needed.includes(name) || others.includes(name))
  );
}

// The protocol: messages are lines of JSON, some of which are followed by bytes.

class Stream {
  constructor() {
    this.input = Buffer.alloc(0);
    this.waiting = [];
    this.size = 0;
    // What is printed must not get among the messages.
    console.log = console.error;
  }

  send(message) {
    this.write(JSON.stringify(message) + "\n");
  }

  write(data) {
    this.waiting.push(Buffer.from(data));
    this.size += this.waiting[this.waiting.length - 1].length;
    if (this.size > 1 << 18) this.flush();
  }

  flush() {
    const data = Buffer.concat(this.waiting);
    for (let written = 0; written < data.length; ) written += fs.writeSync(1, data, written);
    this.waiting = [];
    this.size = 0;
  }

  /** Reads until there are more bytes; false at the end. */
  more() {
    const piece = Buffer.alloc(1 << 18);
    const count = fs.readSync(0, piece);
    this.input = Buffer.concat([this.input, piece.subarray(0, count)]);
    return count > 0;
  }

  receive() {
    let searched = 0;
    for (;;) {
      const end = this.input.indexOf(10, searched);
      if (end >= 0) {
        const line = this.input.toString("utf8", 0, end);
        this.input = this.input.subarray(end + 1);
        return JSON.parse(line);
      }
      searched = this.input.length;
      if (!this.more()) return null;
    }
  }

  take(count) {
    while (this.input.length < count && this.more());
    const data = this.input.subarray(0, count);
    this.input = this.input.subarray(count);
    return data;
  }
}

/** What is read: a file, or a directory with `members`. */
class Source {
  constructor(stream, request) {
    this.stream = stream;
    this.name = request.name;
    this.members = request.members;
    // The bytes that reading may take, such as for what is decompressed, if that is limited.
    this.memory = request.memory;
  }

  /** Returns so many bytes at an offset, fewer only at the end. */
  read(count, at, member) {
    this.stream.send({ read: count, at, member });
    this.stream.flush();
    return this.stream.take(this.stream.receive().bytes);
  }

  /** Yields the lines, without their ends. The last one must have an end, too. */
  *lines(member) {
    let rest = Buffer.alloc(0);
    let at = 0;
    let number = 1;
    for (let count = 1 << 16; ; count = 1 << 20) {
      const piece = this.read(count, at, member);
      at += piece.length;
      let data = Buffer.concat([rest, piece]);
      let end = data.indexOf(10);
      while (end >= 0) {
        number += 1;
        yield data.subarray(0, end);
        data = data.subarray(end + 1);
        end = data.indexOf(10);
      }
      rest = data;
      if (piece.length < count) break;
    }
    if (rest.length > 0) throw new StoreError("malformed", "the last line is not ended", { line: number, member });
  }
}

/** What is written: a file, or the members of a directory. */
class Target {
  constructor(stream) {
    this.stream = stream;
    this.waiting = [];
    this.size = 0;
    this.member = undefined;
  }

  write(data, member) {
    if (member !== this.member || this.size > 1 << 18) this.flush();
    this.member = member;
    this.waiting.push(Buffer.from(data));
    this.size += this.waiting[this.waiting.length - 1].length;
  }

  /** Begins a store for the checks, in the method crafted: expected is "refused" or "same". */
  store(store, expected) {
    this.flush();
    this.stream.send({ store, expected });
  }

  flush() {
    if (this.waiting.length === 0) return;
    this.stream.send({ write: this.size, member: this.member });
    this.stream.write(Buffer.concat(this.waiting));
    this.waiting = [];
    this.size = 0;
  }
}

/** Answers requests until the input ends. */
function serve(kind) {
  const stream = new Stream();
  for (let request = stream.receive(); request !== null; request = stream.receive()) {
    try {
      answer(kind, request, stream);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      stream.send({ error: error.answer });
    }
    stream.flush();
  }
}

function answer(kind, request, stream) {
  const source = () => new Source(stream, request);
  switch (request.do) {
    case "describe": {
      const { storeType: type, traits, signatures, checksum } = kind;
      stream.send({ atomicstore: 1, type, traits, signatures, checksum });
      break;
    }
    case "metadata":
      stream.send({ metadata: new kind(request.options).metadata(source()) });
      break;
    case "load": {
      let count = 0;
      for (const item of new kind(request.options).load(source(), request.entities)) {
        stream.send(item);
        count += 1;
      }
      stream.send({ objects: count });
      break;
    }
    case "save": {
      const target = new Target(stream);
      const objects = function* () {
        for (let count = 0; count < request.objects; count += 1) yield stream.receive();
      };
      new kind(request.options).save(request.metadata, objects(), request.objects, target);
      if (stream.receive().end === undefined) throw new Error("the format did not read all objects");
      target.flush();
      stream.send({ saved: true });
      break;
    }
    default: {
      if (!kind.checksum.includes(request.do)) throw new Error(`the request ${request.do} is not known`);
      const target = new Target(stream);
      const done = new kind(request.options)[request.do](source(), target) !== false;
      target.flush();
      stream.send({ done });
    }
  }
}

serve(Tabular);
