#pragma once

#include "graph/graph.h"

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace twb {

/// The lists of a project file. `none` is the document itself; routes are only in its layout.
enum class Section { none, plugins, lanes, frames, nodes, edges, notes, routes };
inline constexpr std::array<std::string_view, 8> kSectionNames{"",      "plugins", "lanes", "frames",
                                                               "nodes", "edges",   "notes", "routes"};

/// All keys of a document or a record.
enum class Field {
    // of the document
    format,
    version,
    title,
    description,
    policy,
    iterations,
    plugins,
    lanes,
    frames,
    nodes,
    edges,
    notes,
    layout,
    // of records
    id,
    device,
    order,
    parent,
    owner,
    body,
    color,
    collapsed,
    once,
    op,
    name,
    lane,
    frame,
    pinned,
    disabled,
    breakpoint,
    source,
    attributes,
    from,
    to,
    text,
    forward,
    loss,
    homepage,
    ops,
    module,
};
inline constexpr std::array<std::string_view, 39> kFieldNames{
    "format", "version", "title",   "description", "policy",     "iterations", "plugins",    "lanes",
    "frames", "nodes",   "edges",   "notes",       "layout",     "id",         "device",     "order",
    "parent", "owner",   "body",    "color",       "collapsed",  "once",       "op",         "name",
    "lane",   "frame",   "pinned",  "disabled",    "breakpoint", "source",     "attributes", "from",
    "to",     "text",    "forward", "loss",        "homepage",   "ops",        "module"};

/// A set of fields, as bits.
constexpr std::uint64_t bit(Field f) { return std::uint64_t{1} << static_cast<unsigned>(f); }

/// The fields with text values.
inline constexpr std::uint64_t kTexts = bit(Field::format) | bit(Field::title) | bit(Field::description) |
                                        bit(Field::policy) | bit(Field::device) | bit(Field::op) |
                                        bit(Field::name) | bit(Field::text) | bit(Field::color) |
                                        bit(Field::breakpoint) | bit(Field::source) | bit(Field::homepage) |
                                        bit(Field::body) | bit(Field::module);

/// The allowed and the required keys of a section's records.
struct Fields {
    std::uint64_t known = 0;
    std::uint64_t required = 0;
};
Fields fieldsOf(Section section);

/// A scalar value outside attributes. All members empty: null, which no field accepts.
struct Scalar {
    std::optional<std::int64_t> integer{};
    std::optional<double> number{};
    std::string* text = nullptr; ///< the content may be moved from
    std::optional<bool> flag{};
};

/// The requirement on a field's value, as the end of a sentence that starts with its place.
class WrongValue : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// These throw WrongValue.
std::int64_t integer(const Scalar& value, std::int64_t least, std::int64_t most);
double number(const Scalar& value, double least, double most);
void set(GraphInfo& info, Field field, const Scalar& value);
void set(NeededPlugin& plugin, Field field, const Scalar& value);
void set(Lane& lane, Field field, const Scalar& value);
void set(Frame& frame, Field field, const Scalar& value);
void set(Node& node, Field field, const Scalar& value);
void set(Note& note, Field field, const Scalar& value);

} // namespace twb
