#include "ops/plugins/plugin_check.h"

#include "core/error.h"
#include "ops/plugins/guarded_memory.h"
#include "ops/plugins/plugin_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <unistd.h>

namespace twb {
namespace {

constexpr std::array<std::uint8_t, 2> kFills{0xA5, 0x5A};

/// Shapes of the inputs of one trial; the last one repeats for further inputs.
const std::vector<std::vector<Shape>>& trials() {
    static const std::vector<std::vector<Shape>> all{{Shape{}},
                                                     {Shape{1}},
                                                     {Shape{7}},
                                                     {Shape{2, 3}},
                                                     {Shape{0, 3}},
                                                     {Shape{2, 3, 4}},
                                                     {Shape{1, 2, 5, 5}},
                                                     {Shape{3, 4}, Shape{4, 5}, Shape{5}},
                                                     {Shape{2, 3, 4}, Shape{2, 4, 5}},
                                                     {Shape{2, 3, 8, 8}, Shape{4, 3, 3, 3}, Shape{4}},
                                                     {Shape{5, 1030}}};
    return all;
}

/// Tells the parent what happens next, so that it can name it after a crash.
void sayAt(const std::string& text) {
    std::printf("at %s\n", text.c_str());
    std::fflush(stdout);
}

[[noreturn]] void sayBad(const std::string& text) { throw Error(ErrorCode::failed, text); }

DType lowest(std::uint32_t types) {
    for (const DType dtype : kAllDTypes)
        if (types & 1U << static_cast<unsigned>(dtype)) return dtype;
    return DType::f32;
}

/// Values that any op accepts: from 0 to 1 for floats, 0 and 1 for others.
void fillInput(GuardedMemory& memory, DType dtype) {
    std::memset(memory.data(), 0, memory.size());
    const std::size_t count = memory.size() / sizeOf(dtype);
    for (std::size_t i = 0; i < count; ++i) {
        const float value = static_cast<float>(i % 16) / 16;
        if (dtype == DType::f32)
            std::memcpy(memory.data() + i * sizeof value, &value, sizeof value);
        else if (dtype == DType::f64) {
            const double wide = value;
            std::memcpy(memory.data() + i * sizeof wide, &wide, sizeof wide);
        } else if (dtype == DType::f16 || dtype == DType::bf16) {
            const std::uint16_t one = dtype == DType::f16 ? 0x3C00 : 0x3F80;
            const std::uint16_t bits = i % 2 ? one : 0;
            std::memcpy(memory.data() + i * sizeof bits, &bits, sizeof bits);
        } else {
            memory.data()[i * sizeOf(dtype)] = static_cast<std::uint8_t>(i % 2); // little-endian
        }
    }
}

/// One kernel with one set of inputs.
class Trial {
public:
    Trial(const twb_op& op, const Attributes& attributes, std::vector<TensorType> inputs)
        : m_op(op), m_attributes(attributes), m_inputs(std::move(inputs)) {}

