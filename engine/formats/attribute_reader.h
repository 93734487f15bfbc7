#pragma once

#include "core/attributes.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// Turns the JSON events of one attribute's value into an AttributeValue: integers, doubles, bools, texts and
/// lists of one of the first, second or fourth as such; "nan", "inf" and "-inf" as doubles (see
/// restoreTexts); anything else word for word. Every event returns whether the value is complete; take() then
/// gives it and makes ready for the next.
class AttributeReader {
public:
    bool null();
    bool boolean(bool b);
    bool integer(std::int64_t i);
    bool unsignedInteger(std::uint64_t i);
    /// `literal`: as written, for integers that no 64 bits hold.
    bool number(double d, const std::string& literal);
    bool text(std::string& s); ///< may take the content
    bool open(char bracket);
    bool close(char bracket);
    void key(const std::string& key);

    bool isOpen() const noexcept { return m_depth > 0; }
    int depth() const noexcept { return m_depth; } ///< lists and objects that are open
    AttributeValue take();

private:
    bool whole(AttributeValue value);
    bool item(std::string_view literal);
    void separate();

    AttributeValue m_value;
    int m_depth = 0;
    std::string m_text; ///< of the list or object so far
    bool m_first = true;
    bool m_afterKey = false;
    // What the outermost list may still be, and as what.
    bool m_mayBeIntegers = true;
    bool m_mayBeNumbers = true;
    bool m_mayBeTexts = true;
    std::vector<std::int64_t> m_integers;
    std::vector<double> m_numbers;
    std::vector<std::string> m_texts;
};

/// Makes texts again of those "nan", "inf" and "-inf" that are texts by the op of their node, known only once
/// all of the node is read.
void restoreTexts(std::string_view op, Attributes& attributes);

} // namespace twb
