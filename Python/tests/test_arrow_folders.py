"""Arrow stores whose tables are damaged, or were written by other programs."""

import shutil
import struct

import pyarrow as pa
import pytest

import atomicstore


@pytest.fixture
def folder(company, tmp_path):
    return shutil.copytree(company.with_suffix(".arrowstore"), tmp_path / "Company.arrowstore")


def table(folder, entity="Employee"):
    with pa.OSFile(str(folder / f"{entity}.arrow")) as file:
        return pa.ipc.open_file(file).read_all()


def write(folder, changed, entity="Employee", **options):
    path = str(folder / f"{entity}.arrow")
    with pa.OSFile(path, "wb") as file:
        with pa.ipc.new_file(file, changed.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(changed)


def read_all(path):
    store = atomicstore.open(path)
    return {entity: store[entity].to_arrow().to_pylist() for entity in store}


def refusal(path):
    with pytest.raises(atomicstore.AtomicStoreError) as error:
        read_all(path)
    return error.value


@pytest.mark.parametrize(
    "name, offsets",
    [("name", [0, 0x7FFFFF00, 0x7FFFFF10, 0x7FFFFF20, 0x7FFFFF30]), ("projects", [0, 2, 3, 20, 24]),
     ("name", [0, 42, 32, 23, 71]), ("projects", [1, 2, 3, 3, 4])],
)
def test_offsets_that_lead_elsewhere_are_refused(folder, name, offsets):
    path = folder / "Employee.arrow"
    old = table(folder).column(name).chunk(0).buffers()[1].to_pybytes()[:20]
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, struct.pack("<5i", *offsets)))
    assert refusal(folder).code == "malformed"


def test_rows_that_are_null_without_being_announced_are_refused(folder):
    changed = table(folder, "Project")
    uuids = changed.column("uuid").chunk(0)
    assert uuids.null_count == 3
    path = folder / "Project.arrow"
    content = path.read_bytes()
    node = struct.pack("<qq", 4, 3)
    places = [place for place in range(0, len(content), 8) if content[place:place + 16] == node]
    damaged = bytearray(content)
    damaged[places[0] + 8] = 0
    path.write_bytes(damaged)
    assert "are announced" in str(refusal(folder))


@pytest.mark.parametrize("entity, name", [
    ("Employee", "projects"), ("Project", "members"), ("Employee", "department"), ("Manager", "reports"),
])
def test_a_missing_relationship_is_derived_from_its_inverse(company, folder, entity, name):
    wanted = atomicstore.open(company).table(entity, columns=["id", name], subentities=False).to_arrow()
    write(folder, table(folder, entity).drop([name]), entity)
    found = atomicstore.open(folder).table(entity, columns=["id", name], subentities=False).to_arrow()
    assert found.schema == wanted.schema

    def links(table):
        rows = [(row["id"], row[name]) for row in table.to_pylist()]
        return [(id, sorted(value) if isinstance(value, list) else value) for id, value in rows]

    assert links(found) == links(wanted)
    assert any(found[name].to_pylist())


def test_a_missing_to_one_that_two_objects_claim_is_refused(folder):
    departments = table(folder, "Department")
    both = pa.array([[3, 4, 5, 8], [6, 7, 3]], departments.schema.field("employees").type)
    place = departments.schema.get_field_index("employees")
    write(folder, departments.set_column(place, departments.schema.field(place), both), "Department")
    write(folder, table(folder).drop(["department"]))
    assert refusal(folder).code == "inverseMismatch"


def test_a_missing_attribute_is_null(folder):
    write(folder, table(folder).drop(["badge"]))
    badges = atomicstore.open(folder).table("Employee", subentities=False).to_arrow()["badge"]
    assert badges.type == pa.int32() and badges.null_count == 4


