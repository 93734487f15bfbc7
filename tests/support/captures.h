#pragma once

#include <fmt/format.h>

#include <string>

namespace twb::test {

inline std::string captureHeader() {
    return R"({"format":"tensor-workbench-capture","version":1,"torch":"2.9.0","gpus":1,"fake":false,"script":"/src/train.py","arguments":[]})"
           "\n";
}

/// A capture of a training loop: a weight is made on the CPU and moved; each step copies its rows of the
/// data, multiplies, reads the sum with item(), and the optimizer writes the weight in place, with a factor
/// of its own. The step `odd` has one op more.
inline std::string loopCapture(int steps, int odd = -1) {
    std::string out = captureHeader();
    const auto line = [&](const std::string& text) { out += text + '\n'; };
    for (int at = 1; at <= 8; ++at)
        line(fmt::format(
            R"({{"kind":"location","id":{},"file":"/src/train.py","line":{},"function":"<module>","text":"tensor_{} = x"}})",
            at, at * 10, at));
    line(R"({"kind":"module","id":1,"path":"Net","class":"Net"})");
    int ops = 0;
    int tensors = 0;
    const auto result = [&](int storage, const char* shape, const char* device, int overwrites = 0) {
        return fmt::format(R"({{"id":{},"storage":{},"shape":{},"dtype":"float32","device":"{}"{}}})",
                           ++tensors, storage, shape, device,
                           overwrites ? fmt::format(R"(,"overwrites":{})", overwrites) : "");
    };
    const auto op = [&](const char* name, const std::string& in, const std::string& results,
                        const char* device, int location, const char* phase, int step,
                        const std::string& rest = {}) {
        line(fmt::format(
            R"({{"kind":"op","id":{},"op":"{}","in":[{}],"out":[{}],"device":"{}","location":{},"phase":"{}","step":{}{}}})",
            ++ops, name, in, results, device, location, phase, step, rest));
        return tensors;
    };
    const auto operand = [](const char* name, int id) {
        return fmt::format(R"({{"arg":"{}","id":{}}})", name, id);
    };
    const auto transfer = [&](const char* from, const char* to, int bytes, const char* cause, int location,
                              int step) {
        line(fmt::format(
            R"({{"kind":"transfer","from":"{}","to":"{}","bytes":{},"cause":"{}","pinned":false,"non_blocking":false,"blocking":true,"op":{},"location":{},"phase":"forward","step":{}}})",
            from, to, bytes, cause, ops, location, step));
    };
    const int host = op("aten::zeros", "", result(1, "[4,2]", "cpu"), "cpu", 1, "forward", 0,
                        R"(,"attributes":{"size":[4,2]})");
    int weight =
        op("aten::_to_copy", operand("self", host), result(2, "[4,2]", "cuda:0"), "cuda:0", 2, "forward", 0);
    transfer("cpu", "cuda:0", 32, "to", 2, 0);
    line(fmt::format(
        R"({{"kind":"parameter","tensor":{},"storage":2,"module":1,"name":"weight","buffer":false,"requires_grad":true}})",
        weight));
    const int data = op("aten::zeros", "", result(3, fmt::format("[{},4]", 2 * steps).c_str(), "cpu"), "cpu",
                        1, "forward", 0, fmt::format(R"(,"attributes":{{"size":[{},4]}})", 2 * steps));
    int grad = op("aten::zeros", "", result(4, "[4,2]", "cuda:0"), "cuda:0", 1, "forward", 0,
                  R"(,"attributes":{"size":[4,2]})");
    line(fmt::format(
        R"({{"kind":"tensor","id":{},"storage":5,"shape":[],"dtype":"float32","device":"cpu","location":8}})",
        tensors + 1));
    int count = ++tensors;
    int storage = 5;
    int sum = 0;
    for (int step = 0; step <= steps; ++step) {
        if (step > 0) { // after the optimizer, so in the next step of the capture
            op("aten::_local_scalar_dense", operand("self", sum), "", "cuda:0", 7, "forward", step);
            transfer("cuda:0", "cpu", 4, "item()", 7, step);
            line(fmt::format(
                R"x({{"kind":"sync","cause":"item()","op":{},"location":7,"phase":"forward","step":{}}})x",
                ops, step));
        }
        if (step == steps) break;
        int x = op("aten::slice", operand("self", data), result(3, "[2,4]", "cpu"), "cpu", 3, "forward", step,
                   fmt::format(R"(,"attributes":{{"dim":0,"start":{},"end":{}}})", 2 * step, 2 * step + 2));
        x = op("aten::_to_copy", operand("self", x), result(++storage, "[2,4]", "cuda:0"), "cuda:0", 3,
               "forward", step);
        transfer("cpu", "cuda:0", 32, "to", 3, step);
        int y = op("aten::mm", operand("self", x) + ',' + operand("mat2", weight),
                   result(++storage, "[2,2]", "cuda:0"), "cuda:0", 4, "forward", step, R"(,"module":1)");
        if (step == odd)
            y = op("aten::relu", operand("self", y), result(++storage, "[2,2]", "cuda:0"), "cuda:0", 5,
                   "forward", step);
        sum = op("aten::sum", operand("self", y), result(++storage, "[]", "cuda:0"), "cuda:0", 5, "forward",
                 step);
        grad = op("aten::zero_", operand("self", grad), result(4, "[4,2]", "cuda:0", grad), "cuda:0", 6,
                  "forward", step);
        grad = op("aten::add_", operand("self", grad) + ',' + operand("other", sum),
                  result(4, "[4,2]", "cuda:0", grad), "cuda:0", 6, "backward", step);
        count = op("aten::add_", operand("self", count), result(5, "[]", "cpu", count), "cpu", 6, "optimizer",
                   step, R"(,"attributes":{"other":1})");
        int change = op("aten::mul", operand("self", weight) + ',' + operand("other", sum),
                        result(++storage, "[4,2]", "cuda:0"), "cuda:0", 6, "optimizer", step);
        change = op("aten::mul", operand("self", change), result(++storage, "[4,2]", "cuda:0"), "cuda:0", 6,
                    "optimizer", step, fmt::format(R"(,"attributes":{{"other":{}}})", step + 1));
        weight = op("aten::sub_", operand("self", weight) + ',' + operand("other", change),
                    result(2, "[4,2]", "cuda:0", weight), "cuda:0", 6, "optimizer", step);
    }
    op("aten::sum", operand("self", weight), result(++storage, "[]", "cuda:0"), "cuda:0", 8, "forward",
       steps);
    line(fmt::format(
        R"({{"kind":"end","status":"finished","ops":{},"steps":{},"mismatches":0,"transfers":0,"syncs":0}})",
        ops, steps));
    return out;
}

} // namespace twb::test
