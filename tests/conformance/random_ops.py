"""Random models of one op each, for differential.py: all opsets, dtypes, empty and 0-dimensional tensors, NaN and inf."""

import ml_dtypes
import numpy as np
import onnx

DTYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
          "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8,
          "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_}
NEWEST = 24
OLDEST = 7  # of those that ONNX Runtime reads
FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
MAKERS = {}


def is_float(dtype):
    return np.dtype(dtype) in [np.dtype(one) for one in FLOATS]


class Maker:
    """The source of a generator: seeded random numbers, and the schema of the op."""

    def __init__(self, dice, schema):
        self.dice = dice
        self.schema = schema
        self.version = schema.since_version
        self.bound = {}

    def choice(self, values):
        return values[int(self.dice.integers(len(values)))]

    def coin(self, one_in=2):
        return int(self.dice.integers(one_in)) == 0

    def integer(self, low, high):
        return int(self.dice.integers(low, high + 1))

    def dtype(self, variable="T"):
        """A dtype that the schema allows for a type variable; the same at each call."""
        if variable not in self.bound:
            allowed = [text for param in self.schema.type_constraints if param.type_param_str == variable
                       for text in param.allowed_type_strs]
            known = [DTYPES[text[7:-1]] for text in sorted(allowed) if text.startswith("tensor(") and text[7:-1] in DTYPES]
            self.bound[variable] = self.choice(known) if known else np.float32
        return self.bound[variable]

    def shape(self, least=0, most=4, size=5, empty=True):
        return [0 if empty and self.coin(16) else self.integer(1, size) for _ in range(self.integer(least, most))]

    def tensor(self, dtype, shape, low=-4, high=4, special=True):
        dtype = np.dtype(dtype)
        if dtype == np.bool_:
            return np.asarray(self.dice.integers(0, 2, shape)).astype(np.bool_)
        if not is_float(dtype):
            low = max(low, np.iinfo(dtype).min)
            values = np.asarray(self.dice.integers(int(low), int(high) + 1, shape), dtype=np.int64).astype(dtype)
            if special and values.size and self.coin(6):
                values.flat[self.integer(0, values.size - 1)] = self.choice([np.iinfo(dtype).min, np.iinfo(dtype).max])
            return values
        values = np.asarray(self.dice.uniform(low, high, shape))
        if self.coin(3):
            values = np.round(values)
        if special and values.size and self.coin(4):
            for _ in range(self.integer(1, 3)):
                values.flat[self.integer(0, values.size - 1)] = self.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
        return values.astype(dtype)

    def narrowed(self, shape):
        """A shape that broadcasts to `shape`."""
        out = [1 if self.coin(4) else size for size in shape]
        return out[self.integer(0, len(out)):] if self.coin(3) else out

    def axis(self, rank):
        return self.integer(-rank, rank - 1) if rank else 0

    def axes(self, rank):
        picked = [axis for axis in range(rank) if self.coin()]
        return [axis - rank if self.coin(3) else axis for axis in picked]

    def has(self, attribute):
        return attribute in self.schema.attributes


def makes(*names, domain=""):
    def register(function):
        for name in names:
            MAKERS[(domain, name)] = function
        return function
    return register


def ints(*values):
    return np.array(values, dtype=np.int64)


# Each returns inputs (arrays; None is an absent input), attributes, and the number of outputs.

@makes("Relu", "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Exp", "Erf", "Sigmoid", "Tanh", "Sin", "Cos", "Atan",
       "Sinh", "Cosh", "Asinh", "Softplus", "Softsign", "HardSwish", "Mish", "Identity", "Not", "IsNaN", "BitwiseNot",
       "Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Shrink", "Gelu", "Swish", "IsInf",
       "Reciprocal", "Sqrt", "Log", "Acosh", "Acos", "Asin", "Atanh", "Tan", "Shape", "Size", "NonZero")
