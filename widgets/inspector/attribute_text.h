#pragma once

#include "core/attributes.h"
#include "ops/op.h"

#include <QString>

#include <optional>

namespace twb {

/// What somebody typed for an attribute: its value, or why it cannot be one.
struct TypedValue {
    std::optional<AttributeValue> value;
    QString refusal; ///< a sentence; empty when there is a value
};

/// Reads text as a value of `spec`. Lists take "[360, 64]", "360, 64", "360 64" and "360×64".
TypedValue readValue(const AttributeSpec& spec, const QString& text);
/// readValue(), and refuses with the op table's own sentence what is out of range or no choice.
TypedValue readValueFor(const Op& op, const AttributeSpec& spec, const QString& text);
/// What stands in the editor: the value as text that readValue() reads.
QString textOf(const std::optional<AttributeValue>& value);

} // namespace twb
