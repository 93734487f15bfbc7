#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace twb::test {

/// A published JSON Schema, which values are validated against by valijson.
class Schema {
public:
    /// `closed`: objects must not have keys that their schema does not name, even where later versions may.
    explicit Schema(nlohmann::json root, bool closed = false);

    /// The first error, as `place: reason`; empty if the value is valid. Throws for an invalid schema.
    std::string problem(const nlohmann::json& value) const;

private:
    nlohmann::json m_root;
};

} // namespace twb::test
