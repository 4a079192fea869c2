"""The Python recipes of the article on many stores."""

import os
import re
import shutil
import sys

import pytest

from conftest import ROOT

ARTICLE = ROOT / "Sources" / "AtomicStoreKit" / "AtomicStoreKit.docc" / "ManyStores.md"


def recipe(heading):
    text = ARTICLE.read_text().split(f"\n### {heading}\n")[1]
    return re.search(r"```python\n(.*?)\n```", text, re.DOTALL).group(1)


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
    exec(compile(text, "recipe", "exec"), {})
    groups = re.findall(r"count=(\d+)", capsys.readouterr().out)
    assert sum(map(int, groups)) == 3 * 6


def test_the_recipe_for_ray_is_python():
    compile(recipe("Ray"), "recipe", "exec")