def unary(m):
    dtype = m.dtype(m.schema.inputs[0].type_str)
    attributes = {}
    for name in ("alpha", "lambd", "bias", "threshold"):
        if m.has(name) and m.coin():
            attributes[name] = round(float(m.dice.uniform(-1, 2)), 2)
    for name in ("detect_negative", "detect_positive"):
        if m.has(name) and m.coin():
            attributes[name] = m.integer(0, 1)
    if m.has("approximate"):
        attributes["approximate"] = m.choice(["none", "tanh"])
    if m.schema.name == "Shape" and m.has("start") and m.coin():
        attributes = {"start": m.integer(-4, 4), "end": m.integer(-4, 4)}
    return [m.tensor(dtype, m.shape())], attributes, 1


@makes("Add", "Sub", "Mul", "Div", "Pow", "PRelu", "And", "Or", "Xor", "Equal", "Less", "Greater", "LessOrEqual",
       "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod", "BitShift")
def binary(m):
    first = m.dtype(m.schema.inputs[0].type_str)
    second = m.dtype(m.schema.inputs[1].type_str)
    shape = m.shape()
    attributes = {}
    integer = not is_float(second) and second != np.bool_
    a = m.tensor(first, shape)
    b = m.tensor(second, m.narrowed(shape), special=not integer)
    if m.schema.name == "Pow":
        b = m.tensor(second, m.narrowed(shape), 0, 3, special=not integer)
    if m.schema.name in ("Div", "Mod") and integer:
        b = np.where(b == 0, np.ones_like(b), b)
    if m.schema.name == "Mod" and is_float(first):
        attributes["fmod"] = 1
    elif m.schema.name == "Mod" and m.coin():
        attributes["fmod"] = 1
    if m.schema.name == "BitShift":
        attributes["direction"] = m.choice(["LEFT", "RIGHT"])
        b = m.tensor(second, m.narrowed(shape), 0, 7, special=False)
    return [a, b], attributes, 1


@makes("Sum", "Mean", "Max", "Min")
def variadic(m):
    shape, dtype = m.shape(), m.dtype()
    return [m.tensor(dtype, shape)] + [m.tensor(dtype, m.narrowed(shape)) for _ in range(m.integer(0, 2))], {}, 1


@makes("Where")
def where(m):
    shape, dtype = m.shape(), m.dtype()
    return [m.tensor(np.bool_, m.narrowed(shape)), m.tensor(dtype, shape), m.tensor(dtype, m.narrowed(shape))], {}, 1


@makes("Clip")
def clip(m):
    dtype, x = m.dtype(), None
    x = m.tensor(dtype, m.shape())
    if len(m.schema.inputs) == 1:
        return [x], {"min": -1.0, "max": 2.0} if m.coin() else {}, 1
    low = m.tensor(dtype, [], -3, 1, special=False) if m.coin() else None
    high = m.tensor(dtype, [], 0, 3, special=False) if m.coin() else None
    return [x, low, high], {}, 1


@makes("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
       "ReduceLogSumExp", "ReduceSumSquare")
def reduction(m):
    shape, attributes = m.shape(), {}
    if m.coin():
        attributes["keepdims"] = m.integer(0, 1)
    if m.has("noop_with_empty_axes") and m.coin():
        attributes["noop_with_empty_axes"] = m.integer(0, 1)
    inputs = [m.tensor(m.dtype(), shape)]
    axes = m.axes(len(shape))
    if m.coin(4):
        pass
    elif len(m.schema.inputs) > 1:
        inputs.append(ints(*axes))
    elif axes:
        attributes["axes"] = axes
    return inputs, attributes, 1


@makes("ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax", "CumSum")
def along(m):
    shape = m.shape(1)
    inputs = [m.tensor(m.dtype(m.schema.inputs[0].type_str), shape)]
    attributes = {}
    for name in ("keepdims", "select_last_index", "exclusive", "reverse"):
        if m.has(name) and m.coin():
            attributes[name] = m.integer(0, 1)
    if m.has("axis"):
        attributes["axis"] = m.integer(0, len(shape) - 1) if m.version < 11 else m.axis(len(shape))
    else:
        inputs.append(np.array(m.axis(len(shape)), dtype=m.choice([np.int32, np.int64])))
    return inputs, attributes, 1


