#pragma once

#include "backends/device_profile.h"
#include "formats/remote_run.h"

#include <string>

namespace twb {

/// The profile of a device of another machine, measured there.
struct RemoteCalibration {
    DeviceProfile profile; ///< its name, id and sources name the machine
    std::string table;     ///< the figures, as `twb calibrate` prints them
    std::string host;
};

/// Runs `twb calibrate --device DEVICE` on another machine. `on`, `program` and `mayAsk`: as for
/// RemoteMachine. Throws as runRemotely() does, and Error(missingDevice) if the machine has no such device.
RemoteCalibration calibrateRemotely(const std::string& on, const std::string& program,
                                    const std::string& device, bool mayAsk, RemoteObserver& observer);

} // namespace twb
