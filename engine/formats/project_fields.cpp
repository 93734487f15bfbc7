#include "formats/project_fields.h"

#include "formats/project_parts.h"

#include <fmt/format.h>

#include <limits>

namespace twb {
namespace {

/// A string of the file, shortened for a message.
std::string quoted(const std::string& text) {
    constexpr std::size_t kLongest = 60;
    return text.size() > kLongest ? '"' + text.substr(0, kLongest) + "…\"" : '"' + text + '"';
}

[[noreturn]] void wrong(const std::string& what) { throw WrongValue(what); }

std::string& text(const Scalar& value) {
    if (!value.text) wrong("must be a string");
    return *value.text;
}
bool flag(const Scalar& value) {
    if (!value.flag) wrong("must be true or false");
    return *value.flag;
}
template <class Id> Id id(const Scalar& value, std::int64_t least = 1) {
    return Id(static_cast<std::uint64_t>(integer(value, least, static_cast<std::int64_t>(kLargestId))));
}

} // namespace

Fields fieldsOf(Section section) {
    using enum Field;
    switch (section) {
    case Section::plugins:
        return {bit(name) | bit(version) | bit(homepage) | bit(ops), bit(name) | bit(ops)};
    case Section::lanes:
        return {bit(id) | bit(device) | bit(title) | bit(order) | bit(collapsed), bit(id) | bit(device)};
    case Section::frames:
        return {bit(id) | bit(title) | bit(parent) | bit(owner) | bit(body) | bit(color) | bit(collapsed) |
                    bit(once) | bit(loss) | bit(module),
                bit(id)};
    case Section::nodes:
        return {bit(id) | bit(op) | bit(name) | bit(lane) | bit(frame) | bit(pinned) | bit(disabled) |
                    bit(breakpoint) | bit(source) | bit(attributes) | bit(forward),
                bit(id) | bit(op) | bit(name) | bit(lane)};
    case Section::edges:
        return {bit(from) | bit(to), bit(from) | bit(to)};
    case Section::notes:
        return {bit(id) | bit(lane) | bit(text), bit(id) | bit(lane) | bit(text)};
    case Section::none:
    case Section::routes:
        break;
    }
    return {(bit(layout) << 1) - 1, bit(format) | bit(version)};
}

std::int64_t integer(const Scalar& value, std::int64_t least, std::int64_t most) {
    if (!value.integer)
        wrong(fmt::format("must be an integer from {} to {}{}", least, most,
                          value.number ? fmt::format(", but is {}", *value.number)
                          : value.text ? ", but is a string"
                                       : ""));
    if (*value.integer < least || *value.integer > most)
        wrong(fmt::format("is {}; it must lie between {} and {}", *value.integer, least, most));
    return *value.integer;
}
double number(const Scalar& value, double least, double most) {
    if (!value.number) wrong("must be a number");
    if (!(*value.number >= least && *value.number <= most))
        wrong(fmt::format("is {}; it must lie between {} and {}", *value.number, least, most));
    return *value.number;
}
void set(GraphInfo& info, Field field, const Scalar& value) {
    switch (field) {
    case Field::format: // parsed by the first pass
    case Field::version:
        break;
    case Field::title:
        info.title = std::move(text(value));
        break;
    case Field::description:
        info.description = std::move(text(value));
        break;
    case Field::policy: {
        const auto policy = Policy::parse(text(value));
        if (!policy)
            wrong(R"(must be "strict", "implicit" or "guard:h2d=allow,d2h=log,d2d=disallow", but is )" +
                  quoted(*value.text));
        info.policy = *policy;
        break;
    }
    case Field::iterations:
        info.iterations = integer(value, 1, std::numeric_limits<std::int64_t>::max());
        break;
    case Field::layout:
        wrong("must be an object");
    default:
        wrong("must be a list");
    }
}

void set(NeededPlugin& plugin, Field field, const Scalar& value) {
    switch (field) {
    case Field::name:
        plugin.name = std::move(text(value));
        break;
    case Field::version:
        plugin.version = std::move(text(value));
        break;
    case Field::homepage:
        plugin.homepage = std::move(text(value));
        break;
    default:
        wrong("must be a list of strings");
    }
}

void set(Lane& lane, Field field, const Scalar& value) {
    switch (field) {
    case Field::id:
        lane.id = id<LaneId>(value);
        break;
    case Field::title:
        lane.title = std::move(text(value));
        break;
    case Field::order:
        lane.order = static_cast<int>(
            integer(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
        break;
    case Field::collapsed:
        lane.collapsed = flag(value);
        break;
    default: {
        const auto device = Device::parse(text(value));
        if (!device)
            wrong(R"(must be a device, "cpu", "cuda:0" to "cuda:63", "rank1/cuda:0" or "auto", but is )" +
                  quoted(*value.text));
        lane.device = *device;
    }
    }
}

void set(Frame& frame, Field field, const Scalar& value) {
    switch (field) {
    case Field::id:
        frame.id = id<FrameId>(value);
        break;
    case Field::title:
        frame.title = std::move(text(value));
        break;
    case Field::owner:
        frame.owner = id<NodeId>(value);
        break;
    case Field::body:
    case Field::module: // of a frame without an owner
        frame.body = std::move(text(value));
        break;
    case Field::collapsed:
        frame.collapsed = flag(value);
        break;
    case Field::once:
        frame.once = flag(value);
        break;
    case Field::loss:
        frame.loss = id<NodeId>(value);
        break;
    case Field::color: {
        const auto color = parseFrameColor(text(value));
        if (!color)
            wrong("must be blue, teal, green, yellow, orange, pink or purple, but is " + quoted(*value.text));
        frame.color = *color;
        break;
    }
    default:
        frame.parent = id<FrameId>(value);
        break;
    }
}

void set(Node& node, Field field, const Scalar& value) {
    switch (field) {
    case Field::id:
        node.id = id<NodeId>(value);
        break;
    case Field::op:
        node.op = std::move(text(value));
        if (node.op.empty()) wrong("must not be empty");
        break;
    case Field::name:
        node.name = std::move(text(value));
        break;
    case Field::lane:
        node.lane = id<LaneId>(value);
        break;
    case Field::frame:
        node.frame = id<FrameId>(value);
        break;
    case Field::pinned:
        node.pinned = flag(value);
        break;
    case Field::disabled:
        node.disabled = flag(value);
        break;
    case Field::forward:
        node.forward = id<NodeId>(value);
        break;
    case Field::breakpoint:
        if (std::optional<Breakpoints> breakpoints = parseBreakpoints(text(value)))
            node.breakpoints = std::move(*breakpoints);
        else
            wrong("must be before, after, \"nan or inf\" or a condition such as \"max > 3\" or "
                  "\"input max > 3\", or several with \"; \" between them, but is " +
                  quoted(*value.text));
        break;
    case Field::source:
        node.source = parseSourceLine(text(value));
        if (!node.source)
            wrong("must be a file and a line such as \"net.py:11 in forward\", but is " +
                  quoted(*value.text));
        break;
    default:
        wrong("must be an object");
    }
}

void set(Note& note, Field field, const Scalar& value) {
    switch (field) {
    case Field::id:
        note.id = id<NoteId>(value);
        break;
    case Field::lane:
        note.lane = id<LaneId>(value);
        break;
    default:
        note.text = std::move(text(value));
        break;
    }
}

} // namespace twb
