"""Random models for differential.py: graphs of 5 to 30 ops, and one If, Loop or Scan with a random body."""

import numpy as np
from onnx import TensorProto, helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Builder:
    """Builds the nodes of one graph and tracks the shape of each value; all values are f32."""

    def __init__(self, dice, prefix=""):
        self.dice, self.prefix = dice, prefix
        self.nodes, self.initializers, self.values = [], [], {}

    def integer(self, low, high):
        return int(self.dice.integers(low, high + 1))

    def choice(self, values):
        return values[self.integer(0, len(values) - 1)]

    def fresh(self, stem="v"):
        return f"{self.prefix}{stem}{len(self.nodes) + len(self.initializers)}"

    def constant(self, array):
        name = self.fresh("c")
        array = np.asarray(array)
        self.initializers.append(helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape,
                                                    array.flatten().tolist()))
        return name

    def node(self, op, inputs, shape, **attributes):
        name = self.fresh()
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{self.prefix}n{len(self.nodes)}", **attributes))
        self.values[name] = list(shape)
        return name

    def pick(self):
        return self.choice(list(self.values))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))


def unary(b):
    x = b.pick()
    op = b.choice(["Tanh", "Sigmoid", "Neg", "Abs", "Relu", "Sin", "Softsign", "Identity", "HardSwish"])
    return b.node(op, [x], b.values[x])


def binary(b):
    x = b.pick()
    shape = b.values[x]
    others = [name for name, other in b.values.items() if other == shape or other == [] or
              (len(other) <= len(shape) and all(p in (1, q) for p, q in zip(other[::-1], shape[::-1])))]
    return b.node(b.choice(["Add", "Sub", "Mul", "Max", "Min"]), [x, b.choice(others)], shape)


def matmul(b):
    x = b.pick()
    shape = b.values[x]
    if len(shape) < 2:
        return unary(b)
    wide = b.integer(1, 4)
    w = b.constant(b.dice.uniform(-1, 1, [shape[-1], wide]).astype(np.float32))
    return b.node("MatMul", [x, w], shape[:-1] + [wide])


def reduce(b):
    x = b.pick()
    shape = b.values[x]
    if not shape or 0 in shape:
        return unary(b)
    axis, keep = b.integer(0, len(shape) - 1), b.integer(0, 1)
    rest = shape[:axis] + [1] * keep + shape[axis + 1:]
    op = b.choice(["ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin", "ReduceL2"])
    return b.node(op, [x, b.ints(axis)], rest, keepdims=keep)


def move(b):
    x = b.pick()
    shape = b.values[x]
    how = b.choice(["Transpose", "Reshape", "Unsqueeze", "Flatten"])
    if how == "Transpose" and shape:
        order = [int(i) for i in b.dice.permutation(len(shape))]
        return b.node(how, [x], [shape[i] for i in order], perm=order)
    if how == "Unsqueeze" and len(shape) < 5:
        axis = b.integer(0, len(shape))
        return b.node(how, [x, b.ints(axis)], shape[:axis] + [1] + shape[axis:])
    if how == "Flatten":
        axis = b.integer(0, len(shape))
        return b.node(how, [x], [int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))], axis=axis)
    return b.node("Reshape", [x, b.ints(int(np.prod(shape)))], [int(np.prod(shape))], allowzero=1)


def cut(b):
    x = b.pick()
    shape = b.values[x]
    if not shape:
        return unary(b)
    axis = b.integer(0, len(shape) - 1)
    begin, end, step = b.integer(0, shape[axis]), b.integer(0, shape[axis] + 1), b.choice([1, 1, 2])
    size = len(range(shape[axis])[begin:end:step])
    if size == 0 and b.integer(0, 3):
        return unary(b)
    return b.node("Slice", [x, b.ints(begin), b.ints(end), b.ints(axis), b.ints(step)],
                  shape[:axis] + [size] + shape[axis + 1:])


def join(b):
    x = b.pick()
    shape = b.values[x]
    if not shape:
        return unary(b)
    axis = b.integer(0, len(shape) - 1)
    same = [name for name, other in b.values.items() if len(other) == len(shape) and
            other[:axis] + other[axis + 1:] == shape[:axis] + shape[axis + 1:]]
    y = b.choice(same)
    total = shape[axis] + b.values[y][axis]
    return b.node("Concat", [x, y], shape[:axis] + [total] + shape[axis + 1:], axis=axis)


def rows(b):
    x = b.pick()
    shape = b.values[x]
    if not shape or shape[-1] == 0:
        return unary(b)
    if b.integer(0, 1):
        return b.node(b.choice(["Softmax", "LogSoftmax"]), [x], shape, axis=-1)
    indices = [b.integer(-shape[-1], shape[-1] - 1) for _ in range(b.integer(1, 3))]
    return b.node("Gather", [x, b.ints(*indices)], shape[:-1] + [len(indices)], axis=len(shape) - 1)


def where(b):
    x = b.pick()
    name = b.fresh("m")
    zero = b.constant(np.float32(0))
    b.nodes.append(helper.make_node("Greater", [x, zero], [name]))
    return b.node("Where", [name, x, zero], b.values[x])


STEPS = [unary, unary, binary, binary, matmul, reduce, move, cut, join, rows, where]


