#pragma once

#include <QTest>

namespace twb::test {

/// Runs a suite. A Qt warning that was not announced with QTest::ignoreMessage fails it.
int run(QObject& suite, int argc, char** argv);

} // namespace twb::test

/// main() of a suite that needs no application object.
#define TWB_TEST_MAIN(Suite)                                                                                 \
    int main(int argc, char** argv) {                                                                        \
        Suite suite;                                                                                         \
        return twb::test::run(suite, argc, argv);                                                            \
    }

/// main() of a suite that opens windows.
#define TWB_GUI_TEST_MAIN(Suite)                                                                             \
    int main(int argc, char** argv) {                                                                        \
        QApplication application(argc, argv);                                                                \
        Suite suite;                                                                                         \
        return twb::test::run(suite, argc, argv);                                                            \
    }
