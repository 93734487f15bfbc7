#include "widgets/busy_dialog.h"

#include "core/error.h"

#include <QDeadlineTimer>
#include <QEventLoop>
#include <QProgressDialog>
#include <QThread>
#include <QTimer>

#include <atomic>
#include <exception>
#include <memory>

namespace twb {
namespace {

constexpr int kMoment = 120; ///< ms; shorter work shows no dialog, which would only flash

/// The dialog of running work. Only its button, if it has one, closes it.
class BusyDialog : public QProgressDialog {
public:
    BusyDialog(const QString& text, const QString& button, QWidget* parent)
        : QProgressDialog(text, button, 0, 0, parent), m_mayEnd(!button.isEmpty()) {
        setWindowModality(Qt::WindowModal);
        setMinimumDuration(0);
        setAutoClose(false);
        setAutoReset(false);
        setObjectName(QStringLiteral("busy"));
    }
    void reject() override {
        if (m_mayEnd) Q_EMIT canceled();
    }

private:
    const bool m_mayEnd;
};

/// `cancelled` is null for work that cannot be cancelled.
void workOnThread(const QString& text, QWidget* parent, const std::function<void()>& work,
                  std::atomic<bool>* cancelled) {
    std::exception_ptr failure;
    const std::unique_ptr<QThread> thread(QThread::create([&] {
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
    }));
    QEventLoop loop;
    QObject::connect(thread.get(), &QThread::finished, &loop, &QEventLoop::quit);
    thread->start();
    if (!thread->wait(QDeadlineTimer(kMoment))) {
        BusyDialog busy(text, cancelled ? BusyDialog::tr("Cancel") : QString(), parent);
        if (cancelled)
            QObject::connect(&busy, &QProgressDialog::canceled, [cancelled] { *cancelled = true; });
        busy.open();
        loop.exec();
        thread->wait();
    }
    if (failure) std::rethrow_exception(failure);
}

} // namespace

void workWaiting(const QString& text, QWidget* parent, const std::function<void()>& work) {
    workOnThread(text, parent, work, nullptr);
}

bool workCancellable(const QString& text, QWidget* parent,
                     const std::function<void(const std::function<bool()>& isCancelled)>& work) {
    std::atomic<bool> cancelled = false;
    try {
        workOnThread(
            text, parent, [&] { work([&] { return cancelled.load(); }); }, &cancelled);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::cancelled) throw;
        return false;
    }
    return !cancelled;
}

void loopWaiting(QEventLoop& loop, const std::function<bool()>& isOver, const QString& text,
                 QWidget* parent) {
    if (isOver()) return;
    QTimer::singleShot(kMoment, &loop, &QEventLoop::quit);
    loop.exec(QEventLoop::ExcludeUserInputEvents);
    if (isOver()) return;
    BusyDialog busy(text, {}, parent);
    busy.open();
    while (!isOver()) loop.exec();
}

} // namespace twb