def info(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def random_graph(dice):
    """A graph and its inputs. Values that no node reads are its outputs."""
    b = Builder(dice)
    inputs = {}
    for i in range(b.integer(1, 3)):
        shape = [b.integer(1, 4) for _ in range(b.integer(0, 4))]
        inputs[f"x{i}"] = dice.uniform(-2, 2, shape).astype(np.float32)
        b.values[f"x{i}"] = shape
    for _ in range(b.integer(5, 30)):
        b.choice(STEPS)(b)
    used = {name for node in b.nodes for name in node.input}
    outputs = [name for name in b.values if name not in used and name not in inputs]
    graph = helper.make_graph(b.nodes, "g", [info(name, list(x.shape)) for name, x in inputs.items()],
                              [info(name, None) for name in outputs], b.initializers)
    return graph, inputs


def inside(b, starts, outer, steps):
    """Adds elementwise ops on values of one shape; returns the last value of each of `steps` chains."""
    ends = []
    for _ in range(steps):
        value = b.choice(starts)
        for _ in range(b.integer(1, 4)):
            if b.integer(0, 2):
                other = b.choice(starts + outer + ends)
                value = b.node(b.choice(["Add", "Sub", "Mul", "Max"]), [value, other], [])
            else:
                value = b.node(b.choice(["Tanh", "Identity", "Neg", "Sigmoid", "Abs"]), [value], [])
        ends.append(value)
    return ends


def random_body(dice):
    """A graph of one If, Loop or Scan, and its inputs."""
    b = Builder(dice)
    kind = b.choice(["If", "Loop", "Loop", "Scan", "Scan"])
    declared = b.integer(0, 1)
    size = b.integer(1, 3)
    shape = [size] if declared else None
    body = Builder(dice, "b_")
    inputs = {"outer": dice.uniform(-1, 1, [size]).astype(np.float32)}
    outer = ["outer"]
    states = [f"s{i}" for i in range(b.integer(1, 2))]
    for name in states:
        inputs[name] = dice.uniform(-1, 1, [size]).astype(np.float32)
    attributes, taken = {}, []
    if kind == "If":
        inputs["cond"] = np.array(bool(b.integer(0, 1)))
        other = Builder(dice, "e_")
        count = b.integer(1, 2)
        for builder, name in ((body, "then_branch"), (other, "else_branch")):
            ends = inside(builder, states, outer, count)
            attributes[name] = helper.make_graph(builder.nodes, name, [], [info(end, shape) for end in ends])
        taken, outputs = ["cond"], count
    else:
        inner = [f"b_in{i}" for i in range(len(states))]
        body_inputs = [info(name, shape) for name in inner]
        starts, scanned, results = list(inner), b.integer(0, 2), []
        if kind == "Loop":
            body_inputs = [info("b_i", [], INT64), info("b_cond", [], BOOL)] + body_inputs
            trips = b.integer(0, 4)
            if b.integer(0, 1):
                inputs["M"] = np.array(trips, np.int64)
                taken = ["M", ""]
            else:
                taken = [b.constant(np.int64(trips)), ""]
            if b.integer(0, 2) == 0:
                body.nodes.append(helper.make_node("Cast", ["b_i"], ["b_f"], to=FLOAT))
                outer = outer + ["b_f"]
        else:
            sequences, length = b.integer(1, 3), b.integer(1, 4)
            attributes["num_scan_inputs"] = sequences
            directions = []
            for i in range(sequences):
                inputs[f"q{i}"] = dice.uniform(-1, 1, [length, size]).astype(np.float32)
                body_inputs.append(info(f"b_q{i}", shape))
                starts.append(f"b_q{i}")
                directions.append(b.integer(0, 1))
            attributes["scan_input_directions"] = directions
            if scanned:
                attributes["scan_output_directions"] = [b.integer(0, 1) for _ in range(scanned)]
        grows = kind == "Loop" and not declared and b.integer(0, 2) == 0
        carried = inside(body, starts, outer, len(states))
        results = inside(body, starts + carried, outer, scanned)
        if grows and not scanned:  # a state whose size changes, which nothing else in the body meets
            body.nodes.append(helper.make_node("Concat", [inner[-1], "outer"], ["b_grown"], axis=0))
            carried[-1] = "b_grown"
            if any(inner[-1] in node.input for node in body.nodes[:-1]):
                carried[-1] = inner[-1]
        body_outputs = [info(name, shape) for name in carried + results]
        names = [value.name for value in body_outputs]
        for i, name in enumerate(names):  # each output of a body is a value of its own
            fresh = f"b_out{i}"
            body.nodes.append(helper.make_node("Identity", [name], [fresh]))
            body_outputs[i].name = fresh
        if kind == "Loop":
            body.nodes.append(helper.make_node("Identity", ["b_cond"], ["b_on"]))
            body_outputs.insert(0, info("b_on", [], BOOL))
            if taken[1] == "":
                inputs["cond"] = np.array(True)
                taken[1] = "cond"
        attributes["body"] = helper.make_graph(body.nodes, "body", body_inputs, body_outputs, body.initializers)
        taken += states + ([f"q{i}" for i in range(sequences)] if kind == "Scan" else [])
        outputs = len(states) + scanned
    names = [f"y{i}" for i in range(outputs)]
    b.nodes.append(helper.make_node(kind, taken, names, name="control", **attributes))
    kinds = {"cond": BOOL, "M": INT64}
    graph = helper.make_graph(b.nodes, "g", [info(name, list(x.shape), kinds.get(name, FLOAT))
                                             for name, x in inputs.items()],
                              [info(name, None) for name in names], b.initializers)
    return graph, inputs, f"{kind} {'declared' if declared else 'undeclared'}"