@makes("Cast")
def cast(m):
    to = m.dtype("T2")
    x = m.tensor(m.dtype("T1"), m.shape(), special=is_float(to) or not is_float(m.dtype("T1")))
    if not is_float(to) and is_float(x.dtype) and np.dtype(to).kind == "u":
        x = np.abs(x)
    return [x], {"to": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))}, 1


@makes("Transpose")
def transpose(m):
    shape = m.shape()
    return [m.tensor(m.dtype(), shape)], {"perm": [int(i) for i in m.dice.permutation(len(shape))]} if m.coin() else {}, 1


@makes("Flatten")
def flatten(m):
    shape = m.shape()
    return [m.tensor(m.dtype(), shape)], {"axis": m.integer(0, len(shape))}, 1


@makes("Reshape")
def reshape(m):
    shape = m.shape()
    target = list(shape)
    m.dice.shuffle(target)
    if target and m.coin():
        target[m.integer(0, len(target) - 1)] = -1
    if m.coin():
        target.insert(0, 1)
    attributes = {"allowzero": m.integer(0, 1)} if m.has("allowzero") and m.coin() else {}
    return [m.tensor(m.dtype(), shape), ints(*target)], attributes, 1


@makes("Squeeze", "Unsqueeze")
def squeeze(m):
    shape = m.shape(0, 3)
    rank = len(shape) + (0 if m.schema.name == "Squeeze" else 1)
    if m.schema.name == "Squeeze":
        shape = [1 if m.coin() else size for size in shape]
        axes = [axis for axis, size in enumerate(shape) if size == 1 and m.coin()]
    else:
        axes = [m.integer(0, rank - 1)]
    if m.version >= 11 and m.coin():
        axes = [axis - rank for axis in axes]
    x = m.tensor(m.dtype(), shape)
    if len(m.schema.inputs) > 1:
        return [x, ints(*axes)] if axes or m.schema.name == "Unsqueeze" else [x], {}, 1
    return [x], {"axes": axes} if axes else {}, 1


@makes("Expand")
def expand(m):
    shape = m.shape()
    return [m.tensor(m.dtype(), m.narrowed(shape)), ints(*shape)], {}, 1


@makes("Tile")
def tile(m):
    shape = m.shape()
    return [m.tensor(m.dtype(), shape), ints(*[m.integer(0, 2) if m.coin(5) else m.integer(1, 2) for _ in shape])], {}, 1


@makes("Concat")
def concat(m):
    shape, inputs = m.shape(1), []
    axis = m.axis(len(shape))
    for _ in range(m.integer(1, 3)):
        shape[axis] = m.integer(0, 3)
        inputs.append(m.tensor(m.dtype(), shape))
    return inputs, {"axis": axis if m.version >= 11 else axis % len(shape)}, 1


@makes("Slice")
def slice_(m):
    shape = m.shape(1)
    axes = [axis for axis in range(len(shape)) if m.coin()] or [0]
    starts = [m.choice([m.integer(-6, 6), 0, 2**31]) for _ in axes]
    ends = [m.choice([m.integer(-7, 7), 2**31, -2**31]) for _ in axes]
    steps = [m.choice([1, 2, -1, -2, 3]) for _ in axes]
    x = m.tensor(m.dtype(), shape)
    if len(m.schema.inputs) == 1:
        return [x], {"starts": starts, "ends": ends, "axes": axes}, 1
    return [x, ints(*starts), ints(*ends), ints(*axes)] + ([ints(*steps)] if m.coin() else []), {}, 1


@makes("Split")
def split(m):
    shape = m.shape(1, 3)
    axis = m.axis(len(shape)) if m.version >= 11 else m.integer(0, len(shape) - 1)
    parts = m.integer(1, 3)
    sizes = [m.integer(0, 3) for _ in range(parts)]
    equal = m.coin()
    shape[axis] = parts * m.integer(1, 2) if equal else sum(sizes)
    x, attributes = m.tensor(m.dtype(), shape), {"axis": axis}
    if equal and m.has("num_outputs"):
        attributes["num_outputs"] = parts
    if equal:
        return [x], attributes, parts
    if m.has("split"):
        return [x], attributes | {"split": sizes}, parts
    return [x, ints(*sizes)], attributes, parts


