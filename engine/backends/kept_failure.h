#pragma once

#include "backends/backend.h"

#include <exception>
#include <utility>

namespace twb {

/// A guard for launches that one caller submits and waits for: everything runs, and the first failure is
/// thrown on request after the streams are done.
class KeptFailure final : public LaunchGuard {
public:
    bool mayRun(std::uint32_t) noexcept override { return true; }
    void failed(std::uint32_t, std::exception_ptr error) noexcept override {
        if (!m_error) m_error = std::move(error);
    }
    void rethrow() const {
        if (m_error) std::rethrow_exception(m_error);
    }

private:
    std::exception_ptr m_error;
};

} // namespace twb
