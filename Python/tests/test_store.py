"""What tables of stores have, whatever they are read from."""

import decimal
import math
import plistlib
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
        assert "Employee" in store and "Nobody" not in store
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


def test_columns_are_views_of_the_file(company):
    before = pa.total_allocated_bytes()
    table = atomicstore.open(company).table("Employee", columns=["badge", "rating"], subentities=False).to_arrow()
    assert pa.total_allocated_bytes() == before
    for column in table.columns:
        for buffer in column.chunk(0).buffers():
            assert buffer is None or buffer.address % 64 == 0


def test_files_that_are_not_aligned_are_copied(company, first_version):
    assert (
        atomicstore.open(first_version)["Employee"].to_arrow().to_pylist().__repr__()
        == atomicstore.open(company)["Employee"].to_arrow().to_pylist().__repr__()
    )


def test_tables_outlive_their_store(company):
    table = atomicstore.open(company)["Project"].to_arrow()
    assert table.column("title").to_pylist()[0] == "Apollo"


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
    with pytest.raises(KeyError, match="does not have an entity 'Nobody'"):
        store["Nobody"]
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


def test_a_damaged_property_list_is_an_error_at_every_length(company, tmp_path):
    content = company.read_bytes()
    for length in list(range(64, len(content), 97)) + [len(content) - 1]:
        path = tmp_path / "cut.plist"
        path.write_bytes(content[:length])
        with pytest.raises(atomicstore.AtomicStoreError):
            store = atomicstore.open(path)
            for entity in store:
                store[entity]


def test_flipped_bytes_never_end_the_process(company, tmp_path):
    content = bytearray(company.read_bytes())
    path = tmp_path / "flipped.plist"
    opened = 0
    for place in range(64, len(content), 53):
        changed = bytearray(content)
        changed[place] ^= 0x81
        path.write_bytes(changed)
        try:
            store = atomicstore.open(path)
            for entity in store:
                store[entity].to_arrow().validate(full=True)
            opened += 1
        except atomicstore.AtomicStoreError:
            pass
    assert opened > 0


# Dates and decimals


def test_dates_are_timestamps_where_nothing_is_lost():
    from atomicstore._values import dates

    def type_of(values):
        array = dates(pa.array(values, pa.float64()))
        if pa.types.is_timestamp(array.type):
            assert array.is_null().to_pylist() == [value is None for value in values]
        return str(array.type)

    assert type_of([0.0, None, -978307200.5]) == "timestamp[us, tz=UTC]"
    assert type_of([785543210.123456789]) == "timestamp[ns, tz=UTC]"
    for value in [math.nan, math.inf, -0.0, 1e300, 5e-324]:
        assert type_of([0.0, value]) == "double"
    assert type_of([None]) == "timestamp[us, tz=UTC]"
    assert dates(pa.array([0.1])).to_pylist()[0].isoformat() == "2001-01-01T00:00:00.100000+00:00"


def test_decimals_are_exact_or_text():
    from atomicstore._values import decimals

    array = decimals(pa.array(["12.50", None, "-3", "0.125"]))
    assert array.to_pylist() == [decimal.Decimal("12.500"), None, decimal.Decimal("-3.000"), decimal.Decimal("0.125")]
    for texts in [["1E+20"], ["NaN", "1"], ["9" * 38, "0.5"], ["0." + "1" * 39]]:
        assert decimals(pa.array(texts)).to_pylist() == texts
    assert str(decimals(pa.array([None], pa.utf8())).type) == "decimal128(38, 0)"


def test_properties_named_like_the_references_keep_their_name():
    from atomicstore import _model

    properties = {name: _model.Property(name, "String") for name in ("id", "objectID")}
    assert _model.identifier(_model.Entity("Row", False, properties)) == "objectID_"


