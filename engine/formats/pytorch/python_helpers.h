#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace twb::pytorch {

/// A function of the exported module's own: what ONNX means where PyTorch has no function that means it.
struct PythonHelper {
    std::string_view name;
    std::string_view text;                    ///< its definition
    std::vector<std::string_view> calls = {}; ///< other helpers
};

/// All of them.
const std::vector<PythonHelper>& pythonHelpers();
/// Those that a module is written with, and those that these call, in the order of the table.
std::vector<const PythonHelper*> helpersFor(const std::set<std::string>& names);

// The tables, each in its file.
void addFileHelpers(std::vector<PythonHelper>& table);
void addArrayHelpers(std::vector<PythonHelper>& table);
void addLayerHelpers(std::vector<PythonHelper>& table);
void addSequenceHelpers(std::vector<PythonHelper>& table);

} // namespace twb::pytorch
