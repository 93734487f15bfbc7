#pragma once

#include "core/error.h"
#include "formats/npy_header.h"
#include "formats/npz.h"
#include "formats/onnx/onnx_model.h"
#include "formats/project.h"
#include "formats/pytorch/capture.h"
#include "formats/pytorch/pt2.h"
#include "placement/analysis.h"
#include "profile/kineto_ledger.h"
#include "profile/run_course.h"
#include "profile/run_events.h"
#include "profile/run_timeline.h"
#include "profile/run_trace.h"
#include "profile/trace.h"
#include "profile/transfer_series.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
#include <zip.h>

// The contract that the fuzzers and the mutation test check for the parsers: any bytes give an error message
// or a value, and every value is valid. A violation aborts.

namespace twb::fuzz {

inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s\n", promise);
    std::abort();
}

inline void simplified(const Graph& graph, const Simplified& simpler) {
    Graph now = graph;
    now.apply(simpler.delta);
    now.apply(simpler.delta.inverse());
    require(now == graph, "a simplification can be undone");
}

/// True if the bytes are a project.
inline bool project(std::string_view bytes) {
    Graph graph;
    try {
        graph = parseProject(bytes, "input");
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad project is an Error(badFile)");
        require(std::string_view(e.what()).starts_with("input: "), "the sentence names the file");
        return false;
    }
    const std::string text = toProjectText(graph);
    const Graph back = parseProject(text, "saved");
    require(back == graph, "what was saved reads back as the same graph");
    require(toProjectText(back) == text, "saving twice gives the same bytes");
    analyze(graph, DeviceMap(), graph.info().policy, nullptr);
    simplified(graph, simplify(graph, {}));
    return true;
}

/// True if the bytes are a .npy header's dictionary.
inline bool npyHeader(std::string_view bytes) {
    NpyHeader header;
    try {
        header = parseNpyHeader(bytes, "input");
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad header is an Error(badFile)");
        return false;
    }
    require(header.type.byteCount() >= 0, "a shape that was read has a size");
    const std::string whole = makeNpyHeader(header.type, "input");
    const NpyHeader back = parseNpyHeader(std::string_view(whole).substr(kNpyPreamble + 2), "saved");
    require(back.type == header.type, "a header that was written reads back as the same type");
    return true;
}

/// True if the bytes, written to `file`, are a .npz file all of whose tensors can be read.
inline bool npz(std::string_view bytes, const std::filesystem::path& file) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bool whole = true;
    const auto attempt = [&](const auto& act) {
        try {
            act();
        } catch (const Error& e) {
            require(e.code() == ErrorCode::badFile, "a bad archive is an Error(badFile)");
            require(std::string_view(e.what()).starts_with(file.string()), "the sentence names the file");
            whole = false;
        }
    };
    attempt([&] {
        const Npz archive(file);
        for (const std::string& name : archive.names())
            attempt([&] {
                const TensorType type = archive.typeOf(name);
                const auto size = static_cast<std::uint64_t>(type.byteCount());
                require(size <= 1032 * bytes.size(), "no tensor is larger than its bytes can make it");
                const Tensor tensor = Tensor::onHost(type);
                archive.read(name, tensor.view());
            });
        whole = whole && !archive.names().empty();
    });
    return whole;
}

/// True if the bytes are a trace of PyTorch's profiler.
inline bool kinetoTrace(std::string_view bytes) {
    KinetoLedger ledger;
    try {
        ledger = makeKinetoLedger(parseKinetoTrace(bytes, "input"));
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad trace is an Error(badFile)");
        require(std::string_view(e.what()).starts_with("input: "), "the sentence names the file");
        return false;
    }
    for (const KinetoDevice& device : ledger.devices) {
        std::int64_t idleNs = 0;
        for (const KinetoIdle& row : device.idle) idleNs += row.totalNs;
        require(idleNs == device.spanNs - device.busyNs, "the causes of idle time add up to it");
    }
    for (const KinetoTransfer& row : ledger.transfers)
        require(row.hiddenNs >= 0 && row.hiddenNs <= row.totalNs && row.cpuWaitNs <= row.totalNs,
                "no part of a copy's time is longer than the copy");
    require(!toText(ledger).empty() && !toJson(ledger).empty() && !toCsv(ledger).empty(),
            "it can be printed");
    return true;
}