def test_other_property_lists_are_left_to_the_command(tmp_path, monkeypatch):
    monkeypatch.delenv("ATOMICSTORE_COMMAND", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    path = tmp_path / "other.plist"
    path.write_bytes(plistlib.dumps({"a": 1}, fmt=plistlib.FMT_BINARY))
    with pytest.raises(atomicstore.CommandNotFoundError):
        atomicstore.open(path)


def test_string_references_are_the_same_in_both_versions(text_references, command, tmp_path):
    second = tmp_path / "second.plist"
    command("convert", text_references, second)
    one, other = atomicstore.open(text_references), atomicstore.open(second)
    assert [store._plist.value(store._plist.dictionary(store._plist.top)["version"]) for store in (one, other)] == [1, 2]
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


def test_flipped_bytes_of_rows_never_end_the_process(text_references, command, tmp_path):
    second = tmp_path / "second.plist"
    command("convert", text_references, second)
    good = second.read_bytes()
    path = tmp_path / "flipped.plist"
    for index in range(0, len(good), 13):
        damaged = bytearray(good)
        damaged[index] ^= 0xFF
        path.write_bytes(damaged)
        try:
            store = atomicstore.open(path)
            for entity in store:
                store[entity].to_arrow().validate(full=True)
        except atomicstore.AtomicStoreError:
            pass


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


def test_decimals_of_a_hierarchy_have_one_type_and_their_spelling():
    from atomicstore._values import Column, chunked, merged

    def together(*columns):
        array = merged("Decimal", [Column(chunked(array), trimmed) for array, trimmed in columns], "here")
        return str(array.type), [str(value) for value in array.to_pylist()]

    fixed = pa.array([decimal.Decimal("1.50")], pa.decimal128(38, 2))
    padded = pa.array([decimal.Decimal("2.00"), decimal.Decimal("0.25")], pa.decimal128(38, 2))
    small = pa.array([decimal.Decimal("0.0000001")], pa.decimal128(38, 7))
    text = pa.array(["2", "7"])
    assert together((fixed, False), (text, False)) == ("decimal128(38, 2)", ["1.50", "2.00", "7.00"])
    assert together((fixed, False), (pa.array(["1E+20"]), False)) == ("string", ["1.50", "1E+20"])
    assert together((padded, True), (small, False), (pa.array(["NaN"]), False)) == (
        "string", ["2", "0.25", "0.0000001", "NaN"]
    )
    wide = pa.array([decimal.Decimal("2.5")], pa.decimal256(76, 40))
    assert together((wide, True))[0] == "decimal128(38, 1)"
    assert together((wide, False))[0] == "string"
    with pytest.raises(atomicstore.AtomicStoreError, match="not a decimal"):
        together((pa.array(["1.2.3"]), False))


def test_dates_of_a_hierarchy_have_one_type():
    from atomicstore._values import Column, chunked, merged

    def together(*types):
        columns = [Column(chunked(pa.array([978307200 * per], type))) for type, per in types]
        return merged("Date", columns, "here")

    us, ns = (pa.timestamp("us", tz="UTC"), 10**6), (pa.timestamp("ns", tz="UTC"), 10**9)
    assert together(us, us).type == us[0] and together(us, ns).type == ns[0]
    seconds = Column(chunked(pa.array([0.5])))
    micros = Column(chunked(pa.array([978307200_250_000, -1], pa.timestamp("us", tz="UTC"))))
    found = merged("Date", [micros, seconds], "here")
    assert found.to_pylist() == [0.25, -978307200.000001, 0.5]
    far = Column(chunked(pa.array([10**17], pa.timestamp("us", tz="UTC"))))
    near = Column(chunked(pa.array([1], pa.timestamp("ns", tz="UTC"))))
    assert merged("Date", [far, near], "here").type == pa.float64()


def test_damaged_models_are_errors_of_this_package():
    from atomicstore import _model

    good = {"formatVersion": 1, "entities": [{"name": "A", "properties": [{"name": "p", "type": "String"}]}]}
    assert list(_model.entities(good)) == ["A"]
    for entities in [None, 5, [None], [{"nome": "A"}], [{"name": b"A"}], [{"name": "A"}, {"name": "A"}],
                     [{"name": "A", "properties": {"x": 1}}], [{"name": "A", "properties": [{"name": "p"}]}],
                     [{"name": "A", "properties": [{"name": "p", "type": "Unheard"}]}],
                     [{"name": "A", "properties": [{"name": "p", "destination": "B"}]}],
                     [{"name": "A", "properties": [{"name": "p", "type": "Composite", "composite": "C"}]}]]:
        with pytest.raises(atomicstore.AtomicStoreError):
            _model.entities({**good, "entities": entities})
    part = {"name": "p", "type": "Composite", "composite": "C"}
    with pytest.raises(atomicstore.AtomicStoreError, match="contains itself"):
        _model.entities({**good, "composites": [{"name": "C", "attributes": [part]}],
                         "entities": [{"name": "A", "properties": [part]}]})


def test_a_relationship_without_rows_has_the_type_of_its_references():
    from atomicstore._values import conformed

    for value in (pa.int64(), pa.utf8()):
        empty = pa.chunked_array([pa.array([], pa.list_(value))])
        assert conformed("To-many", empty, "here").type == pa.list_(value)


# Columns in which few rows have a value


@pytest.fixture
def sparse(command, tmp_path):
    """A store of version 3, and the same one in CSV, which the command reads."""
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
    assert one._plist.value(one._plist.dictionary(one._plist.top)["version"]) == 3
    left, right = one["Row"].to_arrow(), other["Row"].to_arrow()
    assert left.schema.names == right.schema.names
    for name in left.column_names:
        assert left[name].to_pylist() == right[name].to_pylist(), name
    assert 0 < left["number"].null_count < 2000


def test_flipped_bytes_of_few_values_never_end_the_process(sparse, tmp_path):
    good = sparse.read_bytes()
    path = tmp_path / "flipped.plist"
    for index in range(0, len(good), 31):
        damaged = bytearray(good)
        damaged[index] ^= 0xFF
        path.write_bytes(damaged)
        try:
            store = atomicstore.open(path)
            for entity in store:
                store[entity].to_arrow().validate(full=True)
        except atomicstore.AtomicStoreError:
            pass
