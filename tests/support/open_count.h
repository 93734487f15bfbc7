#pragma once

#include <QFile>
#include <QString>

#include <array>
#include <sys/inotify.h>
#include <unistd.h>

namespace twb::test {

/// Counts how often a file is opened from now on, by any program.
class OpenCount {
public:
    explicit OpenCount(const QString& path) : m_queue(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        if (::inotify_add_watch(m_queue, QFile::encodeName(path).constData(), IN_OPEN | IN_CLOSE) < 0)
            qFatal("cannot watch %s", qPrintable(path));
    }
    ~OpenCount() { ::close(m_queue); }
    OpenCount(const OpenCount&) = delete;
    OpenCount& operator=(const OpenCount&) = delete;

    int take() const {
        alignas(inotify_event) std::array<char, 4096> events{};
        int count = 0;
        // The system merges equal events that follow each other. A close stands between two opens.
        for (ssize_t got = 0; (got = ::read(m_queue, events.data(), events.size())) > 0;)
            for (ssize_t at = 0; at < got;) {
                const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
                count += (event->mask & IN_OPEN) != 0 ? 1 : 0;
                at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
            }
        return count;
    }

private:
    int m_queue;
};

} // namespace twb::test
