#include "formats/attribute_reader.h"

#include "ops/op_table.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace twb {
namespace {

std::optional<double> specialNumber(std::string_view text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

bool isText(AttributeType type) {
    return type == AttributeType::text || type == AttributeType::texts ||
           type == AttributeType::enumeration || type == AttributeType::dtype || type == AttributeType::file;
}

} // namespace

bool AttributeReader::null() {
    if (!isOpen()) return whole(RawJson{"null"});
    m_mayBeIntegers = m_mayBeNumbers = m_mayBeTexts = false;
    return item("null");
}

bool AttributeReader::boolean(bool b) {
    if (!isOpen()) return whole(b);
    m_mayBeIntegers = m_mayBeNumbers = m_mayBeTexts = false;
    return item(b ? "true" : "false");
}

bool AttributeReader::integer(std::int64_t i) {
    if (!isOpen()) return whole(i);
    m_mayBeTexts = false;
    if (m_mayBeIntegers) m_integers.push_back(i);
    if (m_mayBeNumbers) m_numbers.push_back(static_cast<double>(i));
    return item(std::to_string(i));
}

bool AttributeReader::unsignedInteger(std::uint64_t i) {
    if (i <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return integer(static_cast<std::int64_t>(i));
    if (!isOpen()) return whole(RawJson{std::to_string(i)});
    m_mayBeIntegers = m_mayBeNumbers = m_mayBeTexts = false;
    return item(std::to_string(i));
}

bool AttributeReader::number(double d, const std::string& literal) {
    const bool hugeInteger = literal.find_first_of(".eE") == std::string::npos;
    if (!isOpen()) return hugeInteger ? whole(RawJson{literal}) : whole(d);
    m_mayBeIntegers = m_mayBeTexts = false;
    m_mayBeNumbers = m_mayBeNumbers && !hugeInteger;
    if (m_mayBeNumbers) m_numbers.push_back(d);
    return item(literal);
}

bool AttributeReader::text(std::string& s) {
    const auto special = specialNumber(s);
    if (!isOpen()) return special ? whole(*special) : whole(std::move(s));
    m_mayBeIntegers = false;
    m_mayBeNumbers = m_mayBeNumbers && special;
    if (m_mayBeNumbers) m_numbers.push_back(*special);
    if (m_mayBeTexts) m_texts.push_back(s);
    return item(nlohmann::json(s).dump());
}

bool AttributeReader::open(char bracket) {
    if (isOpen()) m_mayBeIntegers = m_mayBeNumbers = m_mayBeTexts = false;
    if (!isOpen() && bracket == '{') m_mayBeIntegers = m_mayBeNumbers = m_mayBeTexts = false;
    separate();
    m_text += bracket;
    m_first = true;
    ++m_depth;
    return false;
}

bool AttributeReader::close(char bracket) {
    m_text += bracket;
    m_first = false;
    if (--m_depth > 0) return false;
    if (m_mayBeIntegers) return whole(std::move(m_integers));
    if (m_mayBeNumbers) return whole(std::move(m_numbers));
    if (m_mayBeTexts) return whole(std::move(m_texts));
    return whole(RawJson{std::move(m_text)});
}

void AttributeReader::key(const std::string& key) {
    separate();
    m_text += nlohmann::json(key).dump() + ':';
    m_afterKey = true;
}

AttributeValue AttributeReader::take() {
    AttributeValue value = std::move(m_value);
    *this = {};
    return value;
}

bool AttributeReader::whole(AttributeValue value) {
    m_value = std::move(value);
    return true;
}

bool AttributeReader::item(std::string_view literal) {
    separate();
    m_text += literal;
    return false;
}

void AttributeReader::separate() {
    if (!m_first && !m_afterKey) m_text += ',';
    m_first = m_afterKey = false;
}

void restoreTexts(std::string_view opName, Attributes& attributes) {
    const Op* op = findOp(opName);
    if (!op) return;
    for (const AttributeSpec& spec : op->attributes) {
        if (!isText(spec.type)) continue;
        // A number in JSON is always finite.
        const AttributeValue* value = attributes.find(spec.name);
        const double* number = value ? std::get_if<double>(value) : nullptr;
        if (number && !std::isfinite(*number)) attributes.set(spec.name, toString(*number));
    }
}

} // namespace twb
