#include "ops/update_rules.h"

#include <string>

namespace twb {

ScheduleRule scheduleRule(const Attributes& a) {
    const std::string& name = a.text("schedule");
    using Kind = ScheduleRule::Kind;
    const Kind kind = name == "step"          ? Kind::step
                      : name == "cosine"      ? Kind::cosine
                      : name == "exponential" ? Kind::exponential
                      : name == "one_cycle"   ? Kind::oneCycle
                                              : Kind::constant;
    const double period = a.number(kind == Kind::step ? "step_size" : "total_steps");
    return {kind,
            a.number("lr"),
            a.number("warmup_steps"),
            a.number("warmup_start"),
            period - (kind == Kind::step ? 0 : a.number("warmup_steps")),
            a.number("gamma"),
            a.number("eta_min"),
            a.number("pct_start"),
            a.number("div_factor"),
            a.number("final_div_factor")};
}

} // namespace twb