@pytest.mark.parametrize("type", [pa.int64(), pa.uint32(), pa.uint64()])
def test_integers_of_other_widths_get_the_type_of_the_model(company, folder, type):
    employees = table(folder)
    place = employees.schema.get_field_index("badge")
    write(folder, employees.set_column(place, "badge", employees["badge"].cast(type)))
    wanted = atomicstore.open(company)["Employee"].to_arrow()
    assert atomicstore.open(folder)["Employee"].to_arrow().schema == wanted.schema
    assert repr(read_all(folder)) == repr(read_all(company))


def test_an_integer_that_does_not_fit_is_refused(folder):
    employees = table(folder)
    place = employees.schema.get_field_index("badge")
    write(folder, employees.set_column(place, "badge", pa.array([1, 2, 2**31, 4], pa.int64())))
    assert refusal(folder).code == "invalidValue"


def test_large_types_other_units_and_several_batches_are_the_same_table(company, folder):
    for entity in ["Employee", "Manager", "Project", "Department"]:
        changed = table(folder, entity)
        for place, field in enumerate(changed.schema):
            wider = field.type
            if pa.types.is_string(wider):
                wider = pa.large_utf8()
            elif pa.types.is_binary(wider):
                wider = pa.large_binary()
            elif pa.types.is_list(wider):
                wider = pa.large_list(wider.value_type)
            elif pa.types.is_timestamp(wider):
                wider = pa.timestamp("ns", tz="UTC")
            changed = changed.set_column(place, field.with_type(wider), changed[field.name].cast(wider))
        halves = [changed.slice(0, 1), changed.slice(1)]
        write(folder, pa.concat_tables(halves).select(list(reversed(changed.column_names))), entity)
    for entity in atomicstore.open(company):
        wanted, found = (atomicstore.open(path)[entity].to_arrow() for path in (company, folder))
        assert found.column_names == wanted.column_names
        for name in found.column_names:
            if not pa.types.is_timestamp(found.schema.field(name).type):
                assert found.schema.field(name) == wanted.schema.field(name)
            assert str(found[name].to_pylist()) == str(wanted[name].to_pylist())


def test_references_that_occur_twice_or_dangle_are_refused(folder):
    employees = table(folder)
    write(folder, pa.concat_tables([employees, employees.slice(0, 1)]))
    assert "Employee/3" in str(refusal(folder))
    assert refusal(folder).code == "duplicateReference"
    write(folder, employees.slice(0, 2))
    assert "Employee/5 does not exist" in str(refusal(folder))
    assert refusal(folder).code == "danglingReference"
    managers = table(folder, "Manager")
    write(folder, managers.set_column(0, managers.schema.field(0), pa.array([3, 8], pa.int64())), "Manager")
    write(folder, employees)
    assert "Employee/3" in str(refusal(folder))


def test_what_the_kit_refuses_is_refused_by_name(folder):
    employees = table(folder)
    for changed, options, text in [
        (employees.append_column("zzz", pa.nulls(4, pa.utf8())), {}, "does not have a property 'zzz'"),
        (employees.append_column("badge", pa.nulls(4, pa.int32())), {}, "two columns have the name 'badge'"),
        (employees.drop(["id"]), {}, "does not have a column 'id'"),
        (employees.set_column(employees.schema.get_field_index("name"), "name", employees["name"].dictionary_encode()),
         {}, "dictionary-encoded"),
        (employees.set_column(employees.schema.get_field_index("hired"), "hired",
                              employees["hired"].cast(pa.timestamp("us"))), {}, "without a time zone"),
        (employees.set_column(employees.schema.get_field_index("badge"), "badge",
                              employees["badge"].cast(pa.float64())), {}, "not an integer"),
        (employees, {"compression": "zstd"}, "compressed with ZSTD"),
        (employees.replace_schema_metadata({"atomicstore.entity": "Manager"}), {}, "contains objects of"),
    ]:
        if options.get("compression") and not pa.Codec.is_available("zstd"):
            continue
        write(folder, changed, **options)
        assert text in str(refusal(folder))
    write(folder, employees)
    read_all(folder)
    shutil.copy(folder / "Employee.arrow", folder / "Other.arrow")
    assert "not listed" in str(refusal(folder))
