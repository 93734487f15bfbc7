#include "graph/policy.h"

#include <fmt/format.h>

#include <array>

namespace twb {
namespace {

constexpr std::array kDirections{Policy::Direction::hostToDevice, Policy::Direction::deviceToHost,
                                 Policy::Direction::deviceToDevice};

std::optional<Policy::Action> parseAction(std::string_view text) noexcept {
    for (const auto action : {Policy::Action::allow, Policy::Action::log, Policy::Action::disallow})
        if (text == name(action)) return action;
    return std::nullopt;
}

} // namespace

std::string_view name(Policy::Action action) noexcept {
    switch (action) {
    case Policy::Action::allow:
        return "allow";
    case Policy::Action::log:
        return "log";
    case Policy::Action::disallow:
        break;
    }
    return "disallow";
}

std::string_view name(Policy::Direction direction) noexcept {
    switch (direction) {
    case Policy::Direction::hostToDevice:
        return "h2d";
    case Policy::Direction::deviceToHost:
        return "d2h";
    case Policy::Direction::deviceToDevice:
        break;
    }
    return "d2d";
}

std::string_view longName(Policy::Direction direction) noexcept {
    switch (direction) {
    case Policy::Direction::hostToDevice:
        return "host-to-device";
    case Policy::Direction::deviceToHost:
        return "device-to-host";
    case Policy::Direction::deviceToDevice:
        break;
    }
    return "device-to-device";
}

Policy guardWith(Policy policy, Policy::Direction direction, Policy::Action action) noexcept {
    const auto of = [&](Policy::Direction d) { return d == direction ? action : policy.actionFor(d); };
    return Policy::guard(of(kDirections[0]), of(kDirections[1]), of(kDirections[2]));
}

std::string Policy::toString() const {
    if (m_kind == Kind::strict) return "strict";
    if (m_kind == Kind::implicit) return "implicit";
    return fmt::format("guard:h2d={},d2h={},d2d={}", name(m_hostToDevice), name(m_deviceToHost),
                       name(m_deviceToDevice));
}

std::optional<Policy> Policy::parse(std::string_view text) noexcept {
    if (text == "strict") return strict;
    if (text == "implicit") return implicit;
    constexpr std::string_view kGuard = "guard";
    if (!text.starts_with(kGuard)) return std::nullopt;
    text.remove_prefix(kGuard.size());
    std::array<Action, kDirections.size()> actions{Action::log, Action::log, Action::log};
    char before = ':';
    while (!text.empty()) {
        if (text.front() != before) return std::nullopt;
        before = ',';
        text.remove_prefix(1);
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(part.size());
        bool known = false;
        for (std::size_t i = 0; i < kDirections.size(); ++i) {
            const std::string_view direction = name(kDirections[i]);
            if (!part.starts_with(direction) || part.substr(direction.size(), 1) != "=") continue;
            const auto action = parseAction(part.substr(direction.size() + 1));
            if (!action) return std::nullopt;
            actions[i] = *action;
            known = true;
        }
        if (!known) return std::nullopt;
    }
    return guard(actions[0], actions[1], actions[2]);
}

} // namespace twb
