#pragma once

#include "backends/world.h"

#include <string>

namespace twb {

/// A Backend of this kind can make the calls of a world by itself, in its own memory and streams: a GPU with
/// NCCL. Its ranks are those of the world, each with one such device. Streams of QueueKind::collective make
/// the calls once the device has joined; supports() knows their ops before, too.
class RankDevice {
public:
    virtual ~RankDevice() = default;
    /// A clause why this device cannot make calls: "NCCL not found (libnccl.so.2)". Empty if it can.
    virtual std::string whyNoCalls() const = 0;
    /// Joins the devices of the other ranks of `world`, which must outlive leave(). All ranks must call it
    /// together, each for one device. Throws Error(failed).
    virtual void join(World& world) = 0;
    virtual bool hasJoined() const noexcept = 0;
    /// Ends the calls. No stream of QueueKind::collective may exist. Without effect if it has not joined.
    virtual void leave() noexcept = 0;
};

} // namespace twb
