#include "core/error.h"
#include "formats/attribute_reader.h"
#include "formats/project.h"
#include "formats/project_fields.h"
#include "formats/project_head.h"
#include "formats/project_parts.h"
#include "formats/project_places.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <type_traits>

namespace twb {
namespace {

using nlohmann::json;

constexpr std::size_t kMostAttributes = 1000;

/// Fills records from nlohmann's events without a document tree, so that 100,000 nodes cost little more than
/// reading their text. Throws at the first error.
class PartsReader {
public:
    PartsReader(std::string_view text, const std::string& origin, const IsCancelled& isCancelled)
        : m_text(text), m_origin(origin), m_isCancelled(isCancelled) {}

    ProjectParts take() {
        m_places.give(m_parts);
        return std::move(m_parts);
    }

    bool null() { return inAttributes() ? attribute(m_attribute.null()) : scalar({}); }
    bool boolean(bool b) { return inAttributes() ? attribute(m_attribute.boolean(b)) : scalar({.flag = b}); }
    bool number_integer(std::int64_t i) {
        if (inAttributes()) return attribute(m_attribute.integer(i));
        return scalar({i, static_cast<double>(i), nullptr});
    }
    bool number_unsigned(std::uint64_t i) {
        if (inAttributes()) return attribute(m_attribute.unsignedInteger(i));
        constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (i > kMost) return scalar({{}, static_cast<double>(i), nullptr});
        return number_integer(static_cast<std::int64_t>(i));
    }
    bool number_float(double d, const std::string& literal) {
        return inAttributes() ? attribute(m_attribute.number(d, literal)) : scalar({{}, d, nullptr});
    }
    bool string(std::string& s) {
        return inAttributes() ? attribute(m_attribute.text(s)) : scalar({{}, {}, &s});
    }
    bool binary(const json::binary_t&) { return false; }

    bool start_object(std::size_t) {
        if (inAttributes()) return openInAttribute('{');
        switch (m_in) {
        case In::start:
            m_in = In::document;
            return true;
        case In::document:
            if (m_field != Field::layout) refuseKind("an object");
            m_in = In::layout;
            return true;
        case In::list:
            beginRecord();
            return true;
        case In::record:
            if (m_field != Field::attributes) refuseKind("an object");
            m_in = In::attributes;
            return true;
        case In::layout:
            m_in = In::layoutItems;
            return true;
        default:
            refuseKind("an object");
        }
    }

    bool start_array(std::size_t) {
        if (inAttributes()) return openInAttribute('[');
        m_numbers = 0;
        m_isFolded = false;
        m_list = {};
        switch (m_in) {
        case In::document:
            if (m_field < Field::plugins || m_field > Field::notes) refuseKind("a list");
            m_section =
                static_cast<Section>(static_cast<int>(m_field) - static_cast<int>(Field::plugins) + 1);
            m_in = In::list;
            m_index = 0;
            return true;
        case In::record:
            if (m_field == Field::ops) {
                m_in = In::texts;
                return true;
            }
            if (m_field != Field::from && m_field != Field::to) refuseKind("a list");
            m_in = In::port;
            return true;
        case In::layoutItems:
            if (m_section == Section::lanes) refuseKind("a list");
            m_in = m_section == Section::routes ? In::layoutDots : In::layoutNumbers;
            return true;
        case In::layoutDots:
            if (m_parts.routes.back().dots.size() >= kMostDots)
                refuse(fmt::format(
                    "has more than {} dots (bends), the most that a wire may have; remove some", kMostDots));
            m_parts.routes.back().dots.emplace_back();
            m_in = In::dotNumbers;
            return true;
        default:
            refuseKind("a list");
        }
    }

    bool key(std::string& key) {
        throwIfCancelled(m_isCancelled);
        switch (m_in) {
        case In::attributes:
            selectAttribute(key);
            return true;
        case In::layout:
            selectLayout(key);
            return true;
        case In::layoutItems:
            selectItem(key);
            return true;
        default:
            selectField(key);
            return true;
        }
    }

    bool end_object() {
        switch (m_in) {
        case In::attributes:
            if (m_attribute.isOpen()) return attribute(m_attribute.close('}'));
            m_in = In::record;
            return true;
        case In::record:
            endRecord();
            return true;
        case In::layoutItems:
            m_in = In::layout;
            return true;
        case In::layout:
            m_in = In::document;
            m_section = Section::none;
            return true;
        default:
            checkRequired(m_documentSeen, fieldsOf(Section::none));
            return true;
        }
    }

