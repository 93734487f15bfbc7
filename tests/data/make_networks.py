#!/usr/bin/env python3
"""Writes example networks with the node names of PyTorch's export and random weights (numpy's generator,
seed 0): resnet18.onnx (He et al. 2015), mobilenet_v2.onnx (Sandler et al. 2018), encoder.onnx (a transformer's).

    make_networks.py FOLDER [WIDTH]     WIDTH scales the channels: 1 is the paper's, 0.25 makes small files

Needs the packages numpy and onnx."""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, name, width):
        self.name, self.width = name, width
        self.nodes, self.weights = [], []
        self.random = numpy.random.default_rng(0)

    def channels(self, count):
        return max(8, int(count * self.width))

    def weight(self, name, shape, value=None):
        array = self.random.normal(0, 0.05, shape) if value is None else numpy.array(value)
        kind = numpy.float32 if value is None or array.dtype.kind == "f" else numpy.int64
        self.weights.append(numpy_helper.from_array(array.astype(kind).reshape(shape), name))
        return name

    def add(self, op, module, inputs, **attributes):
        """A node as torch.onnx names it: "/layer1/layer1.0/conv1/Conv"."""
        parts = module.split(".") if module else []
        path = ["/" + ".".join(parts[: i + 1]) if parts[i].isdigit() else "/" + parts[i] for i in range(len(parts))]
        base = "".join(path) + "/" + op
        name, count = base, 0
        while any(node.name == name for node in self.nodes):
            count += 1
            name = f"{base}_{count}"
        output = name + "_output_0"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def conv(self, module, x, ins, outs, kernel, stride=1, groups=1):
        w = self.weight(module + ".weight", (outs, ins // groups, kernel, kernel))
        b = self.weight(module + ".bias", (outs,))
        return self.add("Conv", module, [x, w, b], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[kernel // 2] * 4, group=groups)

    def linear(self, module, x, ins, outs):
        w = self.weight(module + ".weight", (outs, ins))
        return self.add("Gemm", module, [x, w, self.weight(module + ".bias", (outs,))], transB=1)

    def save(self, folder, shape, output):
        value = lambda n, s: helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
        graph = helper.make_graph(self.nodes, self.name, [value("input", shape)], [value(output, None)],
                                  self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(model, str(folder / (self.name + ".onnx")))


def resnet18(width):
    net = Network("resnet18", width)
    c = net.channels
    x = net.add("Relu", "relu", [net.conv("conv1", "input", 3, c(64), 7, 2)])
    x = net.add("MaxPool", "maxpool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    ins = c(64)
    for layer, outs in enumerate((c(64), c(128), c(256), c(512)), 1):
        for block in range(2):
            module = f"layer{layer}.{block}"
            stride = 2 if layer > 1 and block == 0 else 1
            y = net.add("Relu", module + ".relu", [net.conv(module + ".conv1", x, ins, outs, 3, stride)])
            y = net.conv(module + ".conv2", y, outs, outs, 3)
            short = net.conv(module + ".downsample.0", x, ins, outs, 1, stride) if stride > 1 else x
            x = net.add("Relu", module + ".relu", [net.add("Add", module, [y, short])])
            ins = outs
    x = net.add("Flatten", "", [net.add("GlobalAveragePool", "avgpool", [x])], axis=1)
    return net, net.linear("fc", x, ins, 1000)


def mobilenet_v2(width):
    net = Network("mobilenet_v2", width)
    c = net.channels

    def clip(module, x):
        low = net.weight(f"{module}.Constant_output_0", (), 0.0)
        high = net.weight(f"{module}.Constant_1_output_0", (), 6.0)
        return net.add("Clip", module, [x, low, high])

    x = clip("features.0.2", net.conv("features.0.0", "input", 3, c(32), 3, 2))
    ins, index = c(32), 1
    for expand, outs, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                          (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            module, hidden, step = f"features.{index}", ins * expand, stride if i == 0 else 1
            y, at = x, 0
            if expand > 1:
                y = clip(f"{module}.conv.0.1", net.conv(f"{module}.conv.0.0", y, ins, hidden, 1))
                at = 1
            y = clip(f"{module}.conv.{at}.1", net.conv(f"{module}.conv.{at}.0", y, hidden, hidden, 3, step, hidden))
            y = net.conv(f"{module}.conv.{at + 1}", y, hidden, c(outs), 1)
            x = net.add("Add", module, [x, y]) if step == 1 and ins == c(outs) else y
            ins, index = c(outs), index + 1
    x = clip("features.18.1", net.conv("features.18.0", x, ins, c(1280), 1))
    x = net.add("Flatten", "", [net.add("GlobalAveragePool", "", [x])], axis=1)
    return net, net.linear("classifier.1", x, c(1280), 1000)


def encoder(width):
    """Six layers with two heads each; f32, 64 tokens."""
    net = Network("encoder", width)
    size = net.channels(256)

    def dense(module, x, ins, outs):
        y = net.add("MatMul", module, [x, net.weight(module + ".weight", (ins, outs))])
        return net.add("Add", module, [net.weight(module + ".bias", (outs,)), y])

    x = "input"
    for layer in range(6):
        module = f"encoder.layers.{layer}"
        heads = []
        for head in range(2):
            at = f"{module}.self_attn.{head}"
            q, k, v = (dense(f"{at}.{name}", x, size, size // 2) for name in ("query", "key", "value"))
            scores = net.add("MatMul", at, [q, net.add("Transpose", at, [k], perm=[1, 0])])
            scale = net.weight(at + ".scale", (), float(size // 2) ** 0.5)
            weights = net.add("Softmax", at, [net.add("Div", at, [scores, scale])], axis=-1)
            heads.append(net.add("MatMul", at, [weights, v]))
        joined = net.add("Concat", module + ".self_attn", heads, axis=1)
        x = net.add("Add", module, [x, dense(module + ".self_attn.out_proj", joined, size, size)])
        y = net.add("Relu", module + ".activation", [dense(module + ".linear1", x, size, 4 * size)])
        x = net.add("Add", module, [x, dense(module + ".linear2", y, 4 * size, size)])
    return net, dense("head", x, size, 10)


def main():
    folder = pathlib.Path(sys.argv[1])
    width = float(sys.argv[2]) if len(sys.argv) > 2 else 1
    for make, shape in ((resnet18, [1, 3, 224, 224]), (mobilenet_v2, [1, 3, 224, 224]), (encoder, None)):
        net, output = make(width)
        net.save(folder, shape or [64, net.channels(256)], output)


main()
