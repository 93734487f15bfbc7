#include "formats/remote_calibration.h"

#include "formats/remote_machine.h"
#include "profile/calibration.h"
#include "profile/profiles.h"

#include <fmt/format.h>

#include <vector>

namespace twb {
namespace {

/// Separates the parts that the script prints. `twb` never prints it.
constexpr char kSeparator = '\001';

std::vector<std::string> partsOf(const std::string& said) {
    std::vector<std::string> out;
    std::size_t begin = 0;
    for (std::size_t end = said.find(kSeparator); end != std::string::npos;
         end = said.find(kSeparator, begin)) {
        out.push_back(said.substr(begin, end - begin));
        begin = end + 1;
    }
    out.push_back(said.substr(begin));
    return out;
}

/// The last line of what `twb` has written to stderr, without the program's name.
std::string lastMessage(std::string messages) {
    messages.erase(messages.find_last_not_of('\n') + 1);
    const auto newline = messages.rfind('\n');
    if (newline != std::string::npos) messages.erase(0, newline + 1);
    constexpr std::string_view prefix = "twb: ";
    return messages.starts_with(prefix) ? messages.substr(prefix.size()) : messages;
}

/// Names the machine wherever the profile says that a figure was measured.
void nameHost(DeviceProfile& profile, const std::string& host) {
    const std::string measured = "measured by twb calibrate";
    const auto name = [&](std::string& source) {
        if (source.starts_with(measured)) source.insert(measured.size(), " on " + host);
    };
    name(profile.source);
    for (auto& [figure, source] : profile.sources) name(source);
    profile.id = profileId(profile.name + " on " + host, "measured");
    profile.name += fmt::format(" ({})", host);
}

} // namespace

RemoteCalibration calibrateRemotely(const std::string& on, const std::string& program,
                                    const std::string& device, bool mayAsk, RemoteObserver& observer) {
    const RemoteMachine machine(on, program, "calibration", mayAsk, observer);
    const std::string profile = "profile.json";
    const std::vector<std::string> parts = partsOf(machine.runOnSameVersion(fmt::format(
        "d=$(mktemp -d) && cd \"$d\" || exit 1\n"
        "trap 'cd /; rm -rf \"$d\"' EXIT\ntrap 'exit 1' HUP INT TERM PIPE\n"
        "{} calibrate --device {} -o {} > table 2> messages < /dev/null\n"
        "printf '%s\\001' $?\ncat {} 2> /dev/null\nprintf '\\001'\ncat table\nprintf '\\001'\ncat messages",
        shellWord(machine.program()), shellWord(device), profile, profile)));
    if (parts.size() != 4)
        throw Error(
            ErrorCode::io,
            fmt::format("{} has no room for temporary files: free some disk space there", machine.host()));
    if (parts[0] != "0")
        throw Error(parts[0] == "5" ? ErrorCode::missingDevice : ErrorCode::failed,
                    fmt::format("{}: {}", machine.host(), lastMessage(parts[3])));
    RemoteCalibration out{parseProfile(parts[1], profile), parts[2], machine.host()};
    // The last lines tell of the file there.
    if (const auto end = out.table.find("\n" + profile + ": "); end != std::string::npos)
        out.table.resize(end);
    nameHost(out.profile, machine.host());
    return out;
}

} // namespace twb
