#include "widgets/busy_dialog.h"

#include "core/error.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QProgressBar>
#include <QProgressDialog>
#include <QThread>
#include <QTimer>

#include <atomic>
#include <exception>
#include <memory>
#include <set>

namespace twb {
namespace {

constexpr int kMoment = 120; ///< ms; shorter work shows no dialog, which would only flash

/// The dialog of running work. Only its button, if it has one, closes it. It has a bar once the work says how
/// far it is. Until then it tells the seconds: a bar that moves by itself would disturb users who reduce
/// motion.
class BusyDialog : public QProgressDialog {
    Q_DECLARE_TR_FUNCTIONS(BusyDialog)

public:
    /// `share` is null for work that does not report its progress, and negative until it does.
    BusyDialog(const QString& text, const QString& button, QWidget* parent,
               const std::atomic<double>* share = nullptr)
        : QProgressDialog(text, button, 0, kWhole, parent), m_mayEnd(!button.isEmpty()), m_text(text),
          m_share(share) {
        setWindowModality(Qt::WindowModal);
        setMinimumDuration(0);
        setAutoClose(false);
        setAutoReset(false);
        setObjectName(QStringLiteral("busy"));
        findChild<QProgressBar*>()->hide();
        connect(&m_timer, &QTimer::timeout, this, &BusyDialog::follow);
        m_timer.start(kFollowMs);
        m_clock.start();
    }
    void reject() override {
        if (m_mayEnd) Q_EMIT canceled();
    }

private:
    void follow() {
        auto* const bar = findChild<QProgressBar*>();
        if (const double share = m_share ? m_share->load() : -1; share >= 0) {
            bar->setValue(int(kWhole * share));
            bar->show();
        }
        const qint64 seconds = m_clock.elapsed() / 1000;
        if (seconds == m_seconds) return;
        m_seconds = seconds;
        setLabelText(QStringLiteral("%1  %2 s").arg(m_text).arg(seconds));
    }

    static constexpr int kWhole = 1000;
    static constexpr int kFollowMs = 50;

    const bool m_mayEnd;
    const QString m_text;
    const std::atomic<double>* m_share;
    QTimer m_timer;
    QElapsedTimer m_clock;
    qint64 m_seconds = 0;
};

/// The windows with work in progress, as often as they have it.
std::multiset<const QWidget*>& busyWindows() {
    static std::multiset<const QWidget*> windows;
    return windows;
}

/// Marks the window of a widget as busy.
class Busy {
public:
    explicit Busy(const QWidget* widget) : m_at(busyWindows().insert(widget ? widget->window() : nullptr)) {}
    ~Busy() { busyWindows().erase(m_at); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

private:
    std::multiset<const QWidget*>::iterator m_at;
};

/// `cancelled` is null for work that cannot be cancelled, `share` for work that does not report its progress.
void workOnThread(const QString& text, QWidget* parent, const std::function<void()>& work,
                  std::atomic<bool>* cancelled, const std::atomic<double>* share = nullptr) {
    const Busy isBusy(parent);
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
        BusyDialog busy(text, cancelled ? BusyDialog::tr("Cancel") : QString(), parent, share);
        if (cancelled)
            QObject::connect(&busy, &QProgressDialog::canceled, [cancelled] { *cancelled = true; });
        busy.open();
        loop.exec();
        thread->wait();
    }
    if (failure) std::rethrow_exception(failure);
}

/// False if `work` ends with Error(cancelled), else its result.
bool endsWhole(const std::function<bool()>& work) {
    try {
        return work();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::cancelled) throw;
        return false;
    }
}

} // namespace

bool isBusy(const QWidget& window) { return busyWindows().contains(&window); }

void workWaiting(const QString& text, QWidget* parent, const std::function<void()>& work) {
    workOnThread(text, parent, work, nullptr);
}

bool workCancellable(const QString& text, QWidget* parent,
                     const std::function<void(const std::function<bool()>& isCancelled)>& work) {
    std::atomic<bool> cancelled = false;
    return endsWhole([&] {
        workOnThread(
            text, parent, [&] { work([&] { return cancelled.load(); }); }, &cancelled);
        return !cancelled;
    });
}

bool workReporting(const QString& text, QWidget* parent,
                   const std::function<void(const std::function<void(double share)>& report)>& work) {
    std::atomic<bool> cancelled = false;
    std::atomic<double> share = -1;
    const auto report = [&](double done) {
        if (cancelled) throw Error(ErrorCode::cancelled, "cancelled");
        share = done;
    };
    return endsWhole([&] {
        workOnThread(
            text, parent, [&] { work(report); }, &cancelled, &share);
        return !cancelled;
    });
}

void loopWaiting(QEventLoop& loop, const std::function<bool()>& isOver, const QString& text,
                 QWidget* parent) {
    if (isOver()) return;
    const Busy isBusy(parent);
    QTimer::singleShot(kMoment, &loop, &QEventLoop::quit);
    loop.exec(QEventLoop::ExcludeUserInputEvents);
    if (isOver()) return;
    BusyDialog busy(text, {}, parent);
    busy.open();
    while (!isOver()) loop.exec();
}

} // namespace twb
