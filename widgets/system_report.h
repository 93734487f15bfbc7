#pragma once

#include "backends/device_map.h"

#include <QString>

class QWidget;

namespace twb {

/// What a report of a bug wants to know: versions of the program and of what it runs on, devices, screens.
/// Plain text, a fact a line; nothing about files or people.
QString systemReport(const DeviceMap& devices);

/// What the program is, with the report and a way to copy it.
void showAbout(const DeviceMap& devices, QWidget* parent);

} // namespace twb