@makes("Gather")
def gather(m):
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.version >= 11 else m.integer(0, len(shape) - 1)
    size = shape[axis]
    low = -size if m.version >= 11 else 0
    indices = m.tensor(m.dtype("Tind"), m.shape(0, 2) if size else [0], low, size - 1 if size else 0, special=False)
    return [m.tensor(m.dtype(), shape), indices], {"axis": axis}, 1


@makes("GatherElements")
def gather_elements(m):
    shape = m.shape(1, 3, empty=False)
    axis = m.axis(len(shape))
    wanted = [m.integer(0, size) for size in shape]
    return [m.tensor(m.dtype(), shape),
            m.tensor(m.dtype("Tind"), wanted, -shape[axis], shape[axis] - 1, special=False)], {"axis": axis}, 1


@makes("GatherND")
def gather_nd(m):
    shape = m.shape(1, 3, empty=False)
    depth = m.integer(1, len(shape))
    indices = np.stack([m.tensor(np.int64, [3], -size, size - 1, special=False) for size in shape[:depth]], -1)
    return [m.tensor(m.dtype(), shape), indices], {}, 1


@makes("ScatterElements", "ScatterND")
def scatter(m):
    shape = m.shape(1, 3, empty=False)
    attributes = {}
    if m.has("reduction") and m.coin():
        choices = ["add", "mul"] + (["min", "max"] if m.version >= 18 else [])
        attributes["reduction"] = m.choice(choices)
    data = m.tensor(m.dtype(), shape)
    if m.schema.name == "ScatterND":
        size = shape[0]
        rows = m.dice.permutation(size)[:m.integer(0, size)].astype(np.int64)
        return [data, rows[:, None], m.tensor(m.dtype(), [len(rows)] + shape[1:])], attributes, 1
    axis = m.axis(len(shape))
    wanted = list(shape)
    wanted[axis] = m.integer(0, shape[axis])
    indices = np.argsort(m.dice.uniform(size=shape), axis=axis)
    indices = np.take(indices, range(wanted[axis]), axis=axis).astype(m.dtype("Tind"))
    return [data, indices, m.tensor(m.dtype(), wanted)], attributes | {"axis": axis}, 1


@makes("Pad")
def pad(m):
    shape = m.shape(1, 3, empty=m.coin(3))
    mode = m.choice(["constant", "reflect", "edge"])
    high = 2 if mode == "constant" else 0 if mode == "reflect" and min(shape, default=0) < 2 else 1
    pads = [m.integer(-1 if mode == "constant" and size > 2 else 0, high) for _ in range(2) for size in shape]
    x, attributes = m.tensor(m.dtype(), shape), {"mode": mode}
    if len(m.schema.inputs) == 1:
        return [x], attributes | {"pads": pads}, 1
    return [x, ints(*pads)] + ([m.tensor(m.dtype(), [])] if m.coin() else []), attributes, 1


@makes("TopK")
def top_k(m):
    shape = m.shape(1, 3)
    axis = m.axis(len(shape)) if m.version >= 11 else m.integer(0, len(shape) - 1)
    k = m.integer(0 if m.coin(5) else min(1, shape[axis]), shape[axis])
    size = int(np.prod(shape))
    dtype = m.dtype()
    x = m.dice.permutation(size).reshape(shape).astype(dtype)  # without ties, whose order ONNX leaves open
    if len(m.schema.inputs) == 1:
        return [x], {"axis": axis, "k": max(k, 1)}, 2
    attributes = {"axis": axis}
    if m.has("largest"):
        attributes["largest"] = m.integer(0, 1)
    return [x, ints(k)], attributes, 2


@makes("OneHot")
def one_hot(m):
    values = m.tensor(m.dtype("T3"), [2])
    depth = np.array(m.integer(1, 5), dtype=m.dtype("T2"))
    return [m.tensor(m.dtype("T1"), m.shape(0, 2), -3, 5, special=False), depth, values], {"axis": -1}, 1


