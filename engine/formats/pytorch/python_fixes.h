#pragma once

#include "placement/analysis.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// A fix of a mismatch as a change of one line of the Python program.
struct PythonFix {
    NodeId node = NodeId::none; ///< of the mismatch
    SourceLine at;              ///< the line to change
    std::string
        advice; ///< "make scale a buffer: `self.register_buffer("scale", torch.ones(64))` at net.py:7"
    /// The line before and after, with its indentation. Empty if it is not simple enough to change safely.
    std::string before, after;
};

/// A line of a file, counted from 1, without its end; nothing if there is none.
using ReadLine = std::function<std::optional<std::string>(const std::string& file, int line)>;

/// One fix for each root mismatch of an imported program that has one; several mismatches may share it. A
/// tensor is created on the device of its consumer, an attribute that a module's .to() left behind becomes a
/// buffer, `.cpu()` is removed or inserted before `.numpy()`, and another tensor is moved at its assignment
/// if all its readers are on the device, else where it is read. In the order of the mismatches.
std::vector<PythonFix> pythonFixes(const Graph& graph, const Analysis& analysis, const ReadLine& readLine);

/// The fixes that change lines, as a unified diff that `patch -p0` applies. `name` gives the name of a file
/// in the diff. Two fixes of one line: the first one.
std::string toPatch(const std::vector<PythonFix>& fixes, const ReadLine& readLine,
                    const std::function<std::string(const std::string& file)>& name);

} // namespace twb
