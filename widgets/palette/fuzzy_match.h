#pragma once

#include <QStringView>

#include <optional>

namespace twb {

/// How well `text` answers to `typed`; more is better, nothing when it does not. It does when it has the
/// typed letters in their order, whatever their case: "lsm" finds LogSoftmax. Letters that stand together or
/// begin a word count for more than scattered ones, a beginning for more than a middle, a short text for more
/// than a long one.
std::optional<int> fuzzyScore(QStringView typed, QStringView text);

} // namespace twb