@makes("Compress")
def compress(m):
    shape = m.shape(1, 3)
    axis = m.axis(len(shape))
    return [m.tensor(m.dtype(), shape), m.tensor(np.bool_, [m.integer(0, shape[axis])])], {"axis": axis}, 1


@makes("Trilu")
def trilu(m):
    x = m.tensor(m.dtype(), m.shape(0, 1) + [m.integer(0, 4), m.integer(1, 4)])
    return [x] + ([np.array(m.integer(-5, 5), np.int64)] if m.coin() else []), {"upper": m.integer(0, 1)}, 1


@makes("EyeLike")
def eye_like(m):
    return [m.tensor(m.dtype("T1"), [m.integer(0, 4), m.integer(1, 4)])], {"k": m.integer(-3, 3)} if m.coin() else {}, 1


@makes("ConstantOfShape")
def constant_of_shape(m):
    value = onnx.numpy_helper.from_array(m.tensor(m.dtype("T2"), [1]))
    return [ints(*m.shape())], {"value": value} if m.coin() else {}, 1


@makes("Range")
def range_(m):
    dtype = m.dtype()
    step = m.choice([1, 2, 3] if np.dtype(dtype).kind == "u" else [1, 2, -1, -2])
    return [np.array(value, dtype=dtype) for value in (m.integer(0, 5), m.integer(0, 9), step)], {}, 1


@makes("DepthToSpace", "SpaceToDepth")
def blocks(m):
    size = m.integer(1, 2)
    n, c, h, w = m.integer(0, 2), m.integer(1, 2), m.integer(1, 3), m.integer(1, 3)
    if m.schema.name == "SpaceToDepth":
        return [m.tensor(m.dtype(), [n, c, h * size, w * size])], {"blocksize": size}, 1
    attributes = {"blocksize": size} | ({"mode": m.choice(["DCR", "CRD"])} if m.has("mode") else {})
    return [m.tensor(m.dtype(), [n, c * size * size, h, w])], attributes, 1


@makes("MatMul")
def matmul(m):
    batch, (a, b, c) = m.shape(0, 2), (m.integer(0 if m.coin(6) else 1, 4) for _ in range(3))
    left = batch + [a, b] if m.coin(4) else m.narrowed(batch) + [a, b]
    return [m.tensor(m.dtype(), [b] if m.coin(8) else left, special=False),
            m.tensor(m.dtype(), [b] if m.coin(8) else batch + [b, c], special=False)], {}, 1


@makes("Gemm")
def gemm(m):
    a, b, c = (m.integer(0 if m.coin(6) else 1, 4) for _ in range(3))
    attributes = {"transA": m.integer(0, 1), "transB": m.integer(0, 1)}
    if m.coin():
        attributes |= {"alpha": 0.5, "beta": 2.0}
    inputs = [m.tensor(m.dtype(), [b, a] if attributes["transA"] else [a, b], special=False),
              m.tensor(m.dtype(), [c, b] if attributes["transB"] else [b, c], special=False)]
    if m.coin() or m.version < 11:
        inputs.append(m.tensor(m.dtype(), m.narrowed([a, c]), special=False))
    return inputs, attributes, 1


@makes("MatMulInteger")
def matmul_integer(m):
    a, b, c = (m.integer(1, 4) for _ in range(3))
    return [m.tensor(m.dtype("T1"), [a, b], 0, 20), m.tensor(m.dtype("T2"), [b, c], 0, 20)], {}, 1


@makes("Einsum")
def einsum(m):
    a, b, c = (m.integer(1, 4) for _ in range(3))
    equation = m.choice(["ij,jk->ik", "ij,jk", "ij,kj->i", "ij,jk->"])
    second = [c, b] if "kj" in equation else [b, c]
    return [m.tensor(m.dtype(), [a, b], special=False), m.tensor(m.dtype(), second, special=False)], {"equation": equation}, 1


