#pragma once

#include <QString>

#include <functional>

class QEventLoop;
class QWidget;

namespace twb {

/// Runs `work` on its own thread and returns after it. Meanwhile `parent` repaints but takes no input; after
/// a short delay a dialog shows `text`. Exceptions of `work` are rethrown here.
void workWaiting(const QString& text, QWidget* parent, const std::function<void()>& work);

/// The same for work that can be cancelled: a button of the dialog makes `work`'s argument return true. False
/// if the work ended with Error(cancelled).
bool workCancellable(const QString& text, QWidget* parent,
                     const std::function<void(const std::function<bool()>& isCancelled)>& work);

/// The same for work that knows its progress: it calls `report` with its share, 0 to 1, which throws
/// Error(cancelled) after the button was pressed.
bool workReporting(const QString& text, QWidget* parent,
                   const std::function<void(const std::function<void(double share)>& report)>& work);

/// Whether one of these functions is at work for `window`, a top-level widget: then `window` must not be
/// deleted, and what the work reads must not change.
bool isBusy(const QWidget& window);

/// Runs `loop`, which ends when `isOver` holds, with `parent` busy as above.
void loopWaiting(QEventLoop& loop, const std::function<bool()>& isOver, const QString& text, QWidget* parent);

} // namespace twb
