#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace twb {

/// A value of a project file that no known op uses, kept verbatim as compact JSON. Files from another build
/// thus survive load and save.
struct RawJson {
    std::string text;
    bool operator==(const RawJson&) const = default;
};

/// An attribute's value. Dtypes, devices and enumerations are strings. NaN and infinities are doubles here
/// and the strings "nan", "inf", "-inf" in a file.
using AttributeValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                    std::vector<double>, std::vector<std::string>, RawJson>;

/// The attributes of a node, sorted by name. The typed readers convert if nothing is lost (an integer read as
/// a number); otherwise they throw Error(invalidArgument) that names the attribute.
class Attributes {
public:
    using Item = std::pair<std::string, AttributeValue>;

    Attributes() = default;
    Attributes(std::initializer_list<Item> items);

    const AttributeValue* find(std::string_view name) const noexcept;
    bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
    void set(std::string_view name, AttributeValue value);
    void erase(std::string_view name);

    bool flag(std::string_view name) const;            ///< bool, or an integer 0 or 1
    std::int64_t integer(std::string_view name) const; ///< integer
    double number(std::string_view name) const;        ///< double, integer, or "nan", "inf", "-inf"
    const std::string& text(std::string_view name) const;
    std::vector<std::int64_t> integers(std::string_view name) const; ///< list of integers, or one
    std::vector<double> numbers(std::string_view name) const;        ///< list of numbers, or one

    auto begin() const noexcept { return m_items.begin(); }
    auto end() const noexcept { return m_items.end(); }
    bool empty() const noexcept { return m_items.empty(); }
    std::size_t size() const noexcept { return m_items.size(); }
    /// By value. NaN equals NaN, so a document equals its copy.
    bool operator==(const Attributes& other) const;

private:
    const AttributeValue& get(std::string_view name) const;
    std::vector<Item> m_items; ///< sorted by name
};

/// Whether the value is an empty list of any type.
bool isEmptyList(const AttributeValue& value) noexcept;

/// The value as a user would type it: `1.5`, `[2, 3]`, `true`, `same`.
std::string toString(const AttributeValue& value);

} // namespace twb