    bool end_array() {
        switch (m_in) {
        case In::attributes:
            return attribute(m_attribute.close(']'));
        case In::port:
            endPort();
            return true;
        case In::texts:
            m_in = In::record;
            return true;
        case In::layoutNumbers:
            endLayoutNumbers();
            return true;
        case In::dotNumbers:
            endDot();
            return true;
        case In::layoutDots:
            if (m_parts.routes.back().dots.empty())
                refuse("must have at least one dot (a bend of the wire); remove this entry");
            m_in = In::layoutItems;
            return true;
        default:
            m_in = In::document;
            m_section = Section::none;
            return true;
        }
    }

    bool parse_error(std::size_t position, const std::string&, const json::exception& problem) {
        refuseSyntax(m_text, position, m_origin, problem.what());
    }

private:
    enum class In {
        start,
        document,
        list,
        record,
        attributes,
        port,
        texts,
        layout,
        layoutItems,
        layoutNumbers,
        layoutDots,
        dotNumbers
    };

    bool inAttributes() const { return m_in == In::attributes; }

    /// The place of the reader: "nodes[3].attributes.axis".
    std::string where() const {
        const std::string_view section = kSectionNames[static_cast<std::size_t>(m_section)];
        const std::string_view field = kFieldNames[static_cast<std::size_t>(m_field)];
        switch (m_in) {
        case In::start:
            return "the document";
        case In::document:
            return std::string(field);
        case In::list:
            return fmt::format("{}[{}]", section, m_index);
        case In::record:
        case In::port:
        case In::texts:
            return fmt::format("{}[{}].{}", section, m_index, field);
        case In::attributes:
            return fmt::format("{}[{}].attributes.{}", section, m_index, m_attributeName);
        case In::layout:
            return fmt::format("layout.{}", section);
        case In::layoutItems:
        case In::layoutNumbers:
        case In::layoutDots:
            return fmt::format("layout.{}.{}", section, m_item);
        case In::dotNumbers:
            return fmt::format("layout.{}.{}[{}]", section, m_item, m_parts.routes.back().dots.size() - 1);
        }
        return {};
    }

    /// The expected value at the reader's place.
    std::string_view wanted() const {
        using enum Field;
        switch (m_in) {
        case In::document:
        case In::record:
            if (m_field == from || m_field == to) return "a list of a node's id and a port";
            if (m_field >= plugins && m_field <= notes) return "a list";
            if (m_field == ops) return "a list of strings";
            if (m_field == layout || m_field == attributes) return "an object";
            return bit(m_field) & kTexts || m_section == Section::plugins ? "a string" : "an integer";
        case In::layoutItems:
            return m_section == Section::lanes    ? "a number, the lane's height"
                   : m_section == Section::routes ? "a list of dots (bends of the wire)"
                                                  : "a list of numbers";
        case In::layoutDots:
            return "a list of dots, each of a lane's id, x and y";
        case In::texts:
            return "a string";
        case In::port:
        case In::layoutNumbers:
        case In::dotNumbers:
            return "a number";
        default:
            return "an object";
        }
    }

    [[noreturn]] void refuseKind(std::string_view kind) const {
        refuse(fmt::format("must be {}, not {}", wanted(), kind));
    }
    [[noreturn]] void refuse(std::string_view problem) const { refuseAt(where(), problem); }
    [[noreturn]] void refuseAt(std::string_view place, std::string_view problem) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: {} {}", m_origin, place, problem));
    }

    void selectField(const std::string& key) {
        const Fields fields = fieldsOf(m_section);
        const auto at = std::find(kFieldNames.begin(), kFieldNames.end(), key);
        const auto field = static_cast<Field>(at - kFieldNames.begin());
        std::uint64_t& seen = m_section == Section::none ? m_documentSeen : m_seen;
        const std::string owner =
            m_section == Section::none
                ? "the document"
                : fmt::format("{}[{}]", kSectionNames[static_cast<std::size_t>(m_section)], m_index);
        if (at == kFieldNames.end() || !(fields.known & bit(field)))
            refuseAt(owner, fmt::format("has the unknown key \"{}\"", key.substr(0, 100)));
        if (seen & bit(field)) refuseAt(owner, fmt::format("has the key \"{}\" twice", key));
        seen |= bit(field);
        m_field = field;
    }