def window(m, size):
    kernel = [m.integer(1, min(3, one)) for one in size]
    attributes = {"kernel_shape": kernel}
    if m.coin():
        attributes["strides"] = [m.integer(1, 2) for _ in size]
    how = m.choice(["pads", "SAME_UPPER", "SAME_LOWER", "VALID", "none"])
    if how == "pads":
        attributes["pads"] = [m.integer(0, one - 1) for one in kernel + kernel]
    elif how != "none":
        attributes["auto_pad"] = how
    if m.has("dilations") and not how.startswith("SAME") and m.coin(3):
        attributes["dilations"] = [m.integer(1, 2) for _ in size]
    return attributes


@makes("MaxPool", "AveragePool", "LpPool")
def pool(m):
    size = [m.integer(5, 8) for _ in range(m.integer(1, 2))]
    attributes = window(m, size)
    if m.has("ceil_mode") and m.coin():
        attributes["ceil_mode"] = m.integer(0, 1)
    if m.has("count_include_pad") and m.coin():
        attributes["count_include_pad"] = m.integer(0, 1)
    if m.has("p") and m.coin():
        attributes["p"] = m.integer(1, 3)
    outputs = 2 if m.schema.name == "MaxPool" and m.version >= 8 and m.coin(3) else 1
    return [m.tensor(m.dtype(), [m.integer(1, 2), m.integer(1, 2)] + size)], attributes, outputs


