#include "formats/checkpoint.h"

#include "core/error.h"
#include "formats/atomic_file.h"
#include "formats/input_file.h"
#include "formats/safetensors.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "tensor-workbench-checkpoint";
constexpr int kVersion = 1;

fs::path headOf(const fs::path& folder) { return folder / "checkpoint.json"; }

void put(Json& json, const char* key, const std::optional<double>& value) {
    if (value) json[key] = *value;
}

std::optional<double> optionalNumber(const Json& json, const char* key) {
    if (!json.contains(key)) return std::nullopt;
    return json.at(key).is_null() ? std::nan("") : json.at(key).get<double>();
}

EpochRecord epochOf(const Json& json) {
    EpochRecord epoch;
    epoch.epoch = json.at("epoch").get<std::int64_t>();
    epoch.steps = json.at("steps").get<std::int64_t>();
    epoch.loss = json.at("loss").is_null() ? std::nan("") : json.at("loss").get<double>();
    epoch.validationLoss = optionalNumber(json, "validation_loss");
    epoch.accuracy = optionalNumber(json, "accuracy");
    epoch.rate = optionalNumber(json, "lr");
    epoch.rows = json.at("rows").get<std::int64_t>();
    epoch.seconds = json.at("seconds").get<double>();
    epoch.dataWait = json.value("data_wait_seconds", 0.0);
    for (const Json& item : json.value("parameters", Json::array())) {
        ParameterFigures& figures = epoch.figures.emplace_back();
        figures.name = item.at("name").get<std::string>();
        figures.gradientNorm = optionalNumber(item, "gradient_norm").value();
        figures.weightNorm = optionalNumber(item, "weight_norm").value();
        figures.updateNorm = optionalNumber(item, "update_norm");
    }
    return epoch;
}

ConfusionMatrix confusionOf(const Json& rows) {
    ConfusionMatrix out;
    out.classes = static_cast<std::int64_t>(rows.size());
    for (const Json& row : rows)
        for (const Json& count : row) out.counts.push_back(count.get<std::int64_t>());
    return out;
}

std::string stateName(std::int64_t steps) { return fmt::format("step-{:09}.safetensors", steps); }

/// Removes the oldest states, but never `newest`. A state that cannot be removed stays.
void removeOld(const fs::path& folder, const std::string& newest, int keep) {
    std::vector<std::pair<fs::file_time_type, fs::path>> states;
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
        const std::string name = entry.path().filename().string();
        if (name != newest && name.starts_with("step-") && name.ends_with(".safetensors"))
            states.emplace_back(entry.last_write_time(failed), entry.path());
    }
    std::ranges::sort(states);
    for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(keep, 1)) <= states.size(); ++i)
        fs::remove(states[i].second, failed);
}

} // namespace

Json toJson(const EpochRecord& epoch) {
    Json json{{"epoch", epoch.epoch}, {"steps", epoch.steps}, {"loss", epoch.loss}};
    put(json, "validation_loss", epoch.validationLoss);
    put(json, "accuracy", epoch.accuracy);
    put(json, "lr", epoch.rate);
    json["rows"] = epoch.rows;
    json["seconds"] = epoch.seconds;
    json["data_wait_seconds"] = epoch.dataWait;
    for (const ParameterFigures& figures : epoch.figures) {
        Json item{{"name", figures.name},
                  {"gradient_norm", figures.gradientNorm},
                  {"weight_norm", figures.weightNorm}};
        put(item, "update_norm", figures.updateNorm);
        put(item, "update_ratio", figures.updateRatio());
        json["parameters"].push_back(std::move(item));
    }
    return json;
}

Json toJson(const ConfusionMatrix& matrix) {
    Json rows = Json::array();
    for (std::int64_t label = 0; label < matrix.classes; ++label) {
        Json& row = rows.emplace_back(Json::array());
        for (std::int64_t prediction = 0; prediction < matrix.classes; ++prediction)
            row.push_back(matrix.at(label, prediction));
    }
    return rows;
}

void saveCheckpoint(const fs::path& folder, const Checkpoint& checkpoint, int keep) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed)
        throw Error(ErrorCode::io,
                    fmt::format("{}: the folder cannot be made: {}", folder.string(), failed.message()));
    const std::string state = stateName(checkpoint.place.steps);
    std::vector<std::pair<std::string, TensorView>> tensors;
    for (const auto& [name, tensor] : checkpoint.state) tensors.emplace_back(name, tensor.view());
    writeSafetensors(folder / state, tensors);

    const TrainingRecord& record = checkpoint.record;
    Json json{{"schema", kSchema},
              {"version", kVersion},
              {"state", state},
              {"epoch", checkpoint.place.epoch},
              {"batch", checkpoint.place.batch},
              {"steps", checkpoint.place.steps},
              {"open_epoch",
               {{"rows", record.rows},
                {"row_loss", record.rowLoss},
                {"seconds", record.seconds},
                {"data_wait_seconds", record.dataWait}}},
              {"rate_factor", record.rateFactor},
              {"epochs", Json::array()}};
    for (const EpochRecord& epoch : record.epochs) json["epochs"].push_back(toJson(epoch));
    if (record.confusion.classes > 0) json["confusion"] = toJson(record.confusion);
    AtomicFile head(headOf(folder));
    const std::string text = json.dump(1) + "\n";
    head.write(text.data(), text.size());
    head.commit();
    removeOld(folder, state, keep);
}

bool hasCheckpoint(const fs::path& folder) {
    std::error_code failed;
    return fs::exists(headOf(folder), failed);
}

Checkpoint loadCheckpoint(const fs::path& folder) {
    const fs::path head = headOf(folder);
    const InputFile file(head);
    std::string text(file.size(), '\0');
    text.resize(file.readAt(0, text.data(), text.size()));
    Checkpoint out;
    std::string state;
    try {
        const Json json = Json::parse(text);
        if (json.at("schema") != kSchema)
            throw Error(ErrorCode::badFile, fmt::format("{}: not a checkpoint", head.string()));
        if (json.at("version").get<int>() > kVersion)
            throw Error(
                ErrorCode::badFile,
                fmt::format("{}: the checkpoint is of a newer version of this program", head.string()));
        state = json.at("state").get<std::string>();
        out.place = {json.at("epoch").get<std::int64_t>(), json.at("batch").get<std::int64_t>(),
                     json.at("steps").get<std::int64_t>()};
        const Json& open = json.at("open_epoch");
        out.record.rows = open.at("rows").get<std::int64_t>();
        out.record.rowLoss = open.at("row_loss").is_null() ? std::nan("") : open.at("row_loss").get<double>();
        out.record.seconds = open.at("seconds").get<double>();
        out.record.dataWait = open.value("data_wait_seconds", 0.0);
        out.record.rateFactor = json.at("rate_factor").get<double>();
        out.record.confusion = confusionOf(json.value("confusion", Json::array()));
        for (const Json& epoch : json.at("epochs")) out.record.epochs.push_back(epochOf(epoch));
    } catch (const Json::exception&) {
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: the checkpoint is damaged; train without --resume, into another folder",
                                head.string()));
    }
    if (fs::path(state).has_parent_path() || state.empty())
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: the checkpoint is damaged; train without --resume, into another folder",
                                head.string()));
    const Safetensors tensors(folder / state);
    for (const auto& [name, type] : tensors.types()) {
        Tensor tensor = Tensor::onHost(type);
        tensors.read(name, tensor.view());
        out.state.emplace(name, std::move(tensor));
    }
    return out;
}

} // namespace twb
