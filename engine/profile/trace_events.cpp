#include "profile/trace_events.h"

#include "core/error.h"
#include "core/json_fault.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <istream>

namespace twb {
namespace {

constexpr std::size_t kMostNested = std::size_t{64}
                                    << 10; ///< bytes of an argument that is a list or an object
constexpr std::size_t kMostDevices = std::size_t{1} << 20; ///< bytes of the list of devices
constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 46;
constexpr std::int64_t kLongestNs = std::int64_t{86'400} * 1'000'000'000;
constexpr std::int64_t kLatestNs = std::int64_t{4'000'000'000'000'000'000};

/// Collects a nested value as JSON text. Beyond `most` bytes the text is given up.
class NestedText {
public:
    void begin(std::size_t most) {
        m_text.clear();
        m_depth = 0;
        m_most = most;
        m_isFull = false;
    }
    void open(char bracket) {
        separate();
        put(std::string_view(&bracket, 1));
        m_isFirst = true;
        ++m_depth;
    }
    /// Returns whether the whole value is closed.
    bool close(char bracket) {
        put(std::string_view(&bracket, 1));
        m_isFirst = false;
        return --m_depth == 0;
    }
    void key(const std::string& text) {
        scalar(quoted(text));
        put(":");
        m_isFirst = true;
    }
    void scalar(std::string_view text) {
        separate();
        put(text);
    }
    static std::string quoted(const std::string& text) {
        return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    std::string take() { return m_isFull ? std::string() : std::move(m_text); }

private:
    void separate() {
        if (!m_isFirst) put(",");
        m_isFirst = false;
    }
    void put(std::string_view text) {
        if (m_text.size() + text.size() > m_most) m_isFull = true;
        if (!m_isFull) m_text += text;
    }

    std::string m_text;
    std::size_t m_most = 0;
    std::size_t m_depth = 0;
    bool m_isFirst = true;
    bool m_isFull = false;
};

/// Receives the JSON and assembles the events. Everything else in the file is skipped.
class EventAssembler {
public:
    using Json = nlohmann::json;

    EventAssembler(const std::string& origin, const std::function<void(const TraceEvent&)>& take,
                   GzipInput* input)
        : m_origin(origin), m_take(take), m_input(input) {}

    bool null() { return scalar("", false); }
    bool boolean(bool value) { return scalar(value ? "true" : "false", false); }
    bool number_integer(Json::number_integer_t value) { return integer(value); }
    bool number_unsigned(Json::number_unsigned_t value) { return integer(value); }
    bool number_float(Json::number_float_t, const std::string& text) { return scalar(text, false); }
    bool string(std::string& value) { return scalar(value, true); }
    bool binary(Json::binary_t&) { return true; }
    bool start_object(std::size_t) { return open('{'); }
    bool end_object() { return close('}'); }
    bool start_array(std::size_t) { return open('['); }
    bool end_array() { return close(']'); }

    bool key(std::string& text) {
        mark();
        if (m_place == Place::nested)
            m_nested.key(text);
        else
            m_key.swap(text);
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
        const std::string place =
            m_facts.events > 0 ? fmt::format(", in or after event {}", m_facts.events - 1) : "";
        throw Error(ErrorCode::badFile, fmt::format("{}: not JSON, or cut off, at byte {}{}: {}", m_origin,
                                                    position, place, jsonFault(error.what())));
    }

    TraceFileFacts finish() {
        if (!m_hasEvents)
            throw Error(ErrorCode::badFile,
                        fmt::format("{}: not a trace: it is neither a list of events nor an object with "
                                    "\"traceEvents\"; write one with torch.profiler's export_chrome_trace() "
                                    "or ONNX Runtime's enable_profiling",
                                    m_origin));
        return std::move(m_facts);
    }

private:
    enum class Place : std::uint8_t {
        outside,   ///< before, after or instead of the list or object
        top,       ///< in the object
        events,    ///< in the list of events
        event,     ///< in an event
        arguments, ///< in its "args"
        nested,    ///< in a value that is kept as text
        skipped,   ///< in a value that is not kept
    };

    template <class Number> bool integer(Number value) {
        char text[24];
        const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
        return scalar({text, static_cast<std::size_t>(end - text)}, false);
    }

    bool scalar(std::string_view text, bool isString) {
        mark();
        switch (m_place) {
        case Place::event:
            field(text);
            break;
        case Place::arguments:
            argument() = text;
            break;
        case Place::nested:
            m_nested.scalar(isString ? NestedText::quoted(std::string(text))
                                     : std::string(text.empty() ? "null" : text));
            break;
        case Place::events:
            notAnEvent();
        case Place::top:
            if (m_key == "traceEvents") notAList();
            break;
        case Place::outside:
        case Place::skipped:
            break;
        }
        return true;
    }

    bool open(char bracket) {
        mark();
        switch (m_place) {
        case Place::outside:
            if (bracket == '[') {
                m_isList = true;
                startEvents();
            } else {
                m_place = Place::top;
            }
            break;
        case Place::top:
            if (m_key == "traceEvents") {
                if (bracket != '[') notAList();
                if (m_hasEvents)
                    throw Error(ErrorCode::badFile,
                                fmt::format("{}: it has two lists \"traceEvents\"", m_origin));
                startEvents();
            } else {
                m_isDevices = m_key == "deviceProperties";
                keepOrSkip(m_isDevices, kMostDevices, bracket);
            }
            break;
        case Place::events:
            if (bracket != '{') notAnEvent();
            startEvent();
            break;
        case Place::event:
            if (m_key == "args" && bracket == '{')
                m_place = Place::arguments;
            else
                keepOrSkip(false, 0, bracket);
            break;
        case Place::arguments:
            m_isDevices = false;
            keepOrSkip(true, kMostNested, bracket);
            break;
        case Place::nested:
            m_nested.open(bracket);
            break;
        case Place::skipped:
            ++m_skipped;
            break;
        }
        return true;
    }

    bool close(char bracket) {
        mark();
        switch (m_place) {
        case Place::outside:
            break;
        case Place::top:
            m_place = Place::outside;
            break;
        case Place::events:
            m_place = m_isList ? Place::outside : Place::top;
            break;
        case Place::event:
            m_place = Place::events;
            m_take(m_event);
            break;
        case Place::arguments:
            m_place = Place::event;
            break;
        case Place::nested:
            if (!m_nested.close(bracket)) break;
            m_place = m_before;
            if (m_isDevices)
                readDevices(m_nested.take());
            else
                argument() = m_nested.take();
            break;
        case Place::skipped:
            if (--m_skipped == 0) m_place = m_before;
            break;
        }
        return true;
    }

    void keepOrSkip(bool keep, std::size_t most, char bracket) {
        m_before = m_place;
        m_place = keep ? Place::nested : Place::skipped;
        m_skipped = 1;
        if (!keep) return;
        m_nested = {};
        m_nested.begin(most);
        m_nested.open(bracket);
    }

    void startEvents() {
        m_place = Place::events;
        m_hasEvents = true;
    }

    void startEvent() {
        m_place = Place::event;
        m_event.index = m_facts.events++;
        for (std::string* text :
             {&m_event.phase, &m_event.category, &m_event.name, &m_event.process, &m_event.thread})
            text->clear();
        m_event.startNs.reset();
        m_event.durationNs.reset();
        m_event.argumentCount = 0;
    }

    void field(std::string_view text) {
        if (m_key == "ph")
            m_event.phase = text;
        else if (m_key == "cat")
            m_event.category = text;
        else if (m_key == "name")
            m_event.name = text;
        else if (m_key == "pid")
            m_event.process = text;
        else if (m_key == "tid")
            m_event.thread = text;
        else if (m_key == "ts")
            m_event.startNs = nanoseconds(text);
        else if (m_key == "dur")
            m_event.durationNs = nanoseconds(text);
        if (m_event.durationNs && (*m_event.durationNs < 0 || *m_event.durationNs > kLongestNs))
            m_event.durationNs.reset();
    }

    /// The text of the argument with the current key.
    std::string& argument() {
        if (m_event.argumentCount == m_event.arguments.size()) m_event.arguments.emplace_back();
        auto& [key, value] = m_event.arguments[m_event.argumentCount++];
        key = m_key;
        return value;
    }

    void readDevices(const std::string& text) {
        const Json list = Json::parse(text, nullptr, false);
        if (!list.is_array()) return;
        for (const Json& row : list) {
            if (!row.is_object() || !row.contains("id") || !row["id"].is_number_integer()) continue;
            TraceDevice device;
            device.id = row["id"].get<std::int64_t>();
            if (row.contains("name") && row["name"].is_string()) device.name = row["name"].get<std::string>();
            if (row.contains("totalGlobalMem") && row["totalGlobalMem"].is_number_unsigned())
                device.memoryBytes = row["totalGlobalMem"].get<std::uint64_t>();
            m_facts.devices.push_back(std::move(device));
        }
    }

    void mark() {
        if (m_input) m_input->mark();
    }

    [[noreturn]] void notAList() const {
        throw Error(ErrorCode::badFile, fmt::format("{}: its \"traceEvents\" is not a list", m_origin));
    }
    [[noreturn]] void notAnEvent() const {
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: event {} of its list is not an object", m_origin, m_facts.events));
    }

    const std::string& m_origin;
    const std::function<void(const TraceEvent&)>& m_take;
    GzipInput* m_input;
    TraceFileFacts m_facts;
    TraceEvent m_event;
    NestedText m_nested;
    std::string m_key;
    Place m_place = Place::outside;
    Place m_before = Place::outside; ///< the place to which a nested or skipped value returns
    std::size_t m_skipped = 0;
    bool m_isDevices = false;
    bool m_hasEvents = false;
    bool m_isList = false; ///< the file is a list of events, not an object
};

} // namespace

std::string_view TraceEvent::argument(std::string_view key) const noexcept {
    for (std::size_t i = argumentCount; i > 0; --i)
        if (arguments[i - 1].first == key) return arguments[i - 1].second;
    return {};
}

std::optional<std::uint64_t> TraceEvent::number(std::string_view key) const noexcept {
    return wholeNumber(argument(key));
}

std::optional<std::uint64_t> wholeNumber(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > kLargestNumber) return {};
    return value;
}

std::optional<std::int64_t> nanoseconds(std::string_view text) noexcept {
    const char* const end = text.data() + text.size();
    if (text.find_first_of("eE") != std::string_view::npos) {
        double value = 0;
        const auto [at, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || at != end || !(std::abs(value) < static_cast<double>(kLatestNs) / 1e3))
            return {};
        return static_cast<std::int64_t>(value * 1e3);
    }
    std::int64_t whole = 0;
    auto [at, error] = std::from_chars(text.data(), end, whole);
    constexpr std::int64_t kLatest = kLatestNs / 1000 - 1;
    if (error != std::errc() || whole > kLatest || whole < -kLatest) return {};
    std::int64_t ns = whole * 1000;
    if (at == end) return ns;
    if (*at != '.') return {};
    const std::int64_t sign = text.front() == '-' ? -1 : 1;
    std::int64_t unit = 100;
    for (++at; at != end; ++at, unit /= 10) {
        if (*at < '0' || *at > '9') return {};
        ns += sign * unit * (*at - '0');
    }
    return ns;
}

TraceFileFacts readTraceEvents(const std::filesystem::path& path,
                               const std::function<void(const TraceEvent&)>& take,
                               const ReadProgress& progress) {
    const std::string origin = path.string();
    GzipInput input(path, progress);
    std::istream stream(&input);
    EventAssembler assembler(origin, take, &input);
    nlohmann::json::sax_parse(stream, &assembler);
    return assembler.finish();
}

TraceFileFacts parseTraceEvents(std::string_view json, const std::string& origin,
                                const std::function<void(const TraceEvent&)>& take) {
    EventAssembler assembler(origin, take, nullptr);
    nlohmann::json::sax_parse(json.begin(), json.end(), &assembler);
    return assembler.finish();
}

} // namespace twb
