#!/usr/bin/env python3
"""Writes later_schemas.inc: ONNX's schemas of our ops that are newer than the ONNX library of Debian 12 (1.12).

    twb ops --json | make_later_schemas.py > later_schemas.inc

Needs the Python package onnx; its newest released opset is the newest one that the export writes. One line per schema:

    [domain.]Op version | inputs | outputs | attributes | type constraints

An input or output is `name:type`, with `?` after the name if it is optional and `*` if it is variadic (`~` if it is
variadic with mixed types). An attribute is `name:kind`, with `!` after the name if it is required and `=value` after the
kind if it has a default that is not a list. A type constraint is `T=dtype,dtype`. Unsupported types are left out, and so
are schemas that then equal the previous version.
"""

import json
import sys

import onnx

ERRATA = {"Erf"}  # whose older schemas were corrected since
KNOWN = {"": 17, "ai.onnx.ml": 3, "ai.onnx.preview.training": 1}  # what libonnx 1.12 has
DTYPES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int16": "i16",
          "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
          "bool": "bool", "float8e4m3fn": "f8e4m3fn", "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2",
          "float8e5m2fnuz": "f8e5m2fnuz", "float8e8m0": "f8e8m0", "float4e2m1": "f4e2m1", "int4": "i4", "uint4": "u4",
          "int2": "i2", "uint2": "u2"}
WIDE = list(DTYPES.values())[:13]
SETS = {"all": set(WIDE),
        "numbers": set(WIDE) - {"bool"},
        "floats": {"f32", "f64", "f16", "bf16"}}
KINDS = {"INT": "i", "FLOAT": "f", "STRING": "s", "INTS": "is", "FLOATS": "fs", "STRINGS": "ss", "TENSOR": "t",
         "GRAPH": "g", "TENSORS": "ts"}


def dtype_of(text):
    return DTYPES.get(text.removeprefix("tensor(").removesuffix(")")) if text.startswith("tensor(") else None


def parameter(port):
    mark = {"Single": "", "Optional": "?", "Variadic": "*" if port.is_homogeneous else "~"}[port.option.name]
    return f"{port.name}{mark}:{dtype_of(port.type_str) or port.type_str}"


def attribute(spec):
    kind = KINDS[spec.type.name]
    text = spec.name + ("!" if spec.required else "") + ":" + kind
    if spec.default_value.type and kind in "ifs":
        value = onnx.helper.get_attribute_value(spec.default_value)
        if isinstance(value, bytes):
            value = value.decode()
        text += f"={value}"
    return text


def constraint(param):
    names = {dtype_of(text) for text in param.allowed_type_strs} - {None}
    out = []
    for name, members in SETS.items():
        if members <= names:
            out.append(name)
            names -= members
    out += [name for name in DTYPES.values() if name in names]
    return f"{param.type_param_str}={','.join(out)}" if out else None


def line(schema):
    attributes = sorted(schema.attributes.values(), key=lambda spec: spec.name)
    fields = [" ".join(map(parameter, schema.inputs)),
              " ".join(map(parameter, schema.outputs)),
              " ".join(map(attribute, attributes)),
              " ".join(filter(None, map(constraint, schema.type_constraints)))]
    return " | ".join(fields)


def main():
    ops = {(op["domain"] or "", op["name"]) for op in json.load(sys.stdin)["ops"]
           if op["opset"] and op["role"] != "source"}
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history()
               if (schema.domain, schema.name) in ops and not schema.deprecated]
    print("// Written by make_later_schemas.py, which says how to read it.")
    print('R"(')
    last = None
    for schema in sorted(schemas, key=lambda one: (one.domain, one.name, one.since_version)):
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        this = (name, line(schema))
        isNew = schema.since_version > KNOWN[schema.domain] or schema.name in ERRATA
        if isNew and this != last:
            print(f"{name} {schema.since_version} | {this[1]}")
        last = this
    print(')"')


main()
