#include "graph/diagnostic.h"
#include "support/test_main.h"

using namespace twb;

class TestDiagnostic : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void severities() {
        QCOMPARE(name(Severity::note), "note");
        QCOMPARE(name(Severity::warning), "warning");
        QCOMPARE(name(Severity::error), "error");
    }

    /// The text equals PyTorch's message, so that users can search for it.
    void mismatchReadsAsInTheDesign() {
        Diagnostic d;
        d.code = "device-mismatch";
        d.message =
            "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other "
            "tensors on cuda:0 (when checking arguments of Gemm \"fc1\")";
        d.operands = {{"mat1", "images", Device::cpu(), "from File \"test_images.npy\", created on cpu"},
                      {"mat2", "fc1.weight", Device::cuda(0), ""}};
        Fix to;
        to.title = "insert To(cuda:0) on images -> fc1";
        to.price = {92160, 12'300, true, true};
        Fix move;
        move.kind = Fix::Kind::moveNode;
        move.title = "move fc1 to cpu";
        move.price = {8192, 4000, false, true};
        d.fixes = {to, move};
        QCOMPARE(toText(d),
                 d.message +
                     "\n"
                     "  mat1  \"images\"      cpu     <- from File \"test_images.npy\", created on cpu\n"
                     "  mat2  \"fc1.weight\"  cuda:0\n"
                     "  fix 1  insert To(cuda:0) on images -> fc1  92,160 B  0.012 ms modelled\n"
                     "  fix 2  move fc1 to cpu                      8,192 B  0.004 ms\n");
    }

    void aFixMayHaveNoPrice() {
        Diagnostic d;
        d.message = "m";
        Fix edit;
        edit.kind = Fix::Kind::removeNode;
        edit.title = "remove x";
        Fix unknown;
        unknown.title = "insert To(cpu)";
        Fix free;
        free.kind = Fix::Kind::moveNode;
        free.title = "move x";
        free.price.isKnown = true;
        d.fixes = {edit, unknown, free};
        QCOMPARE(toText(d), "m\n"
                            "  fix 1  remove x\n"
                            "  fix 2  insert To(cpu)  ? B  size known at run time\n"
                            "  fix 3  move x          0 B  no transfer in the iteration\n");
    }

    void namesCannotForgeLines() {
        Diagnostic d;
        d.message = "node \"a\nerror: b\" is bad";
        d.operands = {{"x", "a\nb\x1b[2J", Device::cpu(), ""}};
        QCOMPARE(toText(d), "node \"a\\nerror: b\" is bad\n  x  \"a\\nb\\x1b[2J\"  cpu\n");
    }
};

TWB_TEST_MAIN(TestDiagnostic)
#include "test_diagnostic.moc"
