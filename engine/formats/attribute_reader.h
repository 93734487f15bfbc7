#pragma once

#include "core/attributes.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// Turns the JSON events of one attribute into an AttributeValue: integers, doubles, bools, strings, and
/// lists of integers, doubles or strings. "nan", "inf" and "-inf" become doubles (see restoreTexts); any
/// other value is kept verbatim. Each event returns whether the value is complete; take() then returns it and
/// resets the reader.
class AttributeReader {
public:
    bool null();
    bool boolean(bool b);
    bool integer(std::int64_t i);
    bool unsignedInteger(std::uint64_t i);
    /// `literal`: the source text, for integers that exceed 64 bits.
    bool number(double d, const std::string& literal);
    bool text(std::string& s); ///< may move from the content
    bool open(char bracket);
    bool close(char bracket);
    void key(const std::string& key);

    bool isOpen() const noexcept { return m_depth > 0; }
    int depth() const noexcept { return m_depth; } ///< number of open lists and objects
    AttributeValue take();

private:
    bool whole(AttributeValue value);
    bool item(std::string_view literal);
    void separate();

    AttributeValue m_value;
    int m_depth = 0;
    std::string m_text; ///< of the current list or object
    bool m_first = true;
    bool m_afterKey = false;
    // The possible types of the outermost list.
    bool m_mayBeIntegers = true;
    bool m_mayBeNumbers = true;
    bool m_mayBeTexts = true;
    std::vector<std::int64_t> m_integers;
    std::vector<double> m_numbers;
    std::vector<std::string> m_texts;
};

/// Restores the strings "nan", "inf" and "-inf" for ops whose attribute is a string. The op is known only
/// after the whole node was read.
void restoreTexts(std::string_view op, Attributes& attributes);

} // namespace twb
