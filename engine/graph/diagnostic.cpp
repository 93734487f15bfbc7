#include "graph/diagnostic.h"

#include "core/format.h"
#include "core/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace twb {
namespace {

std::string quoted(const std::string& text) { return '"' + text + '"'; }

/// Only moves and casts copy bytes; the other fixes only edit the graph.
bool hasPrice(const Fix& fix) { return fix.kind == Fix::Kind::insertTo || fix.kind == Fix::Kind::moveNode; }

std::string timeOf(const Price& price) { return formatMs(price.ns) + (price.modelled ? " modelled" : ""); }

} // namespace

std::string_view name(Severity severity) noexcept {
    switch (severity) {
    case Severity::note:
        return "note";
    case Severity::warning:
        return "warning";
    case Severity::error:
        return "error";
    }
    return {};
}

Diagnostic makeError(std::string code, NodeId node, int port, std::string message) {
    Diagnostic d;
    d.code = std::move(code);
    d.node = node;
    d.port = port;
    d.message = std::move(message);
    return d;
}

std::string toText(const Diagnostic& diagnostic) {
    using enum TextTable::Align;
    TextTable operands({left, left, left, left}, 2);
    for (const Operand& operand : diagnostic.operands)
        operands.add({operand.argument, quoted(operand.label), operand.device.toString(),
                      operand.origin.empty() ? "" : "<- " + operand.origin});

    TextTable fixes({left, left, right, left}, 2);
    for (std::size_t i = 0; i < diagnostic.fixes.size(); ++i) {
        const Fix& fix = diagnostic.fixes[i];
        std::vector<std::string> cells{fmt::format("fix {}", i + 1), fix.title};
        if (!hasPrice(fix)) {
            // The title is complete.
        } else if (!fix.price.isKnown) {
            cells.emplace_back("? B");
            cells.emplace_back("size known at run time");
        } else if (fix.price.bytes == 0) {
            cells.emplace_back("0 B");
            cells.emplace_back("no transfer in the iteration");
        } else {
            cells.push_back(formatExactBytes(fix.price.bytes));
            cells.push_back(timeOf(fix.price));
        }
        fixes.add(std::move(cells));
    }
    return printable(diagnostic.message) + '\n' + operands.toString() + fixes.toString();
}

} // namespace twb
