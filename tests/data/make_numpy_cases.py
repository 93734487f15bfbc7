#!/usr/bin/env python3
"""Writes numpy_cases.json: NumPy's results of ops, for tests/ops/test_numpy.cpp.

Run it again after adding a case: python3 tests/data/make_numpy_cases.py
"""
import json
import math
import pathlib

import numpy as np

NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "int8": "i8", "int16": "i16",
         "uint8": "u8", "bool": "bool"}
random = np.random.default_rng(20)
cases = []


def number(x):
    x = x.item()
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
    return x


def tensor(a):
    a = np.asarray(a)
    return {"dtype": NAMES[a.dtype.name], "shape": list(a.shape), "values": [number(x) for x in a.reshape(-1)]}


def case(op, inputs, output, **attributes):
    cases.append({"op": op, "attributes": attributes, "inputs": [tensor(x) for x in inputs], "output": tensor(output)})


def floats(*shape, dtype=np.float32):
    return random.integers(-40, 40, shape).astype(dtype) / np.asarray(8, dtype)


def integers(*shape, dtype=np.int64, low=-9, high=9):
    return random.integers(low, high, shape).astype(dtype)


def wide(f, *inputs):
    """Computes in double and rounds the result once."""
    return f(*[x.astype(np.float64) for x in inputs]).astype(inputs[0].dtype)


special = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -2.5], np.float32)
a, b = floats(2, 3), floats(3)
case("Add", [a, b], a + b)
x, y = floats(2, 1, 3), floats(4, 1)
case("Sub", [x, y], x - y)
case("Mul", [special, special[::-1].copy()], special * special[::-1])
with np.errstate(all="ignore"):
    case("Div", [special, np.float32(0)], special / np.float32(0))
    case("Log", [special], np.log(special))
    case("Sqrt", [special], np.sqrt(special))
    case("Pow", [special, np.float32(2)], np.power(special, np.float32(2)))
    case("Pow", [np.array([2.0, -2.0, 0.0], np.float64), np.array([0.5, 0.5, -1.0])],
         np.power(np.array([2.0, -2.0, 0.0]), np.array([0.5, 0.5, -1.0])))
case("Exp", [special], wide(np.exp, special))
case("Tanh", [special], wide(np.tanh, special))
case("Abs", [special], np.abs(special))
case("Neg", [special], -special)
m, n = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
case("Div", [m, n], np.trunc(m / n).astype(np.int32))
overflow = np.array([2147483647, -2147483648], np.int32)
case("Add", [overflow, np.int32(1)], overflow + np.ones(2, np.int32))
case("Mul", [overflow, overflow], overflow * overflow)
p, q = integers(5, dtype=np.int32), integers(5, low=0, high=5)
case("Pow", [p, q], np.power(p, q).astype(np.int32))
case("Equal", [special, special], special == special)
s, t = integers(2, 3, low=0, high=2), integers(3, low=0, high=2)
case("Equal", [s, t], s == t)
c = s.astype(bool)
case("Where", [c, a, np.float32(-1)], np.where(c, a, np.float32(-1)))
case("Relu", [special], np.maximum(special, 0))
case("Sigmoid", [a], wide(lambda v: 1 / (1 + np.exp(-v)), a))
case("Gelu", [a], wide(lambda v: v / 2 * (1 + np.vectorize(math.erf)(v / math.sqrt(2))), a))
case("Gelu", [a], wide(lambda v: v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))), a),
     approximate="tanh")
for axis in (0, -1):
    case("Softmax", [a], wide(lambda v: np.exp(v) / np.exp(v).sum(axis=axis, keepdims=True), a), axis=axis)

for left, right in (((2, 3), (3, 2)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 2, 3), (2, 3, 2)),
                    ((2, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 2))):
    u, v = floats(*left), floats(*right)
    case("MatMul", [u, v], np.matmul(u, v))
u, v = integers(2, 3), integers(3, 2)
case("MatMul", [u, v], u @ v)
u, v, w = floats(3, 2), floats(4, 3), floats(4)
case("Gemm", [u, v, w], np.float32(0.5) * (u.T @ v.T) + np.float32(2) * w, alpha=0.5, beta=2.0, transA=True,
     transB=True)

d = floats(2, 3, 2)
for axes, keep in (([1], True), ([0, 2], False), ([-1], False), ([0, 1, 2], True)):
    case("ReduceSum", [d], d.sum(axis=tuple(axes), keepdims=keep), axes=axes, keepdims=keep)
    case("ReduceMean", [d], d.mean(axis=tuple(axes), keepdims=keep), axes=axes, keepdims=keep)
    case("ReduceMax", [d], d.max(axis=tuple(axes), keepdims=keep), axes=axes, keepdims=keep)
case("ReduceSum", [d], d.sum(), keepdims=False)
case("ReduceMax", [special], special.max(), keepdims=False)
case("ReduceSum", [np.zeros((0, 2), np.float32)], np.zeros((1, 2), np.float32), axes=[0])
case("ArgMax", [special], special.argmax(), keepdims=False)
e = integers(3, 4, low=0, high=3)
case("ArgMax", [e], e.argmax(axis=1), axis=1, keepdims=False)
case("ArgMax", [e], 3 - e[:, ::-1].argmax(axis=1), axis=1, keepdims=False, select_last_index=True)

case("Transpose", [d], d.transpose())
case("Transpose", [d], d.transpose(1, 2, 0), perm=[1, 2, 0])
case("Reshape", [d], d.reshape(3, -1), shape=[3, -1])
f, g = floats(1, 3), floats(0, 3)
case("Concat", [a, f, g], np.concatenate([a, f, g]), axis=0)
case("Cast", [np.array([1.9, -1.9, 0.0, -0.5], np.float32)], np.array([1.9, -1.9, 0.0, -0.5]).astype(np.int32), to="i32")
case("Cast", [special], special.astype(bool), to="bool")
case("Cast", [np.array([200, -1], np.int16)], np.array([200, -1], np.int16).astype(np.int8), to="i8")
case("Cast", [np.array([200, -1], np.int16)], np.array([200, -1], np.int16).astype(np.uint8), to="u8")
case("Arange", [], np.arange(1, 2, 0.25, np.float64), start=1, limit=2, delta=0.25, dtype="f64")
case("Arange", [], np.arange(5, -5, -3), start=5, limit=-5, delta=-3)

lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
pathlib.Path(__file__).with_name("numpy_cases.json").write_text(f"[\n{lines}\n]\n")
print(len(cases), "cases")
