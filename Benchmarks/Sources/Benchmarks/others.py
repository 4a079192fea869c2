"""What Python would do with the same files. One measurement a process: NAME FOLDER, the answer is a line of JSON.

Seconds are those of the work alone, without the start of the interpreter and its imports.
"""
import json, os, sys, time

what, folder = sys.argv[1:3]
names = ["Department", "Employee", "Project"]
tables = [f"{folder}/company.csvstore/{name}.csv" for name in names]
targets = [f"{folder}/saved-{name}.csv" for name in names]


def peak():
    # Not getrusage: its result includes the process that this one was forked from.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def timed(work):
    start, processor = time.perf_counter(), time.process_time()
    result = work()
    answer = {"seconds": time.perf_counter() - start, "processor": time.process_time() - processor}
    return answer, result


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def missing(why):
    print(json.dumps({"seconds": 0, "processor": 0, "missing": why}))
    sys.exit(0)


if what.startswith("plistlib"):
    import plistlib

    def load():
        with open(f"{folder}/rows.plist", "rb") as file:
            return plistlib.load(file, fmt=plistlib.FMT_BINARY)

    def save(rows):
        with open(f"{folder}/saved-rows.plist", "wb") as file:
            plistlib.dump(rows, file, fmt=plistlib.FMT_BINARY, sort_keys=False)
            file.flush()
            os.fsync(file.fileno())

elif what.startswith("python-csv"):
    import csv

    def load():
        rows = []
        for path in tables:
            with open(path, newline="") as file:
                rows.append(list(csv.reader(file)))
        return rows

    def save(rows):
        for path, table in zip(targets, rows):
            with open(path, "w", newline="") as file:
                csv.writer(file).writerows(table)
                file.flush()
                os.fsync(file.fileno())

else:
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        import polars
    except ImportError:
        missing("polars is not installed")

    def load():
        # Lists of references are texts to it; left alone it takes those that begin with a single one for numbers.
        lists = {"employees->>Employee", "projects->>Project", "reports->>Employee", "members->>Employee"}
        return [
            polars.read_csv(path, try_parse_dates=not what.endswith("texts"), schema_overrides={
                name: polars.String for name in open(path).readline().strip().split(",") if name in lists})
            for path in tables]

    def save(frames):
        for path, frame in zip(targets, frames):
            frame.write_csv(path)
            sync(path)

if "-load" in what:
    answer, rows = timed(load)
else:
    rows = load()
    answer, _ = timed(lambda: save(rows))
answer["peak"] = peak()
print(json.dumps(answer))
