#include "core/attributes.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace twb {
namespace {

[[noreturn]] void wrongType(std::string_view name, std::string_view wanted, const AttributeValue& got) {
    throw Error(ErrorCode::invalidArgument,
                fmt::format("attribute \"{}\" must be {}, but is {}", name, wanted, toString(got)));
}

std::optional<double> specialNumber(std::string_view text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const AttributeValue& a, const AttributeValue& b) {
    // A file does not show the type of an empty list.
    if (a.index() != b.index()) return isEmptyList(a) && isEmptyList(b);
    if (const double* x = std::get_if<double>(&a)) return same(*x, std::get<double>(b));
    if (const auto* x = std::get_if<std::vector<double>>(&a)) {
        const auto& y = std::get<std::vector<double>>(b);
        return std::equal(x->begin(), x->end(), y.begin(), y.end(),
                          [](double p, double q) { return same(p, q); });
    }
    return a == b;
}

} // namespace

bool isEmptyList(const AttributeValue& value) noexcept {
    const auto isEmpty = [](const auto* list) { return list && list->empty(); };
    return isEmpty(std::get_if<std::vector<std::int64_t>>(&value)) ||
           isEmpty(std::get_if<std::vector<double>>(&value)) ||
           isEmpty(std::get_if<std::vector<std::string>>(&value));
}

Attributes::Attributes(std::initializer_list<Item> items) {
    for (const Item& item : items) set(item.first, item.second);
}

const AttributeValue* Attributes::find(std::string_view name) const noexcept {
    const auto at = std::lower_bound(m_items.begin(), m_items.end(), name,
                                     [](const Item& item, std::string_view n) { return item.first < n; });
    return at != m_items.end() && at->first == name ? &at->second : nullptr;
}

void Attributes::set(std::string_view name, AttributeValue value) {
    const auto at = std::lower_bound(m_items.begin(), m_items.end(), name,
                                     [](const Item& item, std::string_view n) { return item.first < n; });
    if (at != m_items.end() && at->first == name)
        at->second = std::move(value);
    else
        m_items.emplace(at, std::string(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
    std::erase_if(m_items, [&](const Item& item) { return item.first == name; });
}

const AttributeValue& Attributes::get(std::string_view name) const {
    if (const AttributeValue* value = find(name)) return *value;
    throw Error(ErrorCode::invalidArgument, fmt::format("attribute \"{}\" is not set", name));
}

bool Attributes::flag(std::string_view name) const {
    const AttributeValue& value = get(name);
    if (const bool* b = std::get_if<bool>(&value)) return *b;
    if (const auto* i = std::get_if<std::int64_t>(&value); i && (*i == 0 || *i == 1)) return *i == 1;
    wrongType(name, "true or false", value);
}

std::int64_t Attributes::integer(std::string_view name) const {
    const AttributeValue& value = get(name);
    if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
    wrongType(name, "an integer", value);
}

double Attributes::number(std::string_view name) const {
    const AttributeValue& value = get(name);
    if (const double* d = std::get_if<double>(&value)) return *d;
    if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
    if (const auto* s = std::get_if<std::string>(&value))
        if (const auto special = specialNumber(*s)) return *special;
    wrongType(name, "a number", value);
}

const std::string& Attributes::text(std::string_view name) const {
    const AttributeValue& value = get(name);
    if (const auto* s = std::get_if<std::string>(&value)) return *s;
    wrongType(name, "a string", value);
}

std::vector<std::int64_t> Attributes::integers(std::string_view name) const {
    const AttributeValue& value = get(name);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return *list;
    if (const auto* i = std::get_if<std::int64_t>(&value)) return {*i};
    wrongType(name, "a list of integers", value);
}

std::vector<double> Attributes::numbers(std::string_view name) const {
    const AttributeValue& value = get(name);
    if (const auto* list = std::get_if<std::vector<double>>(&value)) return *list;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
        return {list->begin(), list->end()};
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
        std::vector<double> out;
        for (const std::string& s : *list) {
            const auto special = specialNumber(s);
            if (!special) wrongType(name, "a list of numbers", value);
            out.push_back(*special);
        }
        return out;
    }
    return {number(name)};
}

bool Attributes::operator==(const Attributes& other) const {
    return std::equal(
        m_items.begin(), m_items.end(), other.m_items.begin(), other.m_items.end(),
        [](const Item& a, const Item& b) { return a.first == b.first && same(a.second, b.second); });
}

std::string toString(const AttributeValue& value) {
    struct Visitor {
        std::string operator()(bool b) const { return b ? "true" : "false"; }
        std::string operator()(std::int64_t i) const { return std::to_string(i); }
        std::string operator()(double d) const { return fmt::format("{}", d); }
        std::string operator()(const std::string& s) const { return s; }
        std::string operator()(const std::vector<std::int64_t>& v) const {
            return fmt::format("[{}]", fmt::join(v, ", "));
        }
        std::string operator()(const std::vector<double>& v) const {
            return fmt::format("[{}]", fmt::join(v, ", "));
        }
        std::string operator()(const std::vector<std::string>& v) const {
            return fmt::format("[{}]", fmt::join(v, ", "));
        }
        std::string operator()(const RawJson& raw) const { return raw.text; }
    };
    return std::visit(Visitor{}, value);
}

} // namespace twb
