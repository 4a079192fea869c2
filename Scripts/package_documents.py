"""The documents that Scripts/package puts into packages: guides and formats as text, whose links all lead somewhere, and the site."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGES = ["README.md", "CHANGELOG.md", "KNOWN-ISSUES.md", "SECURITY.md"]
# Of 255 bytes, which file systems allow.
LONGEST_NAME = 240
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")


def sources(root):
    """The pages of a package: the path that each has there, and the file of the checkout."""
    found = {name: root / name for name in PAGES}
    found.update({f"guides/{file.name}": file for file in sorted(root.glob("Sources/*/*/*.docc/*.md"))})
    found.update({str(file.relative_to(root)): file for file in sorted(root.glob("StoreFormats/*/FORMAT.md"))})
    return found


def with_links(text, page, origin, places, root, exists):
    """The text of a page with links that lead somewhere in the package; others become their text.

    places has the path in the package by the path in the checkout, exists says whether the package has a path.
    """
    def link(match):
        sign, label, target = match.groups()
        path, hash, part = target.partition("#")
        file = os.path.normpath(origin.parent / path)
        place = places.get(Path(file), os.path.relpath(file, root))
        if not exists(place):
            return label
        return f"{sign}[{label}]({os.path.relpath(place, os.path.dirname(page) or '.')}{hash}{part})"

    def article(match):
        name, _, part = match[1].partition("#")
        file = next((file for file in places if file.suffix == ".md" and file.stem == name), None)
        title = re.search(r"^# (.*)$", file.read_text(), re.M)[1].strip("`") if file else name
        return f"[{title}]({file})" if file else title

    text = re.sub(r"\]\(<doc:(\w+)[^>]*>\)", lambda match: f"]({match[1]}.md)", text)
    text = re.sub(r"<doc:([\w#-]+)>", article, text)
    # A link to a symbol is its name: the site has these.
    text = re.sub(r"(?<!`)``/?(?:\w+/)*?([^`/]+)``(?!`)", r"`\1`", text)
    return LINK.sub(link, text)


def add_pages(root, documents):
    pages = sources(root)
    places = {file: page for page, file in pages.items()}
    shutil.copytree(root / "Images", documents / "Images")

    def exists(place):
        return place in pages or (documents / place).exists() or any(page.startswith(place + "/") for page in pages)

    for page, file in pages.items():
        (documents / page).parent.mkdir(parents=True, exist_ok=True)
        (documents / page).write_text(with_links(file.read_text(), page, file, places, root, exists))
    if broken := list(broken_links(documents)):
        sys.exit("error: links of the packaged documents are dangling: " + ", ".join(broken))


def broken_links(documents):
    for page in sorted(documents.rglob("*.md")):
        if "SampleStores" in page.parts:
            continue
        for match in LINK.finditer(page.read_text()):
            if not (page.parent / match[3].partition("#")[0]).exists():
                yield f"{page.relative_to(documents)}: {match[3]}"


def add_site(root, documents, builds):
    """The site of Scripts/docs, of the modules that the programs were built with, and of those that only libraries need."""
    options = ["--release"] if builds else ["--release", "--no-build"]
    done = subprocess.run([root / "Scripts/docs", *options, documents / "html"], cwd=root, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}error: the documentation was not built")
    shorten_names(documents / "html")


def shorten_names(site):
    """Shortens names of files to which dpkg cannot add a suffix while it unpacks them, everywhere in the site."""
    long = {name.removesuffix(".json") for _, folders, files in os.walk(site) for name in [*folders, *files] if len(name.encode()) > LONGEST_NAME}
    # The end of such a name is a hash of the rest.
    short = {name: name[:LONGEST_NAME - 60] + "-" + name.rpartition("-")[2] for name in long}
    for folder, folders, files in os.walk(site, topdown=False):
        for name in [*folders, *files]:
            path = Path(folder) / name
            if path.suffix in (".json", ".html") and path.is_file():
                text = path.read_text()
                changed = text
                for old, new in short.items():
                    changed = changed.replace(old, new)
                if changed != text:
                    path.write_text(changed)
            if (new := short.get(name.removesuffix(".json"))) is not None:
                path.rename(path.with_name(new + (".json" if name.endswith(".json") else "")))
