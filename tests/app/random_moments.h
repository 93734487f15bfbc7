#pragma once

#include <QDateTime>
#include <QtGlobal>

#include <random>

namespace twb::test {

/// Rounds of a test that kills or stops processes at random moments; TWB_RANK_ROUNDS=20 for a thorough test.
inline int randomRounds(int usual) {
    const int set = qEnvironmentVariableIntValue("TWB_RANK_ROUNDS");
    return set > 0 ? set : usual;
}

/// The random numbers of such a test. The test prints their seed, and TWB_SEED repeats them.
inline std::mt19937 randomMoments() {
    bool isSet = false;
    unsigned seed = qEnvironmentVariable("TWB_SEED").toUInt(&isSet);
    if (!isSet) seed = static_cast<unsigned>(QDateTime::currentMSecsSinceEpoch());
    qInfo("TWB_SEED=%u", seed);
    return std::mt19937(seed);
}

} // namespace twb::test