/// Makes all figures of a run that was read.
inline void figures(const std::shared_ptr<const Plan>& plan, std::span<const StepRecord> records,
                    RunResult result) {
    Ledger ledger(plan);
    StepTimes times(plan);
    RunTimeline timeline(plan);
    TransferSeries series(plan);
    TraceRecorder trace(plan);
    ledger.add(records);
    times.add(records);
    timeline.add(records);
    timeline.finish();
    series.add(records);
    trace.add(records);
    RunReport report;
    report.file = "g.twb";
    report.plan = plan;
    report.ledger = &ledger;
    report.steps = &times;
    report.timeline = &timeline;
    report.result = std::move(result);
    std::ostringstream written;
    trace.write(written);
    require(!toTable(report, false).empty() && !toJson(report).empty() && !toCsv(series).empty() &&
                !written.str().empty(),
            "a run can be printed");
    const RunCourse course = courseOf(*plan, records);
    require(course.critical.size() <= records.size(), "no step is twice on the critical path");
    flowsOf(*plan, records);
}

/// True if the bytes are the events of a whole run.
inline bool runEvents(std::string_view bytes) {
    StreamedRun run;
    std::vector<StepRecord> records;
    try {
        while (!bytes.empty()) {
            const std::string_view line = bytes.substr(0, bytes.find('\n'));
            bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
            run.read(line);
            for (const StepRecord& record : run.takeRecords()) records.push_back(record);
        }
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad event is an Error(badFile)");
    }
    if (run.plan()) figures(run.plan(), records, run.result().value_or(RunResult{}));
    return run.result().has_value();
}

/// True if the bytes, written to `file`, are a trace of this program.
inline bool runTrace(std::string_view bytes, const std::filesystem::path& file) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    RunTrace trace;
    try {
        trace = readRunTrace(file);
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad trace is an Error(badFile)");
        require(std::string_view(e.what()).starts_with(file.string()), "the sentence names the file");
        return false;
    }
    figures(trace.plan, trace.records, {});
    return true;
}

/// True if the bytes are an ONNX model.
inline bool onnxModel(std::string_view bytes) {
    ImportedModel model;
    try {
        model = parseOnnx(bytes, "nowhere/input");
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile || e.code() == ErrorCode::io,
                "a bad model is an Error(badFile)");
        require(std::string_view(e.what()).starts_with("nowhere/"), "the sentence names the file");
        return false;
    }
    const Graph back = parseProject(toProjectText(model.graph), "saved");
    require(back == model.graph, "an imported graph saves and reads back as the same");
    analyze(model.graph, DeviceMap(), Policy::strict, makeMemoryFiles(model.tensors).get());
    simplified(model.graph, simplifyImported(model));
    return true;
}

/// True if the bytes, written to `file`, are a program of torch.export.
inline bool pt2(std::string_view bytes, const std::filesystem::path& file) {
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ImportedModel model;
    try {
        model = importPt2(file);
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad program is an Error(badFile)");
        require(std::string_view(e.what()).starts_with(file.string()), "the sentence names the file");
        return false;
    }
    const Graph back = parseProject(toProjectText(model.graph), "saved");
    require(back == model.graph, "an imported graph saves and reads back as the same");
    analyze(model.graph, DeviceMap(), Policy::strict, makeMemoryFiles(model.tensors).get());
    simplified(model.graph, simplifyImported(model));
    return true;
}

/// The same for the JSON of a program in an archive without weights.
inline bool pt2Program(std::string_view json, const std::filesystem::path& file) {
    std::filesystem::remove(file);
    zip_t* archive = zip_open(file.c_str(), ZIP_CREATE, nullptr);
    require(archive, "the archive is made");
    zip_source_t* source = zip_source_buffer(archive, json.data(), json.size(), 0);
    const zip_int64_t at = zip_file_add(archive, "m/models/model.json", source, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(at), ZIP_CM_STORE, 0);
    require(zip_close(archive) == 0, "the archive is written");
    std::ifstream written(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(written), {}};
    return pt2(bytes, file);
}

/// True if the bytes are a capture.
inline bool capture(std::string_view bytes) {
    ImportedModel model;
    try {
        model = parseCapture(bytes, "input");
    } catch (const Error& e) {
        require(e.code() == ErrorCode::badFile, "a bad capture is an Error(badFile)");
        require(std::string_view(e.what()).starts_with("input: line "), "the sentence names the line");
        return false;
    }
    const Graph back = parseProject(toProjectText(model.graph), "saved");
    require(back == model.graph, "an imported graph saves and reads back as the same");
    const Analysis analysis = analyze(model.graph, DeviceMap(), Policy::strict, nullptr);
    for (const Diagnostic& d : analysis.diagnostics)
        require(d.code != "cycle", "an imported capture has no cycles");
    return true;
}

} // namespace twb::fuzz
