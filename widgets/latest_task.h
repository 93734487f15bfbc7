#pragma once

#include <QObject>
#include <QThreadPool>

#include <atomic>
#include <memory>
#include <utility>

namespace twb {

/// Runs work on a thread of its own while the window continues. Only the latest request counts: a waiting
/// request is dropped, and the result of a running one is ignored.
class LatestTask : public QObject {
    Q_OBJECT

public:
    explicit LatestTask(QObject* parent = nullptr);
    /// Waits for the running work.
    ~LatestTask() override;

    /// Calls `work` on the thread, then `done` with its result on this object's thread. `work` must not
    /// throw, and must not access data that may change meanwhile.
    template <class Work, class Done> void start(Work work, Done done) {
        const int mine = ++m_latest;
        m_pool.clear();
        m_pool.start([this, mine, work = std::move(work), done = std::move(done)] {
            if (mine != m_latest) return;
            const auto result = std::make_shared<decltype(work())>(work());
            QMetaObject::invokeMethod(
                this,
                [this, mine, result, done] {
                    if (mine == m_latest) done(std::move(*result));
                },
                Qt::QueuedConnection);
        });
    }
    /// Cancels the request; its result is ignored.
    void drop();

private:
    QThreadPool m_pool;
    std::atomic<int> m_latest{0};
};

} // namespace twb
