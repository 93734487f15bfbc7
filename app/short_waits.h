#pragma once

namespace twb {

/// Lets the threads of OpenMP sleep soon after they have nothing to do. By default, libgomp's threads spin
/// for milliseconds wherever they wait for each other. Beside another busy program they use up their share of
/// the cores that way, and the thread for which they wait does not run: the p95 of ResNet-18 is 4 to 6 times
/// as long.
///
/// libgomp reads its settings when it is loaded, so the program starts itself again with the setting. To be
/// called first in main(). Without an effect if the user has chosen a setting, or if the program cannot be
/// started again.
void waitBriefly(char** arguments) noexcept;

} // namespace twb
