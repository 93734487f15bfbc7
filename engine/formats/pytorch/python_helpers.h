#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace twb::pytorch {

/// A function or constant of helpers.py, which exported modules contain: ONNX's semantics for ops without an
/// equivalent function in PyTorch.
struct PythonHelper {
    std::string_view name;
    std::string_view text;               ///< its definition
    std::vector<std::string_view> calls; ///< other helpers that the definition uses
};

/// All of them, in the order of helpers.py.
const std::vector<PythonHelper>& pythonHelpers();
/// The named helpers and those that they use, in the order of helpers.py.
std::vector<const PythonHelper*> helpersFor(const std::set<std::string>& names);

} // namespace twb::pytorch
