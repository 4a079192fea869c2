"""The wheel that Scripts/package makes: the command, the harness, the libraries that both need, and the Python package.

The programs are scripts of the wheel, so they are in the environment's bin directory; libraries, manual pages and samples are its data, in lib
and share beside that. Libraries that the tag manylinux does not promise are inside, except for libpq, which only PostgreSQL stores need: it is
the system's, and loaded late. The tag names the lowest version of glibc that has all symbols. Equal programs make an equal wheel.
"""
import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PROGRAMS = ["atomicstore", "atomicstore-conform"]
# What every system has that the tag is for (PEP 600).
PROMISED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
LEFT_TO_SYSTEM = {"libpq.so.5"}
# Licenses of the Debian packages whose libraries are inside, as SPDX has them.
LICENSES = {"libxml2": "MIT", "libicu": "Unicode-DFS-2016", "libsqlite3-0": "blessing", "liblzma5": "LicenseRef-public-domain"}
# The glibc of the first distributions with a libstdc++ that has GLIBCXX_3.4.NUMBER.
GLIBC_OF_LIBSTDCXX = {28: 31, 29: 34, 30: 35, 31: 36, 32: 38, 33: 39}
FIRST_OF_LIBSTDCXX = 25


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def system_library(name):
    """The file of a library of this system. A %d stands for the highest version."""
    pattern = r"\s*" + re.escape(name).replace("%d", r"(?P<version>\d+)") + r" \(libc6,x86-64.*\) => (?P<file>.*)"
    found = [match.groupdict() for line in output("ldconfig", "-p").splitlines() if (match := re.match(pattern, line))]
    if not found:
        sys.exit(f"error: {name} is not installed")
    return Path(max(found, key=lambda match: int(match.get("version", 0)))["file"]).resolve()