@makes("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(m):
    return [m.tensor(m.dtype(), m.shape(3, 4, empty=False))], {}, 1


@makes("Conv", "ConvTranspose")
def convolution(m):
    size = [m.integer(5, 7) for _ in range(m.integer(1, 2))]
    attributes = window(m, size)
    groups, a, b = m.integer(1, 2), m.integer(1, 2), m.integer(1, 2)
    attributes["group"] = groups
    dtype = m.dtype()
    kernel = attributes["kernel_shape"]
    weight = [groups * a, b] + kernel if m.schema.name == "ConvTranspose" else [groups * b, a] + kernel
    inputs = [m.tensor(dtype, [m.integer(1, 2), groups * a] + size, special=False),
              m.tensor(dtype, weight, special=False)]
    if m.coin():
        inputs.append(m.tensor(dtype, [groups * b], special=False))
    return inputs, attributes, 1


@makes("BatchNormalization")
def batch_normalization(m):
    shape = m.shape(2, 4, empty=False)
    dtype = m.dtype("T")
    inputs = [m.tensor(dtype, shape, special=False)]
    for index, variable in enumerate(port.type_str for port in m.schema.inputs[1:5]):
        inputs.append(m.tensor(m.dtype(variable), [shape[1]], 0.5 if index == 3 else -2, 2, special=False))
    attributes = {"epsilon": 0.01} if m.coin() else {}
    if m.has("training_mode") and m.coin(3):
        return inputs, attributes | {"training_mode": 1, "momentum": 0.5}, 3
    return inputs, attributes, 1


@makes("InstanceNormalization")
def instance_normalization(m):
    shape = m.shape(3, 4, empty=False)
    dtype = m.dtype()
    return [m.tensor(dtype, shape, special=False)] + [m.tensor(dtype, [shape[1]], special=False) for _ in "ab"], {}, 1


@makes("LayerNormalization", "RMSNormalization")
def row_normalization(m):
    shape = m.shape(1, 4, empty=False)
    axis = m.integer(-len(shape), -1)
    dtype = m.dtype(m.schema.inputs[0].type_str)
    inputs = [m.tensor(dtype, shape, special=False), m.tensor(dtype, shape[axis:], special=False)]
    if m.schema.name == "LayerNormalization" and m.coin():
        inputs.append(m.tensor(dtype, shape[axis:], special=False))
    return inputs, {"axis": axis}, 1


@makes("GroupNormalization")
def group_normalization(m):
    groups, each = m.integer(1, 3), m.integer(1, 2)
    dtype = m.dtype()
    return [m.tensor(dtype, [2, groups * each, 3], special=False),
            m.tensor(dtype, [groups * each], special=False),
            m.tensor(dtype, [groups * each], special=False)], {"num_groups": groups}, 1


@makes("LpNormalization", "MeanVarianceNormalization", "LRN", "Det")
def plain(m):
    name = m.schema.name
    if name == "Det":
        size = m.integer(1, 4)
        return [m.tensor(m.dtype(), m.shape(0, 1) + [size, size], special=False)], {}, 1
    shape = m.shape(4, 4, empty=False)
    attributes = {"LpNormalization": {"axis": m.axis(4), "p": m.integer(1, 2)}, "LRN": {"size": m.choice([1, 2, 3])},
                  "MeanVarianceNormalization": {}}[name]
    return [m.tensor(m.dtype(), shape, special=False)], attributes, 1


@makes("Dropout")
def dropout(m):
    return [m.tensor(m.dtype(m.schema.inputs[0].type_str), m.shape())], {}, m.integer(1, 2)


@makes("QuantizeLinear", "DequantizeLinear")
def quantize(m):
    shape = m.shape(2, 3, empty=False)
    axis = m.axis(len(shape))
    size = [shape[axis]] if m.has("axis") and m.coin() else []
    attributes = {"axis": axis} if m.has("axis") else {}
    names = [port.type_str for port in m.schema.inputs]
    x = m.dtype(names[0]) if names[0] in ("T1", "T") else np.float32
    scale = m.dtype(names[1]) if names[1].startswith("T") else np.float32
    zero = m.dtype(names[2])
    scales = np.asarray(m.dice.choice([0.25, 0.5, 2.0], size)).astype(scale)
    low, high = (0, 0) if zero == np.int32 else (-2, 3)
    return [m.tensor(x, shape, -30, 30, special=False), scales, m.tensor(zero, size, low, high, special=False)], attributes, 1


@makes("HannWindow", "HammingWindow", "BlackmanWindow")
def window_op(m):
    return [np.array(m.choice([1, 2, 5, 8]), dtype=m.dtype("T1"))], {"periodic": m.integer(0, 1)}, 1


@makes("GridSample")
def grid_sample(m):
    if m.version >= 20:
        mode = m.choice(["linear", "nearest", "cubic"])
    else:
        mode = m.choice(["bilinear", "nearest", "bicubic"])
    x = m.tensor(m.dtype("T1"), [1, m.integer(1, 2), m.integer(2, 5), m.integer(2, 5)], special=False)
    grid = m.tensor(m.dtype("T1") if m.version < 16 else m.dtype(m.schema.inputs[1].type_str), [1, 2, 3, 2], -1.3, 1.3,
                    special=False)
    return [x, grid], {"mode": mode, "padding_mode": m.choice(["zeros", "border", "reflection"]),
                       "align_corners": m.integer(0, 1)}, 1


@makes("Resize")
def resize(m):
    shape = [1, m.integer(1, 2), m.integer(2, 5), m.integer(2, 5)]
    mode = m.choice(["nearest", "linear", "cubic"])
    x = m.tensor(m.dtype("T1") if m.version >= 11 else m.dtype("T"), shape, special=False)
    scales = np.array([1, 1, m.choice([0.5, 1, 2, 3]), m.choice([0.5, 1, 2])], dtype=np.float32)
    if m.version < 11:
        return [x, scales], {"mode": m.choice(["nearest", "linear"])}, 1
    attributes = {"mode": mode, "coordinate_transformation_mode":
                  m.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])}
    if mode == "nearest":
        attributes["nearest_mode"] = m.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if m.coin():
        return [x, np.zeros(0, np.float32), scales], attributes, 1
    sizes = ints(1, shape[1], m.integer(1, 7), m.integer(1, 7))
    return [x, np.zeros(0, np.float32), np.zeros(0, np.float32), sizes], attributes, 1


