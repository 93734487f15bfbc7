"""Checks the translations in resources/translations: translations.py FOLDER LUPDATE ARGUMENTS…

lupdate runs on a copy of each file. Every string of the window must have a translation, no translation may be without its
string, and lupdate must understand the context of every string. Each translation has the placeholders, the accelerator and
the outer blanks of its source.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def messages(path):
    for context in ElementTree.parse(path).getroot().iter("context"):
        for message in context.iter("message"):
            yield context.findtext("name"), message.findtext("source"), message.find("translation")


def faults_of(source, text):
    def differ(pattern):
        return set(re.findall(pattern, source)) != set(re.findall(pattern, text))

    if differ(r"%(?:\d|n)"):
        yield "has other placeholders"
    if differ(r"&(?=\w)") or len(re.findall(r"&\w", text)) > 1:
        yield "has another number of accelerators"
    if differ(r"^ | $|\n|…$|<\w+>"):
        yield "begins or ends differently"
    if re.search(r"\(\*\.", source) and re.findall(r"\([^)]*\)", source) != re.findall(r"\([^)]*\)", text):
        yield "has another file filter"


def check(path, lupdate):
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        run = subprocess.run([*lupdate, "-silent", "-ts", str(copy)], capture_output=True, text=True)
        faults += [f"lupdate: {line}" for line in run.stderr.splitlines() if line.strip()]
        if run.returncode != 0:
            faults.append(f"lupdate ended with {run.returncode}")
        for context, source, translation in messages(copy):
            kind = translation.get("type")
            if kind == "unfinished":
                faults.append(f"{context}: {source!r} has no translation")
            elif kind:
                faults.append(f"{context}: {source!r} is no longer in the code ({kind})")
    for context, source, translation in messages(path):
        text = translation.text or ""
        if not text:
            faults.append(f"{context}: {source!r} has an empty translation")
        faults += [f"{context}: {source!r}: {text!r} {fault}" for fault in faults_of(source, text)]
    return faults


def main():
    folder, *lupdate = sys.argv[1:]
    if not Path(lupdate[0]).exists():
        print("skipped: lupdate is not installed (qt6-l10n-tools)")
        return 77
    files = sorted(Path(folder).glob("*.ts"))
    faults = [f"{path.name}: {fault}" for path in files for fault in check(path, lupdate)]
    print("\n".join(faults))
    if faults:
        print("Update the files with: cmake --build BUILD --target translations")
    print(f"{len(files)} translation files, {len(faults)} faults")
    return 1 if faults or not files else 0


sys.exit(main())
