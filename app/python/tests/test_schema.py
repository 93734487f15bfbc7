"""Every line of real captures is valid by resources/schema/capture.schema.json."""

import json
import os
import runpy

import pytest

import tensor_workbench
from test_planted_faults import SCRIPTS

HERE = os.path.dirname(__file__)
SCHEMA = os.path.join(HERE, "..", "..", "..", "resources", "schema", "capture.schema.json")


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    if not os.path.exists(SCHEMA):
        pytest.skip("the package is tested outside of the project's tree, without the schema")
    with open(SCHEMA) as file:
        schema = json.load(file)
    return jsonschema.Draft202012Validator(schema), {
        kind: jsonschema.Draft202012Validator({**definition, "$defs": schema["$defs"], "additionalProperties": False})
        for kind, definition in schema["$defs"].items()}


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_lines_are_valid_and_ids_are_known(name, validator, tmp_path, monkeypatch):
    whole, by_kind = validator
    monkeypatch.chdir(tmp_path)
    with tensor_workbench.capture("run.twbcap"):
        runpy.run_path(SCRIPTS[name], run_name="__main__")
    known = {"location": {0}, "module": set(), "tensor": {0}, "op": set(), "mismatch": set()}
    with open("run.twbcap") as file:
        for number, text in enumerate(file):
            line = json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
            kind = line.get("kind", "header")
            assert (kind == "header") == (number == 0)
            whole.validate(line)
            by_kind[kind].validate(line)  # no key that the schema does not describe
            for key, table in (("location", "location"), ("caller", "location"), ("module", "module"), ("parent", "module"),
                               ("before", "tensor"), ("after", "tensor"), ("tensor", "tensor"), ("root", "mismatch"), ("forward", "op")):
                if key in line:
                    assert line[key] in known[table], text
            for operand in line.get("in", []) + line.get("operands", []):
                assert operand["id"] in known["tensor"], text
            for output in line.get("out", []):
                assert output["id"] not in known["tensor"], text
                assert output.get("overwrites", 0) in known["tensor"], text
                known["tensor"].add(output["id"])
            if kind in known:
                assert line["id"] not in known[kind], text
                known[kind].add(line["id"])
    assert kind == "end"
    assert len(known["op"]) == line["ops"] > 50
