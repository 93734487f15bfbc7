#pragma once

#include "core/error.h"

#include <QString>

namespace twb::test {

/// The sentence of the Error that `call` throws; empty if it throws none.
template <class Call> QString refusal(const Call& call) {
    try {
        call();
    } catch (const Error& e) {
        return QString::fromStdString(e.what());
    }
    return {};
}

} // namespace twb::test
