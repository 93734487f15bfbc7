#pragma once

#include "widgets/text.h"

#include <QCoreApplication>

#include <string>

namespace twb {

/// The titles of edits in the undo history, in the window's language. The titles of the engine's Deltas stay
/// English.
struct EditTitle {
    Q_DECLARE_TR_FUNCTIONS(EditTitle)
};

/// `text` with names for its placeholders: editTitle(EditTitle::tr("Rename %1 to %2"), before, after).
template <class... Names> std::string editTitle(const QString& text, const Names&... names) {
    if constexpr (sizeof...(names) == 0)
        return text.toStdString();
    else
        return text.arg(toQt(names)...).toStdString();
}

/// "3 nodes".
inline auto nodeCount(std::size_t count) {
    return EditTitle::tr("%1 nodes").arg(grouped(std::int64_t(count))).toStdString();
}

} // namespace twb