@makes("RNN", "GRU", "LSTM")
def recurrent(m):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[m.schema.name]
    steps, batch, size, hidden = m.integer(1, 3), m.integer(1, 2), m.integer(1, 3), m.integer(1, 3)
    direction = m.choice(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    dtype = m.dtype()
    inputs = [m.tensor(dtype, [steps, batch, size], -1, 1, special=False),
              m.tensor(dtype, [ways, gates * hidden, size], -1, 1, special=False),
              m.tensor(dtype, [ways, gates * hidden, hidden], -1, 1, special=False)]
    if m.coin():
        inputs.append(m.tensor(dtype, [ways, 2 * gates * hidden], -1, 1, special=False))
    attributes = {"hidden_size": hidden, "direction": direction}
    if m.schema.name == "GRU":
        attributes["linear_before_reset"] = m.integer(0, 1)
    return inputs, attributes, 2 + (m.schema.name == "LSTM")


@makes("Attention")
def attention(m):
    batch, heads, q, k, size = m.integer(1, 2), m.integer(1, 2), m.integer(1, 3), m.integer(1, 3), m.integer(1, 3)
    q_type, v_type = m.dtype("T1"), m.dtype("T2")
    inputs = [m.tensor(q_type, [batch, heads, q, size], special=False),
              m.tensor(q_type, [batch, heads, k, size], special=False),
              m.tensor(v_type, [batch, heads, k, size], special=False)]
    attributes = {"is_causal": m.integer(0, 1), "qk_matmul_output_mode": m.integer(0, 3)}
    if m.coin():
        attributes["softcap"] = 2.0
    if m.coin():
        inputs.append(m.tensor(np.bool_ if m.coin() else q_type, [q, k], special=False))
    return inputs, attributes, m.choice([1, 4]) if len(inputs) == 3 else 1


@makes("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(m):
    n, c = m.integer(1, 3), m.integer(2, 4)
    shape = m.shape(0, 1, empty=False)
    inputs = [m.tensor(m.dtype("T"), [n, c] + shape, special=False),
              m.tensor(m.dtype("Tind"), [n] + shape, 0, c - 1, special=False)]
    if m.coin():
        inputs.append(m.tensor(m.dtype("T"), [c], 0.5, 2, special=False))
    attributes = {"reduction": m.choice(["none", "sum", "mean"])}
    if m.coin(3):
        attributes["ignore_index"] = m.integer(-1, c - 1)
    return inputs, attributes, 1


@makes("LabelEncoder", domain="ai.onnx.ml")
def label_encoder(m):
    count = m.integer(1, 5)
    keys = m.choice(["floats", "int64s"])
    values = m.choice(["floats", "int64s"])
    some = [0.0, -0.0, 1.0, float("nan"), 2.5, float("inf")]
    attributes = {"keys_" + keys: [m.choice(some) for _ in range(count)] if keys == "floats" else list(range(count))}
    if keys == "floats":  # of equal keys the references take different ones
        attributes["keys_floats"] = list({str(key).replace("-0.0", "0.0"): key for key in attributes["keys_floats"]}.values())
        count = len(attributes["keys_floats"])
    attributes["values_" + values] = [float(i) for i in range(count)] if values == "floats" else list(range(count))
    attributes["default_int64" if values == "int64s" else "default_float"] = -7 if values == "int64s" else -7.0
    x = np.array([m.choice(some) for _ in range(6)], np.float32) if keys == "floats" else m.tensor(np.int64, [6], 0, 6, False)
    return [x], attributes, 1


@makes("Binarizer", "Normalizer", "Scaler", domain="ai.onnx.ml")
def ml_feature(m):
    dtype = m.dtype("T")
    x = m.tensor(dtype, [m.integer(1, 3), 3], special=False)
    attributes = {"Binarizer": {"threshold": 0.5}, "Normalizer": {"norm": m.choice(["MAX", "L1", "L2"])},
                  "Scaler": {"scale": [2.0, 0.5, 1.0], "offset": [0.5, 0.0, 1.0]}}[m.schema.name]
    return [x], attributes, 1


def draw(dice):
    """A random case: op, version, domain, inputs, attributes, number of outputs."""
    keys = sorted(MAKERS)
    while True:
        domain, name = keys[int(dice.integers(len(keys)))]
        version = int(dice.integers(OLDEST, NEWEST + 1))
        try:
            schema = onnx.defs.get_schema(name, version if not domain else 3, domain)
        except onnx.defs.SchemaError:
            continue
        if not schema.deprecated:
            break
    inputs, attributes, outputs = MAKERS[(domain, name)](Maker(dice, schema))
    return name, version, domain, inputs, attributes, outputs
