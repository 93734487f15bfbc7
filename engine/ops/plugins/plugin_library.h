#pragma once

#include "../resources/sdk/twb_op.h"
#include "core/attributes.h"
#include "core/shape.h"
#include "ops/op.h"

#include <filesystem>
#include <string>
#include <vector>

namespace twb {

/// A loaded library. It stays loaded, since ops of the op table call it.
struct PluginLibrary {
    const twb_plugin* table = nullptr;

    /// Throws Error(badFile) with a sentence about the library: it cannot be loaded, is not a plug-in, or was
    /// built for another version of the interface.
    static PluginLibrary load(const std::filesystem::path& file);
    /// Its last fields may be missing: cudaOf().
    const twb_op& op(std::uint32_t index) const;
    /// The op's kernel for GPUs; null if it has none, or if the library was built before there were any.
    decltype(twb_op::cuda) cudaOf(std::uint32_t index) const;
};

/// The attributes of a call, and its error.
class PluginCall : public twb_call {
public:
    PluginCall(const twb_op& op, const Attributes& complete, std::vector<twb_type> types);
    PluginCall(const PluginCall&) = delete;
    PluginCall& operator=(const PluginCall&) = delete;

    bool hasFailed() const noexcept { return m_hasFailed; }
    int port() const noexcept { return m_port; }
    /// The sentence of fail(), or one that says that the op gave none.
    std::string sentence() const;

private:
    void report(int port, std::string sentence) const;

    const twb_op& m_op;
    const Attributes& m_attributes;
    std::vector<twb_type> m_types;
    mutable std::vector<std::vector<std::int64_t>> m_lists; ///< what integers() returned
    mutable bool m_hasFailed = false;
    mutable int m_port = -1;
    mutable std::string m_sentence;
};

/// The entry of the op table, without kernel and gradient. Throws Error(badFile) that names what is wrong
/// with the plug-in's table.
Op entryOf(const twb_op& op, const std::string& category);

/// The type of an input; dtype -1 if it is not connected.
twb_type toPlugin(const TensorType* type);
/// The type that infer() gave for an output. Throws Error(badGraph) if it is none, or not the port's.
TensorType fromPlugin(const twb_type& type, const twb_op& op, std::uint32_t output);

} // namespace twb
