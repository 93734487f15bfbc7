#include "formats/npy_header.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace twb {
namespace {

static_assert(std::endian::native == std::endian::little, "files are swapped from and to little endian only");

constexpr std::size_t kLargestRank = 64; // NumPy's limit

struct NpyType {
    DType dtype;
    std::string_view code;
};
constexpr std::array<NpyType, 12> kTypes{{{DType::f32, "f4"},
                                          {DType::f64, "f8"},
                                          {DType::f16, "f2"},
                                          {DType::i8, "i1"},
                                          {DType::i16, "i2"},
                                          {DType::i32, "i4"},
                                          {DType::i64, "i8"},
                                          {DType::u8, "u1"},
                                          {DType::u16, "u2"},
                                          {DType::u32, "u4"},
                                          {DType::u64, "u8"},
                                          {DType::boolean, "b1"}}};

/// A parser for the Python literals of .npy headers.
class HeaderParser {
public:
    HeaderParser(std::string_view text, const std::string& origin) : m_text(text), m_origin(origin) {}

    NpyHeader parse() {
        expect('{');
        while (!accept('}')) {
            const std::string_view key = text();
            expect(':');
            if (key == "descr" && !m_hasType)
                type();
            else if (key == "fortran_order" && !m_hasOrder)
                order();
            else if (key == "shape" && !m_hasShape)
                shape();
            else
                refuse(fmt::format("its header has an unexpected key \"{}\"", key.substr(0, 40)));
            if (accept(',')) continue;
            expect('}');
            break;
        }
        skipSpace();
        if (m_at != m_text.size()) refuse("its header has extra text after the closing brace");
        if (!m_hasType || !m_hasOrder || !m_hasShape)
            refuse("its header must have \"descr\", \"fortran_order\" and \"shape\"");
        checkSize();
        return m_header;
    }

private:
    [[noreturn]] void refuse(const std::string& problem) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", m_origin, problem));
    }
    [[noreturn]] void refuseSyntax() const {
        refuse(fmt::format("its header cannot be understood at character {}", m_at + 1));
    }

    void skipSpace() {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\n' || m_text[m_at] == '\t'))
            ++m_at;
    }
    bool accept(char c) {
        skipSpace();
        if (m_at >= m_text.size() || m_text[m_at] != c) return false;
        ++m_at;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) refuseSyntax();
    }
    bool acceptWord(std::string_view word) {
        skipSpace();
        if (m_text.substr(m_at, word.size()) != word) return false;
        m_at += word.size();
        return true;
    }

    std::string_view text() {
        const char quote = accept('"') ? '"' : '\'';
        if (quote == '\'') expect('\'');
        const auto end = m_text.find(quote, m_at);
        if (end == std::string_view::npos) refuseSyntax();
        const std::string_view inside = m_text.substr(m_at, end - m_at);
        if (inside.find('\\') != std::string_view::npos)
            refuseSyntax(); // NumPy's field names need no escapes
        m_at = end + 1;
        return inside;
    }

    void type() {
        skipSpace();
        if (m_at < m_text.size() && (m_text[m_at] == '[' || m_text[m_at] == '('))
            refuse("it holds records (a structured dtype); save each field as its own array");
        const std::string_view descr = text();
        std::string_view code = descr;
        if (!code.empty() && std::string_view("<>|=").find(code.front()) != std::string_view::npos) {
            m_header.bigEndian = code.front() == '>';
            code.remove_prefix(1);
        }
        if (code.starts_with('O'))
            refuse("it holds pickled objects, which are refused because they can run code");
        const auto known =
            std::find_if(kTypes.begin(), kTypes.end(), [&](const NpyType& t) { return t.code == code; });
        if (known == kTypes.end())
            refuse(fmt::format("its dtype \"{}\" is not supported", descr.substr(0, 40)));
        m_header.type.dtype = known->dtype;
        m_hasType = true;
    }

    void order() {
        m_header.fortranOrder = acceptWord("True");
        if (!m_header.fortranOrder && !acceptWord("False")) refuseSyntax();
        m_hasOrder = true;
    }

    void shape() {
        std::vector<std::int64_t> dims;
        expect('(');
        while (!accept(')')) {
            skipSpace();
            std::int64_t dim = 0;
            const char* end = m_text.data() + m_text.size();
            const auto [parsed, failed] = std::from_chars(m_text.data() + m_at, end, dim);
            if (failed == std::errc::result_out_of_range)
                refuse(fmt::format("dimension {} of its shape overflows 64 bits", dims.size() + 1));
            if (failed != std::errc()) refuseSyntax();
            if (dim < 0) refuse(fmt::format("a dimension of its shape is {}, but must not be negative", dim));
            m_at = static_cast<std::size_t>(parsed - m_text.data());
            if (m_at < m_text.size() && m_text[m_at] == 'L') ++m_at; // long integers of Python 2
            dims.push_back(dim);
            if (dims.size() > kLargestRank)
                refuse(fmt::format("its shape has more than {} dimensions", kLargestRank));
            if (accept(',')) continue;
            expect(')');
            if (dims.size() == 1) refuse("its shape is written as (n), not as the tuple (n,)");
            break;
        }
        m_header.type.shape = Shape(std::move(dims));
        m_hasShape = true;
    }

    void checkSize() const {
        try {
            (void)m_header.type.byteCount();
        } catch (const Error& error) {
            refuse(error.what());
        }
    }

    std::string_view m_text;
    const std::string& m_origin;
    std::size_t m_at = 0;
    NpyHeader m_header;
    bool m_hasType = false;
    bool m_hasOrder = false;
    bool m_hasShape = false;
};

} // namespace

NpyHeader parseNpyHeader(std::string_view dictionary, const std::string& origin) {
    return HeaderParser(dictionary, origin).parse();
}

std::string makeNpyHeader(const TensorType& type, const std::string& origin) {
    const auto known =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const NpyType& t) { return t.dtype == type.dtype; });
    if (known == kTypes.end())
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: a .npy file cannot hold {}; cast the tensor to f32 first", origin,
                                name(type.dtype)));
    std::string sides;
    for (const std::int64_t dim : type.shape) sides += fmt::format("{}{}", sides.empty() ? "" : ", ", dim);
    if (type.shape.rank() == 1) sides += ',';
    std::string dictionary = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                         sizeOf(type.dtype) == 1 ? '|' : '<', known->code, sides);
    constexpr std::size_t kBoundary = 64;
    const std::size_t bare = kNpyPreamble + 2 + dictionary.size() + 1;
    dictionary.append((kBoundary - bare % kBoundary) % kBoundary, ' ');
    dictionary += '\n';
    std::string header("\x93NUMPY\x01\x00", kNpyPreamble);
    header += static_cast<char>(dictionary.size() & 0xff);
    header += static_cast<char>(dictionary.size() >> 8);
    return header + dictionary;
}

} // namespace twb
