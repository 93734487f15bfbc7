#include "app/junit.h"

#include "formats/project.h"
#include "profile/markup.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace twb {

void addJunit(CLI::App& command, std::string& into) {
    command.add_option("--junit", into, "Write the outcome as JUnit XML, for CI servers")
        ->type_name("FILE.xml");
}

void writeJunit(const std::filesystem::path& path, const std::string& command,
                const std::vector<JunitCase>& cases) {
    const auto count = [&](JunitCase::Outcome outcome) {
        return std::count_if(cases.begin(), cases.end(),
                             [&](const JunitCase& c) { return c.outcome == outcome; });
    };
    double seconds = 0;
    for (const JunitCase& one : cases) seconds += one.seconds;
    std::string out = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite "
                                  "name=\"twb {}\" tests=\"{}\" failures=\"{}\" "
                                  "errors=\"{}\" time=\"{:.3f}\">\n",
                                  command, cases.size(), count(JunitCase::Outcome::failed),
                                  count(JunitCase::Outcome::error), seconds);
    for (const JunitCase& one : cases) {
        out += fmt::format("<testcase classname=\"twb.{}\" name=\"{}\" time=\"{:.3f}\"", command,
                           escaped(one.name), one.seconds);
        if (one.outcome == JunitCase::Outcome::passed) {
            out += "/>\n";
            continue;
        }
        const char* element = one.outcome == JunitCase::Outcome::failed ? "failure" : "error";
        out += fmt::format("><{0} message=\"{1}\">{2}</{0}></testcase>\n", element, escaped(one.message),
                           escaped(one.detail.empty() ? one.message : one.detail));
    }
    writeFileAtomically(path, out + "</testsuite>\n</testsuites>\n");
}

} // namespace twb
