#include "formats/safetensors_header.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// In the order of DType. The format has no integers of less than 8 bits: see kPackedKey.
constexpr std::array<std::string_view, kDTypeCount - 4> kNames{
    "F32", "F64", "F16",  "BF16",    "I8",          "I16",     "I32",         "I64",     "U8", "U16",
    "U32", "U64", "BOOL", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0", "F4"};
/// In the metadata, this and a tensor's name stand before its type ("i4[512,256]") if the format cannot
/// express it. The tensor itself is then its bytes, as U8.
constexpr std::string_view kPackedKey = "packed:";
constexpr std::size_t kMostSides = 64; // NumPy's limit
/// Lists and objects within a field that the format does not define; such a field is skipped.
constexpr int kDeepestNesting = 16;

/// Reads the header's JSON events. The header is an object of tensors, each of which is an object of fields.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit HeaderReader(const std::string& origin) : m_origin(origin) {}

    SafetensorsHeader take() {
        for (auto at = m_header.metadata.begin(); at != m_header.metadata.end();) {
            if (!at->first.starts_with(kPackedKey)) {
                ++at;
                continue;
            }
            setPackedType(at->first.substr(kPackedKey.size()), at->second);
            at = m_header.metadata.erase(at);
        }
        return std::move(m_header);
    }

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool number_unsigned(number_unsigned_t number) override {
        if (!m_list) return value();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            refuseTensor(fmt::format("\"{}\" has {}, which overflows 63 bits", m_field, number));
        if (m_list->size() == kMostSides)
            refuseTensor(fmt::format("\"{}\" has more than {} entries", m_field, kMostSides));
        m_list->push_back(static_cast<std::int64_t>(number));
        return true;
    }
    bool string(string_t& text) override {
        if (m_depth == 2 && m_inMetadata) {
            m_header.metadata[m_field] = std::move(text);
            return true;
        }
        if (m_depth != 2 || m_field != "dtype") return value();
        const auto known = std::find(kNames.begin(), kNames.end(), text);
        if (known == kNames.end())
            refuseTensor(fmt::format("it has dtype {}; supported are {}", text, fmt::join(kNames, ", ")));
        m_dtype = kAllDTypes[static_cast<std::size_t>(known - kNames.begin())];
        return true;
    }

    bool start_object(std::size_t) override {
        if (m_depth > 1) (void)value();
        return deeper();
    }
    bool start_array(std::size_t) override {
        if (m_depth == 0) refuse("its header is not a JSON object");
        if (m_depth == 2 && !m_inMetadata && (m_field == "shape" || m_field == "data_offsets"))
            m_list = m_field == "shape" ? &m_shape.emplace() : &m_offsets.emplace();
        else
            (void)value();
        return deeper();
    }
    bool key(string_t& name) override {
        (m_depth == 1 ? m_tensor : m_field) = std::move(name);
        if (m_depth != 1) return true;
        m_inMetadata = m_tensor == "__metadata__";
        m_dtype.reset();
        m_shape.reset();
        m_offsets.reset();
        return true;
    }
    bool end_array() override {
        m_list = nullptr;
        --m_depth;
        return true;
    }
    bool end_object() override {
        if (--m_depth == 1 && !m_inMetadata) addTensor();
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        refuse("its header is not a JSON object");
    }

private:
    [[noreturn]] void refuse(const std::string& problem) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", m_origin, problem));
    }
    [[noreturn]] void refuseTensor(const std::string& problem) const {
        refuse(fmt::format("tensor \"{}\": {}", m_tensor, problem));
    }

    void setPackedType(const std::string& tensor, const std::string& text) {
        const std::optional<TensorType> type = parseTensorType(text);
        const auto at = m_header.tensors.find(tensor);
        m_tensor = tensor;
        if (!type || at == m_header.tensors.end())
            refuseTensor(fmt::format("the metadata gives it the type \"{}\", which is {}", text,
                                     type ? "for no tensor of the file" : "not a type"));
        const TensorType bytes{DType::u8, Shape{byteCountOf(*type)}};
        if (!(at->second.type == bytes))
            refuseTensor(fmt::format("the metadata gives it the type {}, but it is {}", text,
                                     at->second.type.toString()));
        at->second.type = *type;
    }

    std::int64_t byteCountOf(const TensorType& type) const {
        try {
            return type.byteCount();
        } catch (const Error& error) {
            refuseTensor(error.what());
        }
    }

    /// Reports a value that the format does not allow in this place, except within an undefined field, where
    /// every value is allowed.
    bool value() const {
        if (m_depth == 0) refuse("its header is not a JSON object");
        if (m_depth == 1) refuseTensor("it has no dtype");
        if (m_inMetadata) refuse(fmt::format("the entry \"{}\" of its metadata is not a string", m_field));
        if (m_depth == 2 && m_field == "dtype") refuseTensor("it has no dtype");
        if (m_list || (m_depth == 2 && (m_field == "shape" || m_field == "data_offsets")))
            refuseTensor(fmt::format("\"{}\" is not a list of whole numbers", m_field));
        return true;
    }

    bool deeper() {
        if (++m_depth > kDeepestNesting)
            refuse(fmt::format("its header is nested more than {} levels deep", kDeepestNesting));
        return true;
    }

    void addTensor() {
        if (!m_dtype) refuseTensor("it has no dtype");
        if (!m_shape) refuseTensor("\"shape\" is not a list of whole numbers");
        if (!m_offsets || m_offsets->size() != 2)
            refuseTensor("\"data_offsets\" is not a list of two numbers");
        SafetensorsHeader::Entry entry{{*m_dtype, Shape(std::move(*m_shape))},
                                       static_cast<std::uint64_t>(m_offsets->front()),
                                       static_cast<std::uint64_t>(m_offsets->back())};
        (void)byteCountOf(entry.type);
        if (!m_header.tensors.emplace(m_tensor, std::move(entry)).second)
            refuseTensor("the header lists it twice");
    }

    const std::string& m_origin;
    SafetensorsHeader m_header;
    int m_depth = 0;
    bool m_inMetadata = false;
    std::string m_tensor;
    std::string m_field;
    std::optional<DType> m_dtype;
    std::optional<std::vector<std::int64_t>> m_shape;
    std::optional<std::vector<std::int64_t>> m_offsets;
    std::vector<std::int64_t>* m_list = nullptr; ///< which of the two is being read
};

} // namespace

SafetensorsHeader parseSafetensorsHeader(std::string_view text, const std::string& origin) {
    HeaderReader reader(origin);
    (void)nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
    return reader.take();
}

SafetensorsForm safetensorsForm(const std::string& name, const TensorType& type) {
    const auto at = static_cast<std::size_t>(type.dtype);
    const bool fillsBytes = type.shape.elementCount() * bitsOf(type.dtype) % 8 == 0;
    if (at < kNames.size() && fillsBytes) return {kNames[at], type.shape, {}};
    const std::string text = fmt::format("{}[{}]", twb::name(type.dtype), fmt::join(type.shape, ","));
    return {"U8", Shape{type.byteCount()}, {{fmt::format("{}{}", kPackedKey, name), text}}};
}

} // namespace twb
