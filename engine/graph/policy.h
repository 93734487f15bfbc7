#pragma once

#include "core/device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// The rule for an operand that is not on its op's device. A value.
///
/// strict: an error, in PyTorch's words. implicit: the program inserts the copy, like TensorFlow and ONNX
/// Runtime, and warns. guard: allow, log or disallow the copy, by its direction, like JAX's transfer guards
/// (jax.transfer_guard).
class Policy {
public:
    enum class Kind : std::uint8_t { strict, implicit, guard };
    enum class Action : std::uint8_t { allow, log, disallow };
    /// A copy between two ranks is deviceToDevice.
    enum class Direction : std::uint8_t { hostToDevice, deviceToHost, deviceToDevice };

    static const Policy strict;
    static const Policy implicit;

    constexpr Policy() = default;
    static constexpr Policy guard(Action hostToDevice, Action deviceToHost, Action deviceToDevice) {
        return {Kind::guard, hostToDevice, deviceToHost, deviceToDevice};
    }

    constexpr Kind kind() const noexcept { return m_kind; }
    /// The action for a copy between two devices: always disallow for strict, always log for implicit.
    constexpr Action actionFor(Direction direction) const noexcept {
        return direction == Direction::hostToDevice   ? m_hostToDevice
               : direction == Direction::deviceToHost ? m_deviceToHost
                                                      : m_deviceToDevice;
    }
    Action actionFor(Device from, Device to) const noexcept { return actionFor(directionOf(from, to)); }
    static Direction directionOf(Device from, Device to) noexcept {
        return !from.sharesRankWith(to) ? Direction::deviceToDevice
               : from.isCpu()           ? Direction::hostToDevice
               : to.isCpu()             ? Direction::deviceToHost
                                        : Direction::deviceToDevice;
    }
    /// Whether the policy never inserts a copy.
    constexpr bool makesNoCopies() const noexcept {
        return m_hostToDevice == Action::disallow && m_deviceToHost == Action::disallow &&
               m_deviceToDevice == Action::disallow;
    }

    /// "strict", "implicit", "guard:h2d=disallow,d2h=log,d2d=allow": the texts that parse() reads.
    std::string toString() const;
    /// Directions that a guard does not name are logged; "guard" alone logs all. Nothing for any other text.
    static std::optional<Policy> parse(std::string_view text) noexcept;

    constexpr bool operator==(const Policy&) const = default;

private:
    constexpr Policy(Kind kind, Action hostToDevice, Action deviceToHost, Action deviceToDevice)
        : m_kind(kind), m_hostToDevice(hostToDevice), m_deviceToHost(deviceToHost),
          m_deviceToDevice(deviceToDevice) {}

    Kind m_kind = Kind::strict;
    Action m_hostToDevice = Action::disallow;
    Action m_deviceToHost = Action::disallow;
    Action m_deviceToDevice = Action::disallow;
};

inline constexpr Policy Policy::strict{};
inline constexpr Policy Policy::implicit{Kind::implicit, Action::log, Action::log, Action::log};

std::string_view name(Policy::Action action) noexcept;
/// A guard with the actions of `policy`, except for one direction.
Policy guardWith(Policy policy, Policy::Direction direction, Policy::Action action) noexcept;
/// "h2d", as in the text of a policy.
std::string_view name(Policy::Direction direction) noexcept;
/// "host-to-device".
std::string_view longName(Policy::Direction direction) noexcept;

} // namespace twb
