#include "profile/saved_report.h"

#include "core/error.h"
#include "profile/report.h"

#include <fmt/format.h>

namespace twb {

void refuseReport(const std::string& origin, const std::string& what) {
    throw Error(ErrorCode::badFile,
                fmt::format("{} is not a report from twb run --report: {}", origin, what));
}

nlohmann::json parseReport(std::string_view text, const std::string& origin) {
    return withReport(origin, [&] {
        nlohmann::json report = nlohmann::json::parse(text);
        const auto& schema = report.at("schema");
        if (!schema.is_number_integer()) refuseReport(origin, "its schema is not a number");
        if (schema.get<int>() > kReportSchema)
            refuseReport(origin, fmt::format("its schema is {}, but this program reads {}", schema.get<int>(),
                                             kReportSchema));
        for (const char* list : {"devices", "steps", "transfers"})
            if (!report.at(list).is_array())
                refuseReport(origin, fmt::format("its \"{}\" is not a list", list));
        (void)report.at("iterations").get<std::int64_t>();
        return report;
    });
}

} // namespace twb
