#pragma once

#include <string>
#include <vector>

namespace twb {

/// A table for a terminal, with padded columns. Cells are made printable().
class TextTable {
public:
    enum class Align { left, right };

    /// One alignment per column; `indent` spaces before each line, two between columns.
    explicit TextTable(std::vector<Align> columns, int indent = 0);

    /// Missing cells are empty. Throws std::out_of_range for more cells than columns.
    void add(std::vector<std::string> cells);
    /// Adds a line below the last row.
    void addRule();
    bool empty() const noexcept { return m_rows.empty(); }
    /// Every line ends in a newline and has no trailing spaces.
    std::string toString() const;

private:
    std::vector<Align> m_columns;
    int m_indent;
    std::vector<std::vector<std::string>> m_rows; ///< an empty row is a rule
};

} // namespace twb
