#pragma once

#include "formats/pytorch/python_fixes.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace twb {

/// The lines of the Python files that a graph names, read when they are first needed. A file that cannot be
/// read, is larger than 16 MB, or differs from the captured lines has no lines.
class PythonSource {
public:
    /// `capture` is the file that the graph was imported from. If it is not a capture, the lines of the
    /// Python files are not compared.
    explicit PythonSource(std::string capture);

    ReadLine reader();
    /// Files that differ from the captured lines.
    const std::set<std::string>& changed() const noexcept { return m_changed; }

private:
    const std::vector<std::string>& linesOf(const std::string& file);

    std::string m_capture; ///< read when it is first needed; then empty
    std::map<std::string, std::map<int, std::string>> m_captured; ///< by file and line, without spaces around
    std::map<std::string, std::vector<std::string>> m_lines;
    std::set<std::string> m_changed;
};

} // namespace twb