    void checkRequired(std::uint64_t seen, Fields fields) const {
        const std::uint64_t missing = fields.required & ~seen;
        if (!missing) return;
        const auto name = kFieldNames[static_cast<std::size_t>(std::countr_zero(missing))];
        refuseAt(m_section == Section::none
                     ? "the document"
                     : fmt::format("{}[{}]", kSectionNames[static_cast<std::size_t>(m_section)], m_index),
                 fmt::format("has no \"{}\"", name));
    }

    void beginRecord() {
        m_in = In::record;
        m_seen = 0;
        switch (m_section) {
        case Section::plugins:
            m_parts.info.plugins.emplace_back();
            break;
        case Section::lanes:
            m_parts.lanes.emplace_back();
            break;
        case Section::frames:
            m_parts.frames.emplace_back();
            break;
        case Section::nodes:
            m_parts.nodes.emplace_back();
            break;
        case Section::edges:
            m_parts.edges.emplace_back();
            break;
        case Section::notes:
            m_parts.notes.emplace_back();
            break;
        case Section::none:
        case Section::routes:
            break;
        }
    }

    void endRecord() {
        checkRequired(m_seen, fieldsOf(m_section));
        if (m_section == Section::nodes)
            restoreTexts(m_parts.nodes.back().op, m_parts.nodes.back().attributes);
        m_in = In::list;
        ++m_index;
    }

    bool scalar(const Scalar& value) {
        switch (m_in) {
        case In::start:
            refuse("must be an object");
        case In::document:
        case In::record:
            setField(value);
            break;
        case In::list:
            refuse("must be an object");
        case In::texts:
            if (!value.text) refuse("must be a list of strings");
            m_parts.info.plugins.back().ops.push_back(std::move(*value.text));
            break;
        case In::port:
        case In::layoutNumbers:
        case In::dotNumbers:
            listNumber(value);
            break;
        case In::layout:
            refuse("must be an object");
        case In::layoutDots:
            refuse(fmt::format("must be {}", wanted()));
        case In::layoutItems:
            if (m_section != Section::lanes) refuse(fmt::format("must be {}", wanted()));
            m_places.add(m_section, m_itemId, {checked([&] { return number(value, 0, kLargestPosition); })});
            break;
        case In::attributes:
            break;
        }
        return true;
    }

    /// The result of `read`, or an error with the place.
    template <class Read> std::invoke_result_t<Read> checked(Read read) const {
        try {
            return read();
        } catch (const WrongValue& wrong) {
            refuse(wrong.what());
        }
    }

    void setField(const Scalar& value) {
        checked([&] {
            switch (m_section) {
            case Section::none:
                return set(m_parts.info, m_field, value);
            case Section::plugins:
                return set(m_parts.info.plugins.back(), m_field, value);
            case Section::lanes:
                return set(m_parts.lanes.back(), m_field, value);
            case Section::frames:
                return set(m_parts.frames.back(), m_field, value);
            case Section::nodes:
                return set(m_parts.nodes.back(), m_field, value);
            case Section::edges:
                refuse("must be a list of a node's id and a port");
            case Section::notes:
                return set(m_parts.notes.back(), m_field, value);
            case Section::routes:
                break;
            }
        });
    }

    void listNumber(const Scalar& value) {
        if (m_numbers >= m_list.size() || m_isFolded) refuse("has too many values");
        if (m_in == In::layoutNumbers && m_section == Section::nodes && m_numbers == 2 && value.text &&
            *value.text == kFolded) {
            m_isFolded = true;
            m_list[m_numbers++] = 1;
            return;
        }
        const bool isWhole = m_in == In::port || (m_in == In::dotNumbers && m_numbers == 0);
        m_list[m_numbers++] = checked([&] {
            return isWhole ? static_cast<double>(integer(value, 0, static_cast<std::int64_t>(kLargestId)))
                           : number(value, -kLargestPosition, kLargestPosition);
        });
    }

    void endPort() {
        if (m_numbers != 2) refuse("must be a node's id and a port");
        if (m_list[0] < 1) refuse("names node 0, which does not exist");
        if (m_list[1] > 0xffff) refuse(fmt::format("names port {}, which no op has", m_list[1]));
        const PortRef port{NodeId(static_cast<std::uint64_t>(m_list[0])),
                           static_cast<std::int32_t>(m_list[1])};
        Edge& edge = m_parts.edges.back();
        (m_field == Field::from ? edge.from : edge.to) = port;
        m_in = In::record;
    }

