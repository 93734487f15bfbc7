#include "support/json_schema.h"

#include <fmt/format.h>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace twb::test {
namespace {

using nlohmann::json;

/// valijson supports draft 7, where draft 2020-12's `prefixItems` and `items` are called `items` and
/// `additionalItems`.
void toDraft7(json& schema, bool closed) {
    if (!schema.is_object()) return;
    for (const char* map : {"properties", "$defs"})
        if (schema.contains(map))
            for (auto& [key, member] : schema[map].items()) toDraft7(member, closed);
    for (const char* one : {"items", "additionalProperties", "propertyNames"})
        if (schema.contains(one)) toDraft7(schema[one], closed);
    if (schema.contains("prefixItems")) {
        for (json& item : schema["prefixItems"]) toDraft7(item, closed);
        if (schema.contains("items")) schema["additionalItems"] = schema["items"];
        schema["items"] = schema["prefixItems"];
        schema.erase("prefixItems");
    }
    if (closed && schema.contains("properties")) schema.emplace("additionalProperties", false);
}

} // namespace

Schema::Schema(json root, bool closed) : m_root(std::move(root)) { toDraft7(m_root, closed); }

std::string Schema::problem(const json& value) const {
    valijson::Schema schema;
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(m_root), schema);
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    valijson::ValidationResults results;
    if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(value), &results)) return {};
    // The errors of members come before those of the object.
    valijson::ValidationResults::Error error;
    results.popError(error);
    return fmt::format("{}: {}", fmt::join(error.context, ""), error.description);
}

} // namespace twb::test
