#include "core/text_table.h"

#include "core/format.h"

#include <algorithm>
#include <stdexcept>

namespace twb {

TextTable::TextTable(std::vector<Align> columns, int indent)
    : m_columns(std::move(columns)), m_indent(indent) {}

void TextTable::add(std::vector<std::string> cells) {
    if (cells.size() > m_columns.size())
        throw std::out_of_range("a row has more cells than the table has columns");
    cells.resize(m_columns.size());
    for (std::string& cell : cells) cell = printable(cell);
    m_rows.push_back(std::move(cells));
}

void TextTable::addRule() { m_rows.emplace_back(); }

std::string TextTable::toString() const {
    std::vector<int> widths(m_columns.size());
    for (const auto& row : m_rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], displayWidth(row[i]));

    std::string out;
    for (const auto& row : m_rows) {
        std::string line(static_cast<std::size_t>(m_indent), ' ');
        for (std::size_t i = 0; i < m_columns.size(); ++i) {
            if (i > 0 && widths[i] > 0) line += "  ";
            if (row.empty()) {
                for (int n = 0; n < widths[i]; ++n) line += "─";
                continue;
            }
            const std::string padding(static_cast<std::size_t>(widths[i] - displayWidth(row[i])), ' ');
            line += m_columns[i] == Align::right ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

} // namespace twb
