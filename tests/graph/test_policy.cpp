#include "graph/policy.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;

class TestPolicy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void textsReadBack() {
        using enum Policy::Action;
        for (const Policy policy : {Policy::strict, Policy::implicit, Policy::guard(allow, log, disallow),
                                    Policy::guard(disallow, disallow, disallow)})
            QVERIFY(Policy::parse(policy.toString()) == policy);
        QCOMPARE(Policy::guard(allow, log, disallow).toString(),
                 std::string("guard:h2d=allow,d2h=log,d2d=disallow"));
        QVERIFY(Policy::parse("guard") == Policy::guard(log, log, log));
        QVERIFY(Policy::parse("guard:d2h=disallow") == Policy::guard(log, disallow, log));
    }

    void invalidTextsAreRefused() {
        for (const char* text :
             {"", "lax", "guard:", "guard,h2d=log", "guard:h2d", "guard:h2d=", "guard:h2d=no",
              "guard:h2d=log;d2h=log", "guard:h2d=log,", "guards", "Strict"})
            QVERIFY2(!Policy::parse(text), text);
    }

    void actions() {
        const Device cpu = Device::cpu();
        const Device gpu = Device::cuda(0);
        using enum Policy::Action;
        const Policy guard = Policy::guard(allow, log, disallow);
        QVERIFY(guard.actionFor(cpu, gpu) == allow);
        QVERIFY(guard.actionFor(gpu, cpu) == log);
        QVERIFY(guard.actionFor(gpu, Device::cuda(1)) == disallow);
        QVERIFY(Policy::strict.makesNoCopies() && !Policy::implicit.makesNoCopies() &&
                !guard.makesNoCopies());
        QVERIFY(guardWith(Policy::implicit, Policy::Direction::deviceToHost, disallow) ==
                Policy::guard(log, disallow, log));
    }
};

TWB_TEST_MAIN(TestPolicy)
#include "test_policy.moc"