    void run() {
        sayAt(fmt::format("infer() of {} with {}", m_op.name, describe()));
        std::vector<TensorType> outputs;
        {
            const PluginCall call(m_op, m_attributes, types());
            std::vector<twb_type> given(m_op.output_count);
            if (m_op.infer(&call, given.data()) != 0 || call.hasFailed()) return; // it accepts other inputs
            for (std::uint32_t i = 0; i < m_op.output_count; ++i) {
                outputs.push_back(fromPlugin(given[i], m_op, i));
                if (!outputs.back().isKnown())
                    sayBad(fmt::format(
                        "infer() of {} leaves a size of its output {} open although the sizes of all "
                        "inputs are known",
                        m_op.name, m_op.outputs[i].name));
                requireSameTypes(outputs, i);
            }
        }
        std::vector<std::unique_ptr<GuardedMemory>> inputs;
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            inputs.push_back(memoryFor(m_inputs[i], m_op.inputs[i].name));
            fillInput(*inputs.back(), m_inputs[i].dtype);
            inputs.back()->protect();
        }
        // Elements that keep both fills are never written.
        std::array<std::vector<std::unique_ptr<GuardedMemory>>, 2> results;
        for (std::size_t pass = 0; pass < kFills.size(); ++pass) {
            for (std::uint32_t i = 0; i < m_op.output_count; ++i) {
                results[pass].push_back(memoryFor(outputs[i], m_op.outputs[i].name));
                std::memset(results[pass].back()->data(), kFills[pass], results[pass].back()->size());
            }
            runKernel(inputs, outputs, results[pass]);
        }
        for (std::uint32_t i = 0; i < m_op.output_count; ++i)
            requireWritten(*results[0][i], *results[1][i], outputs[i], m_op.outputs[i].name);
    }

private:
    std::string describe() const {
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < m_inputs.size(); ++i)
            texts.push_back(fmt::format("{} {} {}", m_op.inputs[i].name, name(m_inputs[i].dtype),
                                        m_inputs[i].shape.toString()));
        return texts.empty() ? "no inputs" : fmt::format("{}", fmt::join(texts, ", "));
    }
    std::vector<twb_type> types() const {
        std::vector<twb_type> out;
        for (const TensorType& type : m_inputs) out.push_back(toPlugin(&type));
        return out;
    }
    std::unique_ptr<GuardedMemory> memoryFor(const TensorType& type, const char* port) const {
        return std::make_unique<GuardedMemory>(static_cast<std::size_t>(type.byteCount()),
                                               fmt::format("{} ({} {}) in the kernel of {}", port,
                                                           name(type.dtype), type.shape.toString(),
                                                           m_op.name));
    }
    void requireSameTypes(const std::vector<TensorType>& outputs, std::uint32_t output) const {
        const twb_port& port = m_op.outputs[output];
        for (std::size_t i = 0; port.same && i < m_inputs.size(); ++i)
            if (m_op.inputs[i].same && std::strcmp(m_op.inputs[i].same, port.same) == 0 &&
                m_inputs[i].dtype != outputs[output].dtype)
                sayBad(fmt::format(
                    "infer() of {} gives its output {} the element type {}, but that of {} is {}", m_op.name,
                    port.name, name(outputs[output].dtype), m_op.inputs[i].name, name(m_inputs[i].dtype)));
    }
    void runKernel(const std::vector<std::unique_ptr<GuardedMemory>>& inputs,
                   const std::vector<TensorType>& outputs,
                   const std::vector<std::unique_ptr<GuardedMemory>>& results) const {
        std::vector<twb_tensor> in;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            in.push_back({toPlugin(&m_inputs[i]), inputs[i]->data()});
        std::vector<twb_tensor> out;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            out.push_back({toPlugin(&outputs[i]), results[i]->data()});
        sayAt(fmt::format("the kernel of {} with {}", m_op.name, describe()));
        const PluginCall call(m_op, m_attributes, types());
        if (m_op.cpu(&call, in.data(), out.data()) != 0 || call.hasFailed())
            sayBad(fmt::format("the kernel of {} fails with {}, which infer() accepts: {}", m_op.name,
                               describe(), call.sentence()));
        for (std::uint32_t i = 0; i < m_op.output_count; ++i)
            if (!results[i]->canariesAreWhole())
                sayBad(fmt::format("it writes outside {} ({} {}) in the kernel of {}", m_op.outputs[i].name,
                                   name(outputs[i].dtype), outputs[i].shape.toString(), m_op.name));
    }
    void requireWritten(const GuardedMemory& first, const GuardedMemory& second, const TensorType& type,
                        const char* port) const {
        const std::size_t size = sizeOf(type.dtype);
        std::size_t unwritten = 0;
        for (std::size_t at = 0; at + size <= first.size(); at += size) {
            bool isUnwritten = true;
            for (std::size_t i = at; i < at + size; ++i)
                isUnwritten = isUnwritten && first.data()[i] == kFills[0] && second.data()[i] == kFills[1];
            unwritten += isUnwritten;
        }
        if (unwritten)
            sayBad(fmt::format("the kernel of {} leaves {} of {} elements of {} unwritten, with {}",
                               m_op.name, unwritten, first.size() / size, port, describe()));
    }

    const twb_op& m_op;
    const Attributes& m_attributes;
    std::vector<TensorType> m_inputs;
};

void check(const twb_op& op, const std::string& plugin) {
    const Op entry = entryOf(op, plugin);
    const Attributes attributes = completeAttributes(entry, {});
    // The element types of the first port; ports with the same variable follow.
    std::vector<DType> dtypes;
    for (const DType dtype : kAllDTypes)
        if (op.input_count == 0 || op.inputs[0].types & 1U << static_cast<unsigned>(dtype))
            dtypes.push_back(dtype);
    if (op.input_count == 0) dtypes.resize(1);
    for (const DType dtype : dtypes)
        for (const auto& shapes : trials()) {
            std::vector<TensorType> inputs;
            for (std::uint32_t i = 0; i < op.input_count; ++i) {
                const bool follows = i == 0 || (op.inputs[0].same && op.inputs[i].same &&
                                                std::strcmp(op.inputs[0].same, op.inputs[i].same) == 0);
                inputs.push_back({follows ? dtype : lowest(op.inputs[i].types),
                                  shapes[std::min<std::size_t>(i, shapes.size() - 1)]});
            }
            Trial(op, attributes, std::move(inputs)).run();
        }
}

} // namespace

int checkPluginHere(const std::filesystem::path& file) {
    GuardedMemory::watchAccesses();
    try {
        sayAt("its loading");
        const PluginLibrary library = PluginLibrary::load(file);
        for (std::uint32_t i = 0; i < library.table->op_count; ++i) {
            sayAt("its table of ops");
            check(library.op(i), library.table->name);
        }
        std::printf("ok\n");
        std::fflush(stdout);
        ::_exit(0); // without the library's destructors, which could crash after the answer
    } catch (const std::exception& error) {
        std::printf("bad %s\n", error.what());
        std::fflush(stdout);
    }
    ::_exit(3);
}

} // namespace twb
