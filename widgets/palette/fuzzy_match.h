#pragma once

#include <QStringView>

#include <optional>

namespace twb {

/// The score of `text` for a search text; higher is better, nothing if it does not match. It matches if it
/// contains the typed letters in order, ignoring case: "lsm" finds LogSoftmax. Adjacent letters and starts of
/// words score higher than scattered letters, and short texts higher than long ones.
std::optional<int> fuzzyScore(QStringView typed, QStringView text);

} // namespace twb
