"""The data source of Spark, in local mode."""

import os
import shutil
import sys

import pytest

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import SparkSession  # noqa: E402

from atomicstore.spark import AtomicStoreDataSource, group  # noqa: E402


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.dataSource.register(AtomicStoreDataSource)
    yield session
    session.stop()


@pytest.fixture
def stores(company, tmp_path):
    for number in range(5):
        shutil.copy(company, tmp_path / f"{number}.plist")
    return tmp_path


def test_stores_are_grouped_by_their_bytes(stores):
    paths = sorted(str(path) for path in stores.iterdir())
    size = os.path.getsize(paths[0])
    assert group(paths, 2 * size) == [paths[:2], paths[2:4], paths[4:]]
    assert group(paths, 1) == [[path] for path in paths]
    assert group(paths, 100 * size) == [paths]
    assert group([], 1) == []


def test_spark_reads_many_stores(spark, stores):
    frame = (
        spark.read.format("atomicstore")
        .option("entity", "Employee")
        .option("decimals", "string")
        .option("store", "path")
        .load(f"{stores}/*.plist")
    )
    types = dict(frame.dtypes)
    assert types["badge"] == "int" and types["hired"] == "timestamp" and types["projects"] == "array<bigint>"
    assert types["token"] == "string" and types["salary"] == "string"
    assert frame.count() == 30
    assert frame.select("path").distinct().count() == 5
    names = {row["name"] for row in frame.filter("badge = 1001").collect()}
    assert names == {"Zoë \"Zo\" O’Hara, Jr."}


def test_decimals_that_do_not_fit_are_refused_with_the_option(spark, stores):
    # One budget has 38 digits before the point.
    frame = spark.read.format("atomicstore").option("entity", "Department").load(f"{stores}/*.plist")
    with pytest.raises(Exception, match="see the option 'decimals'"):
        frame.collect()
    doubles = (
        spark.read.format("atomicstore").option("entity", "Department").option("decimals", "double")
        .load(f"{stores}/*.plist")
    )
    assert doubles.agg({"budget": "max"}).collect()[0][0] == 1e38
