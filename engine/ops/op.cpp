#include "ops/op.h"

#include "backends/cpu/strided.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {

const AttributeSpec* Op::attribute(std::string_view wanted) const noexcept {
    const auto at = std::find_if(attributes.begin(), attributes.end(),
                                 [&](const AttributeSpec& spec) { return spec.name == wanted; });
    return at == attributes.end() ? nullptr : &*at;
}

const PortSpec& Op::inputAt(int port) const noexcept {
    static const PortSpec nowhere;
    const int count = static_cast<int>(inputs.size());
    if (port >= 0 && port < count) return inputs[static_cast<std::size_t>(port)];
    return isVariadic() && port >= count ? inputs.back() : nowhere;
}

int Op::minimumInputs() const noexcept {
    return static_cast<int>(
        std::count_if(inputs.begin(), inputs.end(), [](const PortSpec& port) { return !port.optional; }));
}

const PortSpec& Op::outputAt(int port) const noexcept {
    static const PortSpec nowhere;
    const int count = static_cast<int>(outputs.size());
    if (port >= 0 && port < count) return outputs[static_cast<std::size_t>(port)];
    return count > 0 && outputs.back().variadic && port >= count ? outputs.back() : nowhere;
}

int Op::outputCount(const Attributes& complete) const {
    const int count = static_cast<int>(outputs.size());
    if (count == 0 || !outputs.back().variadic || !complete.has("num_outputs")) return count;
    return count - 1 + static_cast<int>(complete.integer("num_outputs"));
}

std::optional<std::vector<std::int64_t>> InferContext::integers(int port) const {
    if (input(port)) {
        const Tensor* known = value(port);
        if (!known) return std::nullopt;
        if (isDense(known->view())) return known->toIntegers();
        const Tensor dense = Tensor::onHost(known->type());
        copyElements(known->view(), dense.view());
        return dense.toIntegers();
    }
    const std::string& name = m_op.inputAt(port).name;
    if (!m_attributes.has(name)) return std::nullopt;
    return m_attributes.integers(name);
}

bool InferContext::isDeferred(int port) const noexcept { return input(port) && !value(port); }

namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw InferError("attribute", -1, sentence); }

void checkRange(const Op& op, const AttributeSpec& spec, double value) {
    // NaN compares false with everything and is therefore out of every range.
    const bool aboveMinimum = !spec.minimum || value >= *spec.minimum;
    const bool belowMaximum = !spec.maximum || value <= *spec.maximum;
    if (aboveMinimum && belowMaximum) return;
    const std::string range = spec.minimum && spec.maximum
                                  ? fmt::format("from {} to {}", *spec.minimum, *spec.maximum)
                              : spec.minimum ? fmt::format("{} or more", *spec.minimum)
                                             : fmt::format("{} or less", *spec.maximum);
    refuse(fmt::format("{}: attribute \"{}\" must be {}, but is {}", op.name, spec.name, range, value));
}

[[noreturn]] void refuseChoice(const Op& op, const AttributeSpec& spec, const std::string& value) {
    refuse(fmt::format("{}: attribute \"{}\" must be one of {}, but is \"{}\"", op.name, spec.name,
                       fmt::join(spec.choices, ", "), value));
}

/// Checks an attribute's value and returns its canonical form (dtypes by their short name).
void checkValue(const Op& op, const AttributeSpec& spec, Attributes& attributes) {
    const AttributeValue& value = *attributes.find(spec.name);
    switch (spec.type) {
    case AttributeType::flag:
        attributes.flag(spec.name);
        return;
    case AttributeType::integer:
        checkRange(op, spec, static_cast<double>(attributes.integer(spec.name)));
        return;
    case AttributeType::number:
        checkRange(op, spec, attributes.number(spec.name));
        return;
    case AttributeType::text:
        attributes.text(spec.name);
        return;
    case AttributeType::texts:
        if (isEmptyList(value))
            attributes.set(spec.name, std::vector<std::string>{});
        else if (!std::holds_alternative<std::vector<std::string>>(value))
            attributes.set(spec.name, std::vector<std::string>{attributes.text(spec.name)});
        return;
    case AttributeType::enumeration: {
        const std::string& text = attributes.text(spec.name);
        if (std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end())
            refuseChoice(op, spec, text);
        return;
    }
    case AttributeType::integers:
    case AttributeType::shape:
        if (isEmptyList(value)) {
            attributes.set(spec.name, std::vector<std::int64_t>{});
            return;
        }
        for (std::int64_t i : attributes.integers(spec.name)) checkRange(op, spec, static_cast<double>(i));
        return;
    case AttributeType::numbers:
        if (isEmptyList(value)) {
            attributes.set(spec.name, std::vector<double>{});
            return;
        }
        for (double d : attributes.numbers(spec.name)) checkRange(op, spec, d);
        return;
    case AttributeType::dtype: {
        const std::string text = attributes.text(spec.name);
        const auto dtype = parseDType(text);
        if (!dtype)
            refuse(fmt::format("{}: attribute \"{}\" must be a dtype such as f32 or int64, but is \"{}\"",
                               op.name, spec.name, text));
        std::string shortName(name(*dtype));
        if (!spec.choices.empty() &&
            std::find(spec.choices.begin(), spec.choices.end(), shortName) == spec.choices.end())
            refuseChoice(op, spec, text);
        if (shortName != text) attributes.set(spec.name, std::move(shortName));
        return;
    }
    case AttributeType::file:
        if (attributes.text(spec.name).empty())
            refuse(fmt::format("{}: attribute \"{}\" is empty; name a file, relative to the project's folder",
                               op.name, spec.name));
        return;
    }
}

std::string attributeNames(const Op& op) {
    if (op.attributes.empty()) return "it has none";
    std::vector<std::string_view> names;
    for (const AttributeSpec& spec : op.attributes) names.push_back(spec.name);
    return fmt::format("it has {}", fmt::join(names, ", "));
}

} // namespace

Attributes completeAttributes(const Op& op, const Attributes& given) {
    for (const auto& [name, value] : given)
        if (!op.attribute(name))
            refuse(fmt::format("{} has no attribute \"{}\"; {}", op.name, name, attributeNames(op)));
    Attributes out = given;
    for (const AttributeSpec& spec : op.attributes) {
        if (out.has(spec.name)) {
            try {
                checkValue(op, spec, out);
            } catch (const InferError&) {
                throw;
            } catch (const Error& wrongType) {
                refuse(fmt::format("{}: {}", op.name, wrongType.what()));
            }
        } else if (spec.defaultValue) {
            out.set(spec.name, *spec.defaultValue);
        } else if (spec.required) {
            refuse(
                fmt::format("{} needs a value for its attribute \"{}\" ({})", op.name, spec.name, spec.doc));
        }
    }
    return out;
}

} // namespace twb