    void selectLayout(const std::string& key) {
        const auto at = std::find(kSectionNames.begin(), kSectionNames.end(), key);
        m_section =
            at == kSectionNames.end() ? Section::none : static_cast<Section>(at - kSectionNames.begin());
        if (m_section == Section::none || m_section == Section::frames || m_section == Section::edges)
            refuseAt("layout", fmt::format("has the unknown key \"{}\"", key.substr(0, 100)));
        if (m_layoutSeen & (1U << static_cast<unsigned>(m_section))) refuse("is given twice");
        m_layoutSeen |= 1U << static_cast<unsigned>(m_section);
    }

    void selectItem(const std::string& key) {
        m_item = key.substr(0, 100);
        if (m_section == Section::routes) {
            const auto input = parseInput(key);
            if (!input) refuse("must name an input as NODE:PORT, such as 12:0");
            m_parts.routes.push_back({*input, {}});
            return;
        }
        const char* end = key.data() + key.size();
        const auto [parsed, failed] = std::from_chars(key.data(), end, m_itemId);
        if (failed != std::errc() || parsed != end || m_itemId < 1 || m_itemId > kLargestId)
            refuse("is not an id");
    }

    void endDot() {
        if (m_numbers != 3) refuse("must be a list of a lane's id, x and y");
        if (m_list[0] < 1) refuse("is on lane 0, which does not exist");
        m_parts.routes.back().dots.back() = {LaneId(static_cast<std::uint64_t>(m_list[0])),
                                             {m_list[1], m_list[2]}};
        m_in = In::layoutDots;
    }

    void endLayoutNumbers() {
        const bool isNode = m_section == Section::nodes;
        if (isNode && m_numbers != (m_isFolded ? 3 : 2))
            refuse("must be [x, y], or [x, y, \"folded\"] for a node drawn inside its consumer");
        if (!isNode && m_numbers != 4) refuse("must be a list of x, y, width and height");
        if (!isNode && !(m_list[2] > 0 && m_list[3] >= 0))
            refuse("must have a width above 0 and a height of 0 or more");
        m_places.add(m_section, m_itemId, m_list);
        m_in = In::layoutItems;
    }

    void selectAttribute(std::string& key) {
        if (m_attribute.isOpen()) return m_attribute.key(key);
        m_attributeName = std::move(key);
        const Attributes& attributes = m_parts.nodes.back().attributes;
        if (attributes.has(m_attributeName)) refuse("is given twice");
        if (attributes.size() >= kMostAttributes)
            refuse(fmt::format("exceeds the limit of {} attributes per node", kMostAttributes));
    }

    bool openInAttribute(char bracket) {
        if (m_attribute.depth() >= kDeepestNesting)
            refuse(fmt::format("is nested deeper than {} levels", kDeepestNesting));
        return attribute(m_attribute.open(bracket));
    }

    bool attribute(bool isComplete) {
        if (isComplete) m_parts.nodes.back().attributes.set(m_attributeName, m_attribute.take());
        return true;
    }

    std::string_view m_text;
    const std::string& m_origin;
    const IsCancelled& m_isCancelled;
    ProjectParts m_parts;
    In m_in = In::start;
    Section m_section = Section::none;
    Field m_field = Field::format;
    std::size_t m_index = 0; ///< of the record in its list
    std::uint64_t m_documentSeen = 0;
    std::uint32_t m_layoutSeen = 0;
    std::uint64_t m_seen = 0;
    AttributeReader m_attribute;
    std::string m_attributeName;
    std::array<double, 4> m_list{};
    std::size_t m_numbers = 0;
    bool m_isFolded = false; ///< read after a node's position
    std::string m_item;
    std::uint64_t m_itemId = 0;
    ProjectPlaces m_places;
};

} // namespace

ProjectParts readProjectParts(std::string_view text, std::string_view format, const std::string& origin,
                              const IsCancelled& isCancelled) {
    checkProjectHead(text, format, origin);
    PartsReader reader(text, origin, isCancelled);
    json::sax_parse(text.begin(), text.end(), &reader);
    return reader.take();
}

} // namespace twb
