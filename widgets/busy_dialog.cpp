#include "widgets/busy_dialog.h"

#include <QDeadlineTimer>
#include <QEventLoop>
#include <QProgressDialog>
#include <QThread>
#include <QTimer>

#include <exception>
#include <memory>

namespace twb {
namespace {

constexpr int kMoment = 120; ///< ms; what is over by then needs no dialog, which would only flash

/// Shows that something goes on, and cannot be sent away.
class BusyDialog : public QProgressDialog {
public:
    BusyDialog(const QString& text, QWidget* parent) : QProgressDialog(text, {}, 0, 0, parent) {
        setWindowModality(Qt::WindowModal);
        setMinimumDuration(0);
        setAutoClose(false);
        setAutoReset(false);
        setObjectName(QStringLiteral("busy"));
    }
    void reject() override {}
};

} // namespace

void workWaiting(const QString& text, QWidget* parent, const std::function<void()>& work) {
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
        BusyDialog busy(text, parent);
        busy.open();
        loop.exec();
        thread->wait();
    }
    if (failure) std::rethrow_exception(failure);
}

void loopWaiting(QEventLoop& loop, const std::function<bool()>& isOver, const QString& text,
                 QWidget* parent) {
    if (isOver()) return;
    QTimer::singleShot(kMoment, &loop, &QEventLoop::quit);
    loop.exec(QEventLoop::ExcludeUserInputEvents);
    if (isOver()) return;
    BusyDialog busy(text, parent);
    busy.open();
    while (!isOver()) loop.exec();
}

} // namespace twb
