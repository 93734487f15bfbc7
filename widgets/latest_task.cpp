#include "widgets/latest_task.h"

namespace twb {

LatestTask::LatestTask(QObject* parent) : QObject(parent) { m_pool.setMaxThreadCount(1); }

LatestTask::~LatestTask() {
    drop();
    m_pool.waitForDone();
}

void LatestTask::drop() {
    ++m_latest;
    m_pool.clear();
}

} // namespace twb
