#include "widgets/inspector/attribute_text.h"

#include "widgets/text.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <cmath>

namespace twb {
namespace {

/// For translators.
struct AttributeWords {
    Q_DECLARE_TR_FUNCTIONS(Attribute)
};

/// "a list", "[1, 2]": the items between brackets.
QStringList itemsOf(QString text, const QRegularExpression& separators) {
    text = text.trimmed();
    if (text.startsWith(QLatin1Char('[')) && text.endsWith(QLatin1Char(']')))
        text = text.mid(1, text.size() - 2);
    return text.split(separators, Qt::SkipEmptyParts);
}

/// Numbers are separated by commas, × or blanks.
QStringList numbersOf(const QString& text) {
    static const QRegularExpression separators(QStringLiteral("[,;×\\s]+|(?<=\\d)x(?=\\d)"));
    return itemsOf(text, separators);
}

/// Texts are separated by commas or blanks outside brackets: "f32[2,3], i64[]" has two.
QStringList textsOf(const QString& text) {
    static const QRegularExpression separators(QStringLiteral("[,;\\s]+(?![^\\[]*\\])"));
    return itemsOf(text, separators);
}

TypedValue refuse(const QString& sentence) { return {std::nullopt, sentence}; }

TypedValue readIntegers(const QString& text) {
    std::vector<std::int64_t> values;
    for (const QString& item : numbersOf(text)) {
        bool ok = false;
        values.push_back(item.toLongLong(&ok));
        if (!ok)
            return refuse(
                AttributeWords::tr("“%1” is not a whole number; separate sizes by commas, such as 360, 64.")
                    .arg(item));
    }
    return {AttributeValue(std::move(values)), {}};
}

/// The items as integers if a double cannot hold one of them; else nothing, also for a fraction.
std::optional<std::vector<std::int64_t>> largeIntegersOf(const QStringList& items) {
    constexpr qlonglong kLargest = qlonglong(1) << 53; ///< up to which a double holds every integer
    std::vector<std::int64_t> out;
    bool isLarge = false;
    for (const QString& item : items) {
        bool ok = false;
        const qlonglong value = item.trimmed().toLongLong(&ok);
        if (!ok) return std::nullopt;
        isLarge = isLarge || value > kLargest || value < -kLargest;
        out.push_back(value);
    }
    return isLarge ? std::optional(std::move(out)) : std::nullopt;
}

TypedValue readNumbers(const QString& text) {
    const QStringList items = numbersOf(text);
    const bool list = text.contains(QLatin1Char('[')) || items.size() != 1;
    if (auto integers = largeIntegersOf(items))
        return {list ? AttributeValue(std::move(*integers)) : AttributeValue(integers->front()), {}};
    std::vector<double> values;
    for (const QString& item : items) {
        const std::optional<double> value = typedNumber(item);
        if (!value)
            return refuse(
                AttributeWords::tr("“%1” is not a number; separate values by commas, such as 1.5, 2.")
                    .arg(item));
        values.push_back(*value);
    }
    if (!list) return {AttributeValue(values.front()), {}};
    return {AttributeValue(std::move(values)), {}};
}

} // namespace

TypedValue readValue(const AttributeSpec& spec, const QString& text) {
    const QString trimmed = text.trimmed();
    switch (spec.type) {
    case AttributeType::flag:
        if (trimmed == QLatin1String("true")) return {AttributeValue(true), {}};
        if (trimmed == QLatin1String("false")) return {AttributeValue(false), {}};
        return refuse(AttributeWords::tr("“%1” is not true or false.").arg(trimmed));
    case AttributeType::integer: {
        bool ok = false;
        const qlonglong value = trimmed.toLongLong(&ok);
        if (!ok) return refuse(AttributeWords::tr("“%1” is not a whole number.").arg(trimmed));
        return {AttributeValue(std::int64_t(value)), {}};
    }
    case AttributeType::number: {
        if (const auto integer = largeIntegersOf({trimmed})) return {AttributeValue(integer->front()), {}};
        const std::optional<double> value = typedNumber(trimmed);
        if (!value) return refuse(AttributeWords::tr("“%1” is not a number.").arg(trimmed));
        return {AttributeValue(*value), {}};
    }
    case AttributeType::integers:
    case AttributeType::shape:
        return readIntegers(trimmed);
    case AttributeType::numbers:
        return readNumbers(trimmed);
    case AttributeType::texts: {
        std::vector<std::string> texts;
        for (const QString& item : textsOf(trimmed)) texts.push_back(item.toStdString());
        return {AttributeValue(std::move(texts)), {}};
    }
    case AttributeType::text:
    case AttributeType::enumeration:
    case AttributeType::dtype:
    case AttributeType::file:
        return {AttributeValue(trimmed.toStdString()), {}};
    }
    return {};
}

TypedValue readValueFor(const Op& op, const AttributeSpec& spec, const QString& text) {
    TypedValue typed = readValue(spec, text);
    if (!typed.value) return typed;
    // Checks only this attribute: other attributes may still be missing.
    Op alone;
    alone.name = op.name;
    alone.attributes = {spec};
    try {
        completeAttributes(alone, {{spec.name, *typed.value}});
    } catch (const Error& error) {
        return refuse(toQt(error.what()));
    }
    return typed;
}

QString textOf(const std::optional<AttributeValue>& value) {
    if (!value) return {};
    const auto* number = std::get_if<double>(&*value);
    if (number && std::abs(*number) < 1e6 && *number == std::trunc(*number))
        return QString::number(*number, 'f', 1);
    return toQt(toString(*value));
}

} // namespace twb
