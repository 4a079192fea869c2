"""A store as tables and views of DuckDB."""

import pytest

import atomicstore

duckdb = pytest.importorskip("duckdb")


def test_every_entity_and_every_join_table_is_there(company):
    connection = atomicstore.duckdb(company)
    names = {row[0] for row in connection.sql("SELECT table_name FROM information_schema.tables").fetchall()}
    assert {"Department", "Employee", "Manager", "Project", "Record", "Employee_projects"} <= names
    assert connection.sql("SELECT count(*) FROM Employee").fetchall() == [(6,)]
    assert connection.sql("SELECT count(*), min(entity) FROM Manager").fetchall() == [(2, "Manager")]


def test_keys_join_without_knowing_the_model(company):
    connection = atomicstore.duckdb(company)
    joined = connection.sql(
        """
        SELECT e.id, p.id FROM Employee e
        JOIN Employee_projects j ON j.owner = e.id JOIN Project p ON p.id = j.member ORDER BY ALL
        """
    ).fetchall()
    store = atomicstore.open(company)
    expected = [(row["id"], project) for row in store["Employee"].to_arrow().to_pylist() for project in row["projects"]]
    assert joined == sorted(expected) and joined
    grouped = connection.sql(
        "SELECT d.id, count(*) FROM Employee e JOIN Department d ON e.department = d.id GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    departments = [row["department"] for row in store["Employee"].to_arrow().to_pylist()]
    assert grouped == [(each, departments.count(each)) for each in sorted(set(departments) - {None})]


def test_keys_that_are_texts_join_too(text_references):
    connection = atomicstore.duckdb(text_references)
    store = atomicstore.open(text_references)
    managed = sum(row["manager"] is not None for row in store["Employee"].to_arrow().to_pylist())
    joined = connection.sql("SELECT count(*) FROM Employee e JOIN Employee m ON e.manager = m.id").fetchall()
    assert joined == [(managed,)] and managed > 0


def test_a_sub_entity_is_a_view_with_its_own_columns(company):
    connection = atomicstore.duckdb(company)
    assert connection.sql("SELECT * FROM Department").columns[:3] == ["id", "entity", "createdAt"]
    assert "title" not in connection.sql("SELECT * FROM Department").columns
    store = atomicstore.open(company)
    titles = [row["title"] for row in store["Project"].to_arrow().to_pylist()]
    assert [row[0] for row in connection.sql("SELECT title FROM Project ORDER BY id").fetchall()] == titles


def test_an_open_connection_gets_the_tables_and_the_store_stays_as_it_is(company):
    before = company.read_bytes()
    connection = duckdb.connect()
    connection.execute("CREATE TABLE raise (badge INTEGER, percent INTEGER)")
    assert atomicstore.duckdb(company, connection) is connection
    assert connection.sql("SELECT count(*) FROM Employee LEFT JOIN raise USING (badge)").fetchall() == [(6,)]
    assert company.read_bytes() == before


def test_hostile_names_are_quoted(tmp_path, command):
    (tmp_path / "a.csv").write_text("id,name\n1,x\n")
    command(
        "import", "O'Brien \"x\"; DROP=" + str(tmp_path / "a.csv"), "-o", tmp_path / "a.xml",
    )
    connection = atomicstore.duckdb(tmp_path / "a.xml")
    assert connection.sql('SELECT name FROM "O\'Brien ""x""; DROP"').fetchall() == [("x",)]


def test_names_that_differ_in_case_only_are_kept_apart(tmp_path, command):
    (tmp_path / "a.csv").write_text("id,name\n1,x\n")
    (tmp_path / "b.csv").write_text("id,name\n1,z\n")
    command("import", f"Note={tmp_path / 'a.csv'}", f"NOTE={tmp_path / 'b.csv'}", "-o", tmp_path / "a.xml")
    connection = atomicstore.duckdb(tmp_path / "a.xml")
    assert connection.sql('SELECT name FROM "NOTE"').fetchall() == [("z",)]
    assert connection.sql('SELECT name FROM "Note_"').fetchall() == [("x",)]


def empty_store(tmp_path, command, entities):
    """A store without objects; ``entities`` has super-entities and properties, which are texts, by name."""
    text = "<?xml version='1.0'?><model>"
    for name, (parent, properties) in entities.items():
        above = f" parentEntity='{parent}'" if parent else ""
        attributes = "".join(f"<attribute name='{each}' optional='YES' attributeType='String'/>" for each in properties)
        text += f"<entity name='{name}'{above}>{attributes}</entity>"
    (tmp_path / "M.xcdatamodel").mkdir()
    (tmp_path / "M.xcdatamodel" / "contents").write_text(text + "</model>")
    (tmp_path / "none.csv").write_text("id\n")
    table = f"{next(iter(entities))}={tmp_path / 'none.csv'}"
    command("import", table, "-o", tmp_path / "a.xml", "--model", tmp_path / "M.xcdatamodel")


def test_columns_that_differ_in_case_only_are_kept_apart(tmp_path, command):
    entities = {"N": (None, ["name"]), "N2": ("N", ["Name"]), "O": ("N", ["NAME"]), "P": ("O", ["ID"])}
    empty_store(tmp_path, command, entities)
    command("insert", tmp_path / "a.xml", "--entity", "N", "name:=n")
    command("insert", tmp_path / "a.xml", "--entity", "N2", "name:=lower", "Name:=upper")
    command("insert", tmp_path / "a.xml", "--entity", "P", "name:=p", "NAME:=P", "ID:=key")
    connection = atomicstore.duckdb(tmp_path / "a.xml")
    assert connection.sql("SELECT * FROM N").columns[:3] == ["id", "entity", "name"]
    rows = connection.sql("SELECT * EXCLUDE (id, entity) FROM N2")
    assert (rows.columns, rows.fetchall()) == (["name", "Name_"], [("lower", "upper")])
    rows = connection.sql("SELECT * EXCLUDE (entity) FROM P")
    assert (rows.columns[1:], rows.fetchall()[0][1:]) == (["name", "NAME_", "ID_"], ("p", "P", "key"))
    assert connection.sql("SELECT count(*), count(DISTINCT id) FROM N").fetchall() == [(3, 3)]


def test_a_view_has_the_rows_of_all_entities_below_it(tmp_path, command):
    # Of the names, some are before and some after those of their super-entities.
    entities = {"M": (None, ["x"]), "K": ("M", []), "Z": ("K", []), "A": ("Z", []), "L": ("M", [])}
    empty_store(tmp_path, command, entities)
    for name in entities:
        command("insert", tmp_path / "a.xml", "--entity", name, "x:=" + name)
    connection = atomicstore.duckdb(tmp_path / "a.xml")
    for name, below in {"M": "AKLMZ", "K": "AKZ", "Z": "AZ", "A": "A", "L": "L"}.items():
        assert connection.sql(f"SELECT string_agg(x, '' ORDER BY x) FROM {name}").fetchall() == [(below,)]


def test_the_key_has_another_name_where_a_property_is_called_id(tmp_path, command):
    (tmp_path / "a.csv").write_text("code,id,b_id\n5,x,7\n")
    (tmp_path / "b.csv").write_text("id\n7\n")
    tables = [f"A={tmp_path / 'a.csv'}", f"B={tmp_path / 'b.csv'}"]
    command("import", *tables, "-o", tmp_path / "a.xml", "--key", "A=code")
    connection = atomicstore.duckdb(tmp_path / "a.xml")
    assert connection.sql("SELECT objectID, A.id, B.id FROM A JOIN B ON A.b = B.id").fetchall() == [(5, "x", 7)]


@pytest.mark.parametrize("statement", ["TABLE Manager", "VIEW employee", "TEMP TABLE Employee_Projects"])
def test_a_table_of_the_connection_is_not_hidden(company, statement):
    connection = duckdb.connect()
    connection.execute(f"CREATE {statement} AS SELECT 42 AS mine")
    name = statement.split()[-1]
    before = connection.sql("SELECT count(*) FROM duckdb_views()").fetchall()
    with pytest.raises(ValueError, match=f'(?i)the connection already has .*"{name}": rename or drop it'):
        atomicstore.duckdb(company, connection)
    assert connection.sql("SELECT count(*) FROM duckdb_views()").fetchall() == before
    assert connection.sql(f"SELECT mine FROM {name}").fetchall() == [(42,)]


def test_a_second_store_with_the_same_tables_is_refused_and_an_attached_database_is_not(company):
    connection = duckdb.connect()
    connection.execute("ATTACH ':memory:' AS other; CREATE TABLE other.main.Employee AS SELECT 42 AS mine")
    atomicstore.duckdb(company, connection)
    assert connection.sql("SELECT mine FROM other.main.Employee").fetchall() == [(42,)]
    with pytest.raises(ValueError, match='"Employee"'):
        atomicstore.duckdb(company, connection)


def test_a_missing_store_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        atomicstore.duckdb(tmp_path / "none.xml")


def test_parquet_is_one_statement(company, tmp_path):
    connection = atomicstore.duckdb(company)
    for name in ["Department", "Employee", "Employee_projects"]:
        connection.sql(f"COPY {name} TO '{tmp_path}/{name}.parquet'")
    count = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/Employee.parquet'").fetchall()
    assert count == [(6,)]
