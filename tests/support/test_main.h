#pragma once

#include <QTest>

// Qt's limit is 5 s, which a busy machine exceeds.
#undef QTRY_VERIFY
#undef QTRY_COMPARE
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT((condition), 60000)
#define QTRY_COMPARE(actual, expected) QTRY_COMPARE_WITH_TIMEOUT((actual), (expected), 60000)

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
