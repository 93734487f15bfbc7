#include "formats/pytorch/aten.h"

#include "formats/pytorch/aten_mapping.h"

#include <unordered_map>
#include <unordered_set>

namespace twb::aten {
namespace {

constexpr std::string_view kNamespace = "aten::";

struct RowTable {
    RowTable() {
        for (auto* add : {addPointwise, addShapes, addIndexing, addReductions, addLayers, addPooling,
                          addRecurrent, addSources, addLosses, addBackward, addLists})
            add(rows);
        for (const Row& row : rows) byName.emplace(row.name, &row);
    }
    Rows rows;
    std::unordered_map<std::string_view, const Row*> byName;
};

const RowTable& table() {
    static const RowTable rows;
    return rows;
}

} // namespace

const Row* findRow(std::string_view op) {
    if (op.starts_with(kNamespace)) op.remove_prefix(kNamespace.size());
    const auto& byName = table().byName;
    auto at = byName.find(op);
    // "add_" is "add" in place. "__and__" and the like are names of their own.
    if (at == byName.end() && op.ends_with('_') && !op.ends_with("__"))
        at = byName.find(op.substr(0, op.size() - 1));
    return at == byName.end() ? nullptr : at->second;
}

std::string_view shortName(std::string_view op) {
    const std::size_t colon = op.rfind(':');
    return colon == std::string_view::npos ? op : op.substr(colon + 1);
}

bool isPointwise(std::string_view op) {
    if (const Row* row = findRow(op)) return row->pointwise;
    // Ops of TensorIterator that the table does not map.
    static const std::unordered_set<std::string_view> others{
        "atan2",           "copysign",     "nextafter", "gcd",   "lcm",     "ldexp",      "logaddexp",
        "logaddexp2",      "xlogy",        "heaviside", "hypot", "igamma",  "igammac",    "polygamma",
        "special_xlog1py", "special_zeta", "fmin",      "fmax",  "isclose", "float_power"};
    if (op.starts_with(kNamespace)) op.remove_prefix(kNamespace.size());
    if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
    return others.contains(op);
}

} // namespace twb::aten
