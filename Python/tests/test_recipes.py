"""The Python recipes of the articles, and of this package's README."""

import os
import re
import shutil
import subprocess
import sys

import pyarrow as pa
import pytest

from conftest import COMMAND, ROOT, SAMPLES

ARTICLES = ROOT / "Sources" / "Graph" / "AtomicStoreKit" / "AtomicStoreKit.docc"


def recipe(heading, page="ManyStores"):
    text = (ARTICLES / f"{page}.md").read_text().split(f"\n### {heading}\n")[1]
    return re.search(r"```python\n(.*?)\n```", text, re.DOTALL).group(1)


def run(text):
    exec(compile(text, "recipe", "exec"), {})


@pytest.fixture
def library(command, tmp_path, monkeypatch):
    """A directory with the stores of the recipes, in which the command is found by its name."""
    tables = [SAMPLES / "Library" / f"{name}.csv" for name in ("authors", "books", "loans")]
    model = SAMPLES / "Library" / "Library.xcdatamodeld"
    command("import", *tables, "-o", tmp_path / "library.xml", "--model", model)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(COMMAND) + os.pathsep + os.environ["PATH"])
    return tmp_path


def test_the_recipe_for_spark_counts_the_objects_of_all_stores(company, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (tmp_path / "stores").mkdir()
    for number in range(3):
        shutil.copy(company, tmp_path / "stores" / f"{number}.plist")
    monkeypatch.chdir(tmp_path)
    # Like a test of the data source: decimals of the sample have more digits than Spark's.
    text = recipe("Spark").replace('.load("', '.option("decimals", "string").load("')
    # The session of the other tests may exist; this one ends with it.
    run(text)
    groups = re.findall(r"count=(\d+)", capsys.readouterr().out)
    assert sum(map(int, groups)) == 3 * 6
    assert sum(1 for _ in (tmp_path / "employees.parquet").glob("*.parquet")) > 0


def test_the_recipe_for_duckdb_makes_one_parquet_file_of_all_stores(company, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "stores").mkdir()
    for number in range(3):
        shutil.copy(company, tmp_path / "stores" / f"{number}.plist")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(COMMAND) + os.pathsep + os.environ["PATH"])
    run(recipe("DuckDB"))
    rows = duckdb.sql("SELECT store, count(*) FROM 'employees.parquet' GROUP BY ALL ORDER BY ALL").fetchall()
    assert rows == [(f"stores/{number}.plist", 6) for number in range(3)]


def test_the_recipe_for_ray_is_python():
    compile(recipe("Ray"), "recipe", "exec")


def test_a_spreadsheet_is_imported(library, command):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    pandas.read_csv(SAMPLES / "Library" / "books.csv").to_excel(library / "books.xlsx", index=False)
    run(recipe("11. Read a spreadsheet", "TenTasks"))
    assert command("fetch", "from-excel.xml", "--entity", "Book", "--count").stdout == b"10\n"


def test_parquet_is_written_and_imported(library, command):
    pytest.importorskip("duckdb")
    run(recipe("12. Read and write Parquet", "TenTasks"))
    prices = ["fetch", "--entity", "Book", "--columns", "title,price", "--sort", "title", "--format", "csv"]
    assert command(*prices, "from-parquet.xml").stdout == command(*prices, "library.xml").stdout


def test_sql_over_a_store_joins_its_tables(library, command, capsys):
    pytest.importorskip("duckdb")
    (library / "tags.csv").write_text("id,label\n1,novel\n2,irony\n")
    (library / "book_tags.csv").write_text("book_id,tag_id\n1,1\n1,2\n3,1\n")
    books = SAMPLES / "Library" / "books.csv"
    command("import", books, "tags.csv", "-o", "tagged.plist", "--join", "Book.tags=book_tags.csv:book_id,tag_id")
    run(recipe("26. SQL over a store", "TenTasks"))
    printed = capsys.readouterr().out
    assert "34.89" in printed and "9.99" in printed


@pytest.mark.parametrize("number", [0, 1])
def test_the_readme_runs_as_it_is(number, tmp_path, monkeypatch):
    for name in ["pandas", "duckdb", "openpyxl"]:
        pytest.importorskip(name)
    shutil.copytree(SAMPLES / "Company", tmp_path / "SampleStores" / "Company")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "Python" / "README.md").read_text()
    run(re.findall(r"```python\n(.*?)\n```", text, re.DOTALL)[number])
    assert (tmp_path / ["employees.parquet", "employees.xlsx"][number]).exists()


#: Values that programs change if they infer types, or take some texts for null.
HARD_ITEMS = """id,code,text,amount,flag,big
1,007,"",12345678901234567890.123,true,9007199254740993
2,008,NA,11.50,false,
3,009,,0.10,true,1
4,010,null,1.00,false,2
5,011,NULL,1.00,false,2
6,012,NaN,1.00,false,2
7,013,"a
b;c;d",1.00,false,2
8,014," ""1,5"" ",1.00,false,2
9,015,#x,1.00,false,2
"""


def again_with_pyarrow():
    text = (ARTICLES / "ImportingAndChecking.md").read_text()
    return re.search(r"```python\n(.*?)\n```", text, re.DOTALL).group(1)


def differences(store):
    """What ``diff`` prints of a store and its copy."""
    arguments = [COMMAND, "diff", f"{store}.xml", f"{store}-again.xml"]
    return subprocess.run(arguments, capture_output=True, text=True, encoding="utf-8").stdout


def write_again(program, table):
    """Reads a table and writes it, with the options that the article *Importing tables, checking stores* names."""
    if program == "duckdb":
        options = "all_varchar=true, allow_quoted_nulls=false, header=true, delim=',', quote='\"', escape='\"'"
        rows = f"SELECT * FROM read_csv('{table}', {options})"
        pytest.importorskip("duckdb").sql(f"COPY ({rows}) TO '{table}.new' (FORMAT csv)")
        os.replace(f"{table}.new", table)
    elif program == "pandas":
        pandas = pytest.importorskip("pandas")
        pandas.read_csv(table, dtype=str, keep_default_na=False).to_csv(table, index=False)
    else:
        rows = pytest.importorskip("duckdb").from_arrow(pa.ipc.open_file(table).read_all()).to_arrow_table()
        with pa.OSFile(str(table), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)


@pytest.mark.parametrize("program", ["duckdb", "pandas", "pyarrow", "arrow"])
def test_tables_that_other_programs_wrote_again_are_the_same_store(program, library, command):
    (library / "items.csv").write_text(HARD_ITEMS)
    types = {"code": "String", "text": "String", "amount": "Decimal", "big": "Integer 64"}
    typed = [word for name, type in types.items() for word in ("--types", f"Item.{name}={type}")]
    command("import", "Item=items.csv", "-o", "items.xml", *typed)
    form = "arrow" if program == "arrow" else "csv"
    options = [] if program == "arrow" else ["--read-option", "edited=accept"]
    for store in ["library", "items"]:
        command("tables", f"{store}.xml", "-o", "tables", "--format", form)
        if program == "pyarrow":
            pytest.importorskip("pandas")
            run(again_with_pyarrow())
        else:
            for table in (library / "tables").glob(f"*.{form}"):
                write_again(program, table)
        command("import", "tables", "-o", f"{store}-again.xml", *options)
        shutil.rmtree("tables")
    assert differences("library") == ""
    # pandas does not distinguish the empty text from null.
    assert differences("items") == ('~ Item/1.text: "" \u2192 (none)\n' if program == "pandas" else "")