def owner(file):
    """The Debian package of a library, its version and home page."""
    for path in [file, Path("/" + str(file.relative_to("/usr"))) if file.is_relative_to("/usr") else file]:
        found = subprocess.run(["dpkg-query", "-S", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            name = found.stdout.split(":")[0]
            return name, *output("dpkg-query", "-W", "-f", "${Version} ${Homepage}", name).split(" ")[:2]
    sys.exit(f"error: no package has {file}")


def newest_glibc(files):
    """The minor version of glibc 2 that has all versions of symbols that these files need."""
    minors = [0]
    for file in files:
        for name, minor in re.findall(r"Name: (GLIBC_2|GLIBCXX_3\.4)\.(\d+)", output("readelf", "-VW", file)):
            if name == "GLIBC_2":
                minors.append(int(minor))
            elif int(minor) >= FIRST_OF_LIBSTDCXX:
                minors.append(next(glibc for first, glibc in sorted(GLIBC_OF_LIBSTDCXX.items()) if first >= int(minor)))
    return max(minors)


class Wheel:
    """A wheel while it is put together. `package` is the module of Scripts/package, which knows programs and parts."""

    def __init__(self, package, tree, work, version):
        self.package, self.tree, self.root, self.work = package, tree, work / "wheel", work
        self.version = version
        self.data = self.root / f"atomicstore-{version}.data"
        self.libraries = self.data / "data/lib/atomicstore"
        self.components = []

    def add_programs(self):
        home, scripts = self.tree / "usr/lib/atomicstore", self.data / "scripts"
        scripts.mkdir(parents=True)
        self.libraries.mkdir(parents=True)
        rest, seen = [], set()
        for name in PROGRAMS:
            shutil.copy(home / name, scripts / name)
            self.package.set_run_path(scripts / name, "$ORIGIN/../lib/atomicstore", for_all=True)
            rest.append(scripts / name)
        while rest:
            for name in self.package.needed(rest.pop()):
                if name in seen or name in PROMISED | LEFT_TO_SYSTEM or name.startswith("ld-linux"):
                    continue
                seen.add(name)
                rest.append(self.add_library(name, home))

    def add_library(self, name, home):
        if (home / name).exists():
            shutil.copy(home / name, self.libraries / name)
            return self.libraries / name
        file = system_library(name)
        name = re.search(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", file))[1]
        if name.startswith("libicudata."):
            self.package.smaller_system_icu(file, name, self.libraries / name, self.work)
        else:
            self.package.strip(file, self.libraries / name)
        package, version, page = owner(file)
        license = next((license for start, license in LICENSES.items() if package.startswith(start)), None)
        if license is None:
            sys.exit(f"error: no license is known for {package}")
        part = (package, version, page or "NOASSERTION", license, Path(f"/usr/share/doc/{package}/copyright"))
        if part not in self.components:
            self.components.append(part)
        return self.libraries / name

    def add_shared_files(self):
        """What the packages have for every architecture, without the site, and what belongs to the web server."""
        def unwanted(folder, names):
            return [name for name in names if "atomicstore-browse" in name or name in ("html", "copyright", "sbom.spdx.json")]
        shutil.copytree(self.tree / "usr/share", self.data / "data/share", ignore=unwanted)

    def add_python(self, sources):
        shutil.copytree(sources / "src/atomicstore", self.root / "atomicstore", ignore=shutil.ignore_patterns("__pycache__"))

    def metadata(self, sources, licenses):
        import tomllib
        project = tomllib.loads((sources / "pyproject.toml").read_text())["project"]
        if project["version"] != self.version:
            sys.exit(f"error: Python/pyproject.toml has the version {project['version']}, not {self.version}")
        lines = [
            "Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {self.version}", f"Summary: {project['description']}",
            f"License-Expression: {' AND '.join(licenses)}", "License-File: copyright", f"Requires-Python: {project['requires-python']}",
            *(f"Requires-Dist: {dependency}" for dependency in project["dependencies"])]
        for extra, dependencies in project["optional-dependencies"].items():
            lines.append(f"Provides-Extra: {extra}")
            lines += [f'Requires-Dist: {dependency}; extra == "{extra}"' for dependency in dependencies]
        lines.append("Description-Content-Type: text/markdown")
        return "\n".join(lines) + "\n\n" + (sources / project["readme"]).read_text()

    def finish(self, root, components, folder):
        """Adds what installers read, and writes the wheel."""
        binaries = [*(self.data / "scripts").iterdir(), *self.libraries.iterdir()]
        tag = f"py3-none-manylinux_2_{newest_glibc(binaries)}_x86_64"
        components = [*components, *sorted(self.components)]
        info = self.root / f"atomicstore-{self.version}.dist-info"
        (info / "licenses").mkdir(parents=True)
        (info / "sboms").mkdir()
        (info / "licenses/copyright").write_text(self.package.licenses_text(components))
        (info / "METADATA").write_text(self.metadata(root / "Python", sorted({license for _, _, _, license, _ in components})))
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: Scripts/package\nRoot-Is-Purelib: false\nTag: {tag}\n")
        files = sorted(path for path in self.root.rglob("*") if path.is_file())
        (info / "sboms/sbom.spdx.json").write_text(
            json.dumps(self.package.sbom(components, self.root, files, self.version), indent=1) + "\n")
        return self.write(folder / f"atomicstore-{self.version}-{tag}.whl", info)

    def write(self, target, info):
        files = {path.relative_to(self.root).as_posix(): path for path in self.root.rglob("*") if path.is_file()}
        record = ""
        target.unlink(missing_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            def add(name, content, mode):
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
            # Installers read the directory of the information last.
            for name in sorted(files, key=lambda name: (files[name].is_relative_to(info), name)):
                content = files[name].read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record += f"{name},sha256={digest},{len(content)}\n"
                add(name, content, 0o755 if files[name].stat().st_mode & 0o100 else 0o644)
            name = f"{info.name}/RECORD"
            add(name, record + f"{name},,\n", 0o644)
        return target
