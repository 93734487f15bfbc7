#pragma once

#include <QObject>
#include <QThreadPool>

#include <atomic>
#include <memory>
#include <utility>

namespace twb {

/// Works something out on a thread of its own while the window goes on. Only the latest that was asked for
/// counts: what waits for its turn is dropped, and of what is under way nobody hears.
class LatestTask : public QObject {
    Q_OBJECT

public:
    explicit LatestTask(QObject* parent = nullptr);
    /// Waits for what is under way.
    ~LatestTask() override;

    /// Calls `work` on the thread, and then `done` with its result on this object's. `work` must not throw,
    /// and may touch nothing that changes meanwhile.
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
    /// Nobody waits for it any more.
    void drop();

private:
    QThreadPool m_pool;
    std::atomic<int> m_latest{0};
};

} // namespace twb
