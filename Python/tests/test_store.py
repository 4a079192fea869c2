"""What tables of stores have, whatever they are read from."""

import datetime
import decimal
import re
import uuid

import pyarrow as pa
import pytest

import atomicstore

SAMPLES = ["Company.plist", "Company.arrowstore", "Company.xml", "Company.csvstore"]


def rows(store, entity, *columns):
    return store.table(entity, columns=["id", *columns]).to_arrow().to_pylist()


def test_a_store_is_a_mapping_of_its_entities(company):
    with atomicstore.open(company) as store:
        assert list(store) == ["Department", "Employee", "Manager", "Project", "Record"]
        assert "Employee" in store and "Unknown" not in store
        assert store.uuid == "5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE"
        assert store.type == "BinaryPropertyList"
        assert store.metadata["Company"] == "Übersee & Söhne"
        assert len(store["Employee"]) == 6
        assert store["Employee"].column_names[:3] == ["id", "entity", "active"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_format_gives_the_same_rows(company, command, sample):
    wanted = atomicstore.open(company)
    store = atomicstore.open(company.parent / sample)
    for entity in ["Employee", "Manager", "Department", "Project"]:
        table, expected = store[entity].to_arrow(), wanted[entity].to_arrow()
        assert table.column_names == expected.column_names
        for name in table.column_names:
            one, other = table.column(name).to_pylist(), expected.column(name).to_pylist()
            assert str(one) == str(other), f"{entity}.{name}"


def test_values_are_those_of_the_store(company):
    employees = rows(atomicstore.open(company), "Employee", "badge", "name", "hired", "salary", "token", "projects")
    zoe = employees[0]
    assert zoe["id"] == 3 and zoe["badge"] == 1001
    assert zoe["name"] == "Zoë \"Zo\" O’Hara, Jr."
    assert zoe["hired"].isoformat() == "2015-06-15T08:30:00+00:00"
    assert zoe["token"] == uuid.UUID("a70e1c5d-3b42-4f10-9c66-000000000003")
    assert zoe["projects"] == [9, 10]
    assert employees[2]["salary"] is None and employees[2]["projects"] == []


def test_files_of_the_first_version_are_read(company, first_version):
    assert (
        atomicstore.open(first_version)["Employee"].to_arrow().to_pylist().__repr__()
        == atomicstore.open(company)["Employee"].to_arrow().to_pylist().__repr__()
    )


def test_pandas_polars_and_duckdb(company):
    employees = atomicstore.open(company)["Employee"]
    pandas = pytest.importorskip("pandas")
    assert isinstance(employees.to_pandas(), pandas.DataFrame) and len(employees.to_pandas()) == 6
    # NumPy's integers have no null, and its floating-point numbers not these digits.
    assert employees.to_pandas()["serial"].dropna().tolist() == [2**63 - 1, -(2**63)]
    assert str(employees.to_pandas(types_mapper=None)["serial"].dtype) == "float64"
    polars = pytest.importorskip("polars")
    assert isinstance(employees.to_polars(), polars.DataFrame) and employees.to_polars().height == 6
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    relation = employees.to_duckdb(connection)
    assert relation.aggregate("max(badge)").fetchall() == [(2147483647,)]


def test_unknown_names_are_errors(company, tmp_path):
    store = atomicstore.open(company)
    with pytest.raises(KeyError, match="does not have an entity 'Unknown'"):
        store["Unknown"]
    with pytest.raises(KeyError, match="does not have a column 'nmae'"):
        store.table("Employee", columns=["nmae"])
    with pytest.raises(FileNotFoundError):
        atomicstore.open(tmp_path / "missing.plist")


def test_without_the_command_the_error_says_so(company, monkeypatch):
    monkeypatch.delenv("ATOMICSTORE_COMMAND", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(atomicstore.CommandNotFoundError, match="ATOMICSTORE_COMMAND"):
        atomicstore.open(company.with_suffix(".xml"))


def test_errors_of_the_command_have_its_code(command, tmp_path):
    path = tmp_path / "broken.xml"
    path.write_text("<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"x\">\n<database><databaseInfo>")
    with pytest.raises(atomicstore.AtomicStoreError) as error:
        atomicstore.open(path)
    assert error.value.code == "malformed"
    assert str(error.value).startswith(f"{path}:3:")


def test_a_damaged_property_list_is_an_error(company, tmp_path):
    content = company.read_bytes()
    path = tmp_path / "cut.plist"
    for length in [64, len(content) // 3, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(atomicstore.AtomicStoreError) as error:
            atomicstore.open(path)
        assert error.value.code is not None


def test_a_model_file_is_not_a_store(company):
    with pytest.raises(atomicstore.AtomicStoreError, match="is not a store"):
        atomicstore.open(company.with_suffix(".xcdatamodeld"))


# Metadata, names, dates and decimals: the sample as XML, with another text somewhere


@pytest.fixture
def changed(company, tmp_path):
    """Opens the sample with other texts of the XML file."""

    def make(*changes):
        text = company.with_suffix(".xml").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "changed.xml"
        path.write_text(text)
        return atomicstore.open(path)

    return make


def test_metadata_are_as_plistlib_has_them(company, changed):
    entries = (
        "<key>When</key><date>2026-03-04T05:06:07Z</date><key>One</key><dict><key>date</key><string>x</string></dict>"
    )
    metadata = changed(("<key>Ratio</key>", entries + "<key>Ratio</key>")).metadata
    assert metadata["When"] == datetime.datetime(2026, 3, 4, 5, 6, 7)
    assert metadata["One"] == {"date": "x"}
    assert metadata["Seal"] == b"\x01\x02\x03" and metadata["Tags"] == ["one", "two"]
    assert metadata["BuildNumber"] == 42 and metadata["IsSample"] is True and metadata["Ratio"] == 0.1
    assert atomicstore.open(company).metadata["Seal"] == metadata["Seal"]


@pytest.mark.parametrize("name", ["id", "entity", "SELF", "@count", "objectIDEntity", "-x", "a, b.c", "o'x AS y\\"])
def test_columns_of_any_name_are_read_one_by_one(changed, name):
    store = changed(("<string>nickname</string>", f"<string>{name}</string>"), ('name="nickname"', f'name="{name}"'))
    table = store["Employee"].to_arrow()
    identifier = table.column_names[0]
    assert identifier == ("objectID" if name == "id" else "id")
    assert table[identifier].to_pylist() == [3, 4, 5, 6, 7, 8]
    assert any(table[name].to_pylist())
    part = store.table("Employee", columns=[name, identifier]).to_arrow()
    assert part.column_names == [name, identifier]
    assert part.equals(table.select([name, identifier]))


@pytest.mark.parametrize(
    "seconds, type",
    [("0.5", "timestamp[us, tz=UTC]"), ("785543210.123456789", "timestamp[ns, tz=UTC]"), ("nan", "double"),
     ("-0.0", "double"), ("1e300", "double")],
)
def test_dates_are_timestamps_where_nothing_is_lost(changed, seconds, type):
    store = changed(('type="date">456049800.00000000000000000000<', f'type="date">{seconds}<'))
    hired = store["Employee"].to_arrow()["hired"]
    assert str(hired.type) == type
    assert hired.null_count == 3
    if type == "double":
        assert str(float(seconds)) in map(str, hired.to_pylist())


@pytest.mark.parametrize(
    "number, type",
    [("1.50", "decimal128(38, 2)"), ("0.125", "decimal128(38, 3)"), ("1E+21", "string"), ("NaN", "string"),
     ("9" * 38, "string"), ("0." + "1" * 38, "string")],
)
def test_decimals_are_exact_or_text(company, changed, number, type):
    numbers = re.findall(r'name="salary" type="decimal">([^<]+)<', company.with_suffix(".xml").read_text())
    assert len(numbers) == 2
    store = changed(*[
        (f'name="salary" type="decimal">{old}<', f'name="salary" type="decimal">{new}<')
        for old, new in zip(numbers, [number, "2.50"])
    ])
    salaries = store["Employee"].to_arrow()["salary"]
    assert str(salaries.type) == type
    found = [value for value in salaries.to_pylist() if value is not None]
    if type == "string":
        assert sorted(found) == sorted([number, "2.50"])
    else:
        assert sorted(found) == sorted([decimal.Decimal(number), decimal.Decimal("2.50")])


def test_string_references_are_the_same_in_both_versions(text_references, command, tmp_path):
    second = tmp_path / "second.plist"
    command("convert", text_references, second)
    one, other = atomicstore.open(text_references), atomicstore.open(second)
    assert one.entities == other.entities
    for entity in one.entities:
        for subentities in (True, False):
            if not subentities and one._entities[entity].is_abstract:
                continue
            left, right = (store.table(entity, subentities=subentities).to_arrow() for store in (one, other))
            assert left.column_names == right.column_names
            for name in left.column_names:
                assert repr(left[name].to_pylist()) == repr(right[name].to_pylist()), (entity, name)
    employees = other["Employee"].to_arrow()
    assert "string:key-8" in employees["manager"].to_pylist()
    assert employees["department"].to_pylist()[0] == "integer:1"
    assert any(len(names) > 1 for names in employees["projects"].to_pylist())


# One type for all stores


def test_a_column_that_does_not_exist_is_refused_with_those_that_do(company):
    with pytest.raises(KeyError, match="it has id, entity, active, .*projects"):
        atomicstore.open(company).table("Employee", columns=["zz"])


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_table_without_columns_has_all_rows(company, command, sample):
    table = atomicstore.open(company.parent / sample).table("Employee", columns=[])
    assert len(table) == 6 and table.column_names == []


@pytest.mark.parametrize("extension", ["xml", "csvstore", "arrowstore", "sqlgraph"])
@pytest.mark.parametrize("source", ["company", "text_references"])
def test_every_store_has_the_same_types(source, extension, request, command, tmp_path):
    path = request.getfixturevalue(source)
    command("convert", path, tmp_path / f"s.{extension}")
    one, other = atomicstore.open(path), atomicstore.open(tmp_path / f"s.{extension}")
    assert one.entities == other.entities
    for entity in one:
        wanted, found = one[entity].to_arrow(), other[entity].to_arrow()
        assert found.schema == wanted.schema
        assert repr(found.to_pylist()) == repr(wanted.to_pylist())


# Columns in which few rows have a value


@pytest.fixture
def sparse(command, tmp_path):
    """A store of version 3."""
    path = tmp_path / "rows.csv"
    lines = ["id,number,word,flag,day,price,next"]
    for n in range(1, 2001):
        values = [n * 3, f"w{n}", "true", f"2026-01-{n % 28 + 1:02}", f"{n}.50", n % 7 + 1]
        shares = [20, 30, 25, 40, 50, 60]
        lines.append(f"{n}," + ",".join(str(v) if n % share == 0 else "" for v, share in zip(values, shares)))
    path.write_text("\n".join(lines) + "\n")
    store = tmp_path / "rows.plist"
    command("import", f"Row={path}", "-o", store, "--relationship", "Row.next=next:Row")
    return store


def test_columns_with_few_values_are_those_of_other_stores(sparse, command, tmp_path):
    sheets = tmp_path / "rows.csvstore"
    command("convert", sparse, sheets)
    one, other = atomicstore.open(sparse), atomicstore.open(sheets)
    left, right = one["Row"].to_arrow(), other["Row"].to_arrow()
    assert left.schema.names == right.schema.names
    for name in left.column_names:
        assert left[name].to_pylist() == right[name].to_pylist(), name
    assert 0 < left["number"].null_count < 2000
