#pragma once

#include "backends/device_map.h"

#include <QString>

class QWidget;

namespace twb {

/// The system information for a bug report: versions of the program and its libraries, devices, screens.
/// Plain text, one fact per line; no files or personal data.
QString systemReport(const DeviceMap& devices);

/// The About dialog, with the report and a button that copies it.
void showAbout(const DeviceMap& devices, QWidget* parent);

} // namespace twb
