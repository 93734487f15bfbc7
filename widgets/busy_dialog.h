#pragma once

#include <QString>

#include <functional>

class QEventLoop;
class QWidget;

namespace twb {

/// Does `work` on a thread of its own and returns when that is over. Meanwhile `parent` goes on painting
/// itself and takes no input; from a moment on a dialog says `text`. What `work` throws is thrown here.
void workWaiting(const QString& text, QWidget* parent, const std::function<void()>& work);

/// The same for work that can be cancelled: the dialog has a button for that, after which `work`'s argument
/// gives true. False when the work ended with Error(cancelled).
bool workCancellable(const QString& text, QWidget* parent,
                     const std::function<void(const std::function<bool()>& isCancelled)>& work);

/// Runs `loop`, which is quit when `isOver`, with `parent` busy as above.
void loopWaiting(QEventLoop& loop, const std::function<bool()>& isOver, const QString& text, QWidget* parent);

} // namespace twb
