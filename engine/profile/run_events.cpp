#include "profile/run_events.h"

#include "core/error.h"
#include "core/json_fault.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>
#include <utility>

namespace twb {
namespace {

using Json = nlohmann::json;

constexpr auto kWriteEvery = std::chrono::milliseconds(50);
constexpr int kRanksEvery = 4; ///< writes
constexpr std::string_view kFormat = "tensor-workbench-run";
constexpr int kVersion = 1;

std::string lineOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// JSON has no NaN and no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }
double numberFrom(const Json& json) {
    return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}

Json toJson(const ProbeValue& probe) {
    return {probe.name,
            probe.type,
            probe.elements,
            number(probe.value),
            number(probe.minimum),
            number(probe.maximum),
            number(probe.mean),
            probe.notANumber,
            probe.digits};
}

std::uint32_t stepFrom(const Json& json, const Plan& plan) {
    const auto most = static_cast<std::int64_t>(plan.steps.size()) - 1;
    return static_cast<std::uint32_t>(wholeFrom(json, "a step", 0, most));
}
StepState stateFrom(const Json& json) { return enumFrom(json, "the state of a step", StepState::cancelled); }

ProbeValue probeFrom(const Json& json) {
    return {json.at(0),
            json.at(1),
            json.at(2),
            numberFrom(json.at(3)),
            json.at(8),
            numberFrom(json.at(4)),
            numberFrom(json.at(5)),
            numberFrom(json.at(6)),
            json.at(7)};
}

Json toJson(const LiveRank& rank) {
    return {number(rank.pace.iterationNs),
            number(rank.pace.iterations),
            number(rank.pace.samplesPerSecond),
            number(rank.pace.waitNs),
            rank.pace.isModelled,
            rank.node,
            rank.isKnown,
            rank.hasWait};
}

LiveRank liveRankFrom(const Json& json) {
    LiveRank out;
    out.pace.iterationNs = numberFrom(json.at(0));
    out.pace.iterations = numberFrom(json.at(1));
    out.pace.samplesPerSecond = numberFrom(json.at(2));
    out.pace.waitNs = numberFrom(json.at(3));
    out.pace.isModelled = json.at(4);
    out.node = json.at(5);
    out.isKnown = json.at(6);
    out.hasWait = json.at(7);
    return out;
}

} // namespace

std::vector<ProbeValue> gatherProbes(World& world, std::vector<ProbeValue> own) {
    Json rows = Json::array();
    for (const ProbeValue& probe : own) rows.push_back(toJson(probe));
    const std::vector<std::string> all =
        gatherTexts(world, rows.dump(-1, ' ', false, Json::error_handler_t::replace), "probes");
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        for (const Json& row : Json::parse(all[rank])) own.push_back(probeFrom(row));
    return own;
}

RunEventWriter::RunEventWriter(const std::filesystem::path& path, const Plan& plan, std::int64_t iterations,
                               std::function<std::vector<LiveRank>()> ranks, std::uint64_t whole)
    : m_path(path), m_ranks(std::move(ranks)), m_whole(whole),
      m_file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (m_file < 0)
        throw Error(ErrorCode::io, fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
    write(lineOf({{"format", kFormat},
                  {"version", kVersion},
                  {"iterations", iterations},
                  {"plan", planToJson(plan)}}));
    m_written = 0; // a large plan leaves as much room for records
    m_thread = std::thread([this] { work(); });
}

RunEventWriter::~RunEventWriter() {
    {
        const std::lock_guard lock(m_mutex);
        m_isEnding = true;
    }
    m_wake.notify_all();
    if (m_thread.joinable()) m_thread.join();
    ::close(m_file);
}

void RunEventWriter::add(std::span<const StepRecord> records) {
    const std::lock_guard lock(m_mutex);
    if (m_waiting.size() + records.size() > kMostWaiting)
        m_leftOut += records.size();
    else
        m_waiting.insert(m_waiting.end(), records.begin(), records.end());
}

void RunEventWriter::progress(std::int64_t done) {
    const std::lock_guard lock(m_mutex);
    m_done = done;
}

void RunEventWriter::work() {
    for (int round = 0;; ++round) {
        if (m_ranks && round % kRanksEvery == 0) writeRanks();
        {
            std::unique_lock lock(m_mutex);
            if (m_wake.wait_for(lock, kWriteEvery, [this] { return m_isEnding; })) break;
        }
        flush();
    }
    flush();
}

void RunEventWriter::flush() {
    std::vector<StepRecord> records;
    std::int64_t done = 0;
    std::uint64_t leftOut = 0;
    {
        const std::lock_guard lock(m_mutex);
        std::swap(records, m_waiting);
        done = m_done;
        leftOut = m_leftOut;
    }
    if (records.empty() && done == std::exchange(m_said, done)) return;
    if (m_written > m_whole && !records.empty()) {
        const std::uint32_t last = records.back().iteration;
        const std::uint64_t erased =
            std::erase_if(records, [last](const StepRecord& r) { return r.iteration != last; });
        // add() may have counted more meanwhile.
        const std::lock_guard lock(m_mutex);
        m_leftOut += erased;
        leftOut = m_leftOut;
    }
    fmt::memory_buffer line;
    auto out = std::back_inserter(line);
    fmt::format_to(out, R"({{"done":{},"left_out":{},"records":[)", done, leftOut);
    for (const StepRecord& r : records) {
        if (&r != records.data()) line.push_back(',');
        fmt::format_to(out, "[{},{},{},{},{},{},{}]", r.step, r.iteration, static_cast<int>(r.state),
                       r.startNs, r.endNs - r.startNs, r.bytes, r.waitNs.value_or(-1));
    }
    fmt::format_to(out, "]}}\n");
    write({line.data(), line.size()});
}

void RunEventWriter::writeRanks() {
    std::vector<LiveRank> ranks = m_ranks();
    if (ranks == m_lastRanks) return;
    Json rows = Json::array();
    for (const LiveRank& rank : ranks) rows.push_back(toJson(rank));
    const std::size_t written = m_written;
    write(lineOf({{"ranks_now", std::move(rows)}}));
    m_written = written; // the limit is that of records
    m_lastRanks = std::move(ranks);
}

void RunEventWriter::write(std::string_view line) {
    m_written += line.size();
    while (!line.empty() && m_error == 0) {
        const ssize_t wrote = ::write(m_file, line.data(), line.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0)
            m_error = errno;
        else
            line.remove_prefix(static_cast<std::size_t>(wrote));
    }
}

void RunEventWriter::end(const RunResult& result, const std::vector<ProbeValue>& probes,
                         const std::vector<RankPace>& ranks) {
    {
        const std::lock_guard lock(m_mutex);
        m_isEnding = true;
    }
    m_wake.notify_all();
    m_thread.join();
    Json errors = Json::array();
    for (const StepError& error : result.errors)
        errors.push_back({error.step, value(error.node), static_cast<int>(error.code), error.message});
    Json memory = Json::array();
    for (const auto& [device, stats] : result.memory)
        memory.push_back({device.toString(), stats.used, stats.peak, stats.cached, stats.total});
    Json states = Json::array();
    for (const StepState state : result.states) states.push_back(static_cast<int>(state));
    Json shown = Json::array();
    for (const ProbeValue& probe : probes) shown.push_back(toJson(probe));
    write(lineOf({{"end", static_cast<int>(result.status)},
                  {"iterations", result.iterations},
                  {"wall", result.wallNs},
                  {"clock", result.clockNs},
                  {"setup", result.setupNs},
                  {"prepare", result.prepareNs},
                  {"states", std::move(states)},
                  {"errors", std::move(errors)},
                  {"memory", std::move(memory)},
                  {"probes", std::move(shown)},
                  {"ranks", toJson(ranks)}}));
    if (m_error != 0)
        throw Error(ErrorCode::io,
                    fmt::format("cannot write {}: {}", m_path.string(), std::strerror(m_error)));
}

void StreamedRun::read(std::string_view line) {
    const auto refuse = [](const char* why) { throw Error(ErrorCode::badFile, why); };
    const auto explain = [](const std::string& why) {
        throw Error(ErrorCode::badFile, fmt::format("the events of the run are not understood: {}", why));
    };
    try {
        const Json json = Json::parse(line);
        if (!m_plan) {
            if (json.at("format") != kFormat || json.at("version") != kVersion)
                refuse("the first line is not the header of a run");
            m_iterations = wholeFrom(json.at("iterations"), "the number of iterations");
            m_plan = planFromJson(json.at("plan"));
            return;
        }
        if (const auto ranks = json.find("ranks_now"); ranks != json.end()) {
            m_liveRanks.clear();
            for (const Json& rank : *ranks) m_liveRanks.push_back(liveRankFrom(rank));
            return;
        }
        if (const auto records = json.find("records"); records != json.end()) {
            for (const Json& one : *records) {
                StepRecord record;
                record.step = stepFrom(one.at(0), *m_plan);
                record.iteration =
                    static_cast<std::uint32_t>(wholeFrom(one.at(1), "an iteration", 0, UINT32_MAX));
                record.state = stateFrom(one.at(2));
                const std::int64_t waitNs = wholeFrom(one.at(6), "a wait", -1);
                if (!m_times.set(record, wholeFrom(one.at(3), "a start", INT64_MIN),
                                 wholeFrom(one.at(4), "a duration"),
                                 waitNs < 0 ? std::nullopt : std::optional(waitNs)))
                    refuse("the times of a step are too large");
                record.bytes = one.at(5);
                m_records.push_back(record);
            }
            m_done = wholeFrom(json.at("done"), "the number of iterations");
            m_leftOut = json.at("left_out");
            return;
        }
        RunResult result;
        result.status = enumFrom(json.at("end"), "the end", RunStatus::cancelled);
        result.iterations = m_done = wholeFrom(json.at("iterations"), "the number of iterations");
        result.requested = m_iterations;
        result.wallNs = wholeFrom(json.at("wall"), "the time");
        result.clockNs = wholeFrom(json.at("clock"), "the time");
        result.setupNs = wholeFrom(json.at("setup"), "the time of the setup");
        result.prepareNs = wholeFrom(json.at("prepare"), "the time of the preparation");
        for (const Json& state : json.at("states")) result.states.push_back(stateFrom(state));
        if (!result.states.empty() && result.states.size() != m_plan->steps.size())
            refuse("it has the states of other steps");
        for (const Json& error : json.at("errors"))
            result.errors.push_back({error.at(0) == kNone ? kNone : stepFrom(error.at(0), *m_plan),
                                     NodeId{error.at(1).get<std::uint64_t>()},
                                     enumFrom(error.at(2), "a kind of error", ErrorCode::failed),
                                     error.at(3)});
        for (const Json& memory : json.at("memory"))
            if (const auto device = Device::parse(memory.at(0).get<std::string>()))
                result.memory.emplace_back(
                    *device, MemoryStats{memory.at(1), memory.at(2), memory.at(3), memory.at(4)});
        for (const Json& probe : json.at("probes")) m_probes.push_back(probeFrom(probe));
        m_ranks = pacesFrom(json.at("ranks"));
        m_result = std::move(result);
    } catch (const nlohmann::json::exception& error) {
        explain(jsonFault(error.what()));
    } catch (const Error& error) {
        explain(error.what());
    }
}

std::vector<StepRecord> StreamedRun::takeRecords() { return std::exchange(m_records, {}); }

} // namespace twb
