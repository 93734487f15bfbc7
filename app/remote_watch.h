#pragma once

#include "app/interrupts.h"
#include "app/terminal.h"
#include "formats/remote_run.h"

#include <string>

namespace twb {

/// Stops a run or a calibration on another machine by Ctrl-C.
class RemoteWatch final : public RemoteObserver {
public:
    RemoteWish wish(int waitMs) override {
        return m_interrupts.wait(waitMs) == Interrupts::Event::interrupted ? RemoteWish::stop
                                                                           : RemoteWish::goOn;
    }
    void remark(const std::string& sentence) override { printMessage(sentence); }

private:
    Interrupts m_interrupts;
};

} // namespace twb
