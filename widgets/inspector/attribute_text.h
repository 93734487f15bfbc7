#pragma once

#include "core/attributes.h"
#include "ops/op.h"

#include <QString>

#include <optional>

namespace twb {

/// The result of parsing an attribute's text: a value, or the reason why it is invalid.
struct TypedValue {
    std::optional<AttributeValue> value;
    QString refusal; ///< a sentence; empty if there is a value
};

/// Parses text as a value of `spec`. Lists accept "[360, 64]", "360, 64", "360 64" and "360×64".
/// Numbers have a decimal point, as in Python; a single number may have the locale's separator.
TypedValue readValue(const AttributeSpec& spec, const QString& text);
/// readValue(), and checks ranges and choices with the op table's messages.
TypedValue readValueFor(const Op& op, const AttributeSpec& spec, const QString& text);
/// The text of a value for the editor, in a form that readValue() accepts.
QString textOf(const std::optional<AttributeValue>& value);

} // namespace twb
