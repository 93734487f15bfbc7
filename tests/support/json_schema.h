#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>

namespace twb::test {

/// As much of JSON Schema as the published schemas use. An unknown keyword fails, so that none is skipped.
class Schema {
public:
    /// `closed`: a key that an object's schema does not name is wrong, even where others may come one day.
    explicit Schema(nlohmann::json root, bool closed = false) : m_root(std::move(root)), m_closed(closed) {}

    /// Where and what is wrong first; empty when nothing is.
    std::string problem(const nlohmann::json& value) const { return check(m_root, value, "document"); }

private:
    std::string check(const nlohmann::json& schema, const nlohmann::json& value,
                      const std::string& place) const {
        if (schema.is_boolean()) return schema.get<bool>() ? "" : place + " is not allowed";
        for (const auto& [keyword, rule] : schema.items())
            if (std::string wrong = checkKeyword(keyword, rule, schema, value, place); !wrong.empty())
                return wrong;
        if (m_closed && value.is_object() && schema.contains("properties") &&
            !schema.contains("additionalProperties"))
            for (const auto& [key, member] : value.items())
                if (!schema["properties"].contains(key)) return place + "." + key + " is not described";
        return {};
    }

    std::string checkKeyword(const std::string& keyword, const nlohmann::json& rule,
                             const nlohmann::json& schema, const nlohmann::json& value,
                             const std::string& place) const {
        const auto unless = [&](bool holds) {
            return holds ? std::string() : place + " breaks " + keyword + " " + rule.dump();
        };
        if (keyword == "$ref")
            return check(m_root.at(nlohmann::json::json_pointer(rule.get<std::string>().substr(1))), value,
                         place);
        if (keyword == "type") return unless(hasType(value, rule));
        if (keyword == "const") return unless(value == rule);
        if (keyword == "enum") return unless(std::find(rule.begin(), rule.end(), value) != rule.end());
        if (value.is_number()) {
            if (keyword == "minimum") return unless(value.get<double>() >= rule.get<double>());
            if (keyword == "maximum") return unless(value.get<double>() <= rule.get<double>());
            if (keyword == "exclusiveMinimum") return unless(value.get<double>() > rule.get<double>());
        }
        if (keyword == "minimum" || keyword == "maximum" || keyword == "exclusiveMinimum")
            return {}; // they say nothing of what is no number
        if ((keyword == "minLength" || keyword == "pattern") && !value.is_string()) return {};
        if (keyword == "minLength") return unless(value.get<std::string>().size() >= rule.get<std::size_t>());
        if (keyword == "minItems") return unless(value.size() >= rule.get<std::size_t>());
        if (keyword == "maxItems" || keyword == "maxProperties")
            return unless(value.size() <= rule.get<std::size_t>());
        if (keyword == "pattern")
            return unless(std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())));
        if (keyword == "required")
            return unless(!value.is_object() ||
                          std::all_of(rule.begin(), rule.end(), [&](const nlohmann::json& key) {
                              return value.contains(key.get<std::string>());
                          }));
        if (keyword == "properties" || keyword == "additionalProperties" || keyword == "propertyNames")
            return checkMembers(keyword, rule, schema, value, place);
        if (keyword == "prefixItems" || keyword == "items")
            return checkItems(keyword, rule, schema, value, place);
        const bool isRemark = keyword == "description" || keyword == "title" || keyword == "$schema" ||
                              keyword == "$id" || keyword == "$defs";
        return isRemark ? std::string() : "the test does not know the keyword " + keyword;
    }

    std::string checkMembers(const std::string& keyword, const nlohmann::json& rule,
                             const nlohmann::json& schema, const nlohmann::json& value,
                             const std::string& place) const {
        for (const auto& [key, member] : value.items()) {
            const bool isNamed = schema.contains("properties") && schema["properties"].contains(key);
            std::string wrong;
            if (keyword == "properties" && isNamed) wrong = check(rule[key], member, place + "." + key);
            if (keyword == "additionalProperties" && !isNamed) wrong = check(rule, member, place + "." + key);
            if (keyword == "propertyNames") wrong = check(rule, key, place + "." + key);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

    std::string checkItems(const std::string& keyword, const nlohmann::json& rule,
                           const nlohmann::json& schema, const nlohmann::json& value,
                           const std::string& place) const {
        const std::size_t prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
        for (std::size_t i = 0; i < value.size(); ++i) {
            std::string wrong;
            if (keyword == "prefixItems" && i < prefix)
                wrong = check(rule[i], value[i], place + "[" + std::to_string(i) + "]");
            if (keyword == "items" && i >= prefix)
                wrong = check(rule, value[i], place + "[" + std::to_string(i) + "]");
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

    static bool hasType(const nlohmann::json& value, const nlohmann::json& type) {
        if (type.is_array())
            return std::any_of(type.begin(), type.end(),
                               [&](const nlohmann::json& one) { return hasType(value, one); });
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "number") return value.is_number();
        if (type == "integer") return value.is_number_integer();
        if (type == "boolean") return value.is_boolean();
        if (type == "null") return value.is_null();
        return false;
    }

    nlohmann::json m_root;
    bool m_closed;
};

} // namespace twb::test
