#include "support/op_runner.h"
#include "support/test_main.h"

#include <QFile>

#include <nlohmann/json.hpp>

#include <limits>

using namespace twb;
using namespace twb::test;
using nlohmann::json;

namespace {

double numberOf(const json& value) {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (!value.is_string()) return value.get<double>();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    return value == "inf" ? std::numeric_limits<double>::infinity()
                          : -std::numeric_limits<double>::infinity();
}

Tensor tensorFrom(const json& tensor) {
    std::vector<double> values;
    for (const json& value : tensor["values"]) values.push_back(numberOf(value));
    return tensorOf(*parseDType(tensor["dtype"].get<std::string>()),
                    Shape(tensor["shape"].get<std::vector<std::int64_t>>()), values);
}

Attributes attributesFrom(const json& object) {
    Attributes attributes;
    for (const auto& [name, value] : object.items()) {
        if (value.is_boolean())
            attributes.set(name, value.get<bool>());
        else if (value.is_number_integer())
            attributes.set(name, value.get<std::int64_t>());
        else if (value.is_number())
            attributes.set(name, value.get<double>());
        else if (value.is_string())
            attributes.set(name, value.get<std::string>());
        else
            attributes.set(name, value.get<std::vector<std::int64_t>>());
    }
    return attributes;
}

} // namespace

/// NumPy's results, recorded by tests/data/make_numpy_cases.py.
class TestNumpy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void agrees_data();
    void agrees();

private:
    json m_cases;
};

void TestNumpy::initTestCase() {
    QFile file(QStringLiteral(TWB_SOURCE_DIR "/tests/data/numpy_cases.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    m_cases = json::parse(file.readAll().toStdString());
    QVERIFY(m_cases.size() > 50);
}

void TestNumpy::agrees_data() {
    QTest::addColumn<int>("index");
    for (int i = 0; i < static_cast<int>(m_cases.size()); ++i) {
        const json& one = m_cases[static_cast<std::size_t>(i)];
        QTest::addRow("%d %s %s", i, one["op"].get<std::string>().c_str(), one["attributes"].dump().c_str())
            << i;
    }
}

void TestNumpy::agrees() {
    QFETCH(int, index);
    const json& one = m_cases[static_cast<std::size_t>(index)];
    const std::string op = one["op"];
    const Tensor expected = tensorFrom(one["output"]);
    for (Layout layout : kLayouts) {
        std::vector<Tensor> inputs;
        for (const json& input : one["inputs"]) inputs.push_back(inLayout(tensorFrom(input), layout));
        const Tensor got = runOp(op, attributesFrom(one["attributes"]), inputs)[0];
        QCOMPARE(got.dtype(), expected.dtype());
        const Tolerance tolerance = isFloating(got.dtype()) ? findOp(op)->tolerance : Tolerance{};
        const QString wrong = difference(got, expected.shape(), valuesOf(expected), tolerance);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
}

TWB_TEST_MAIN(TestNumpy)
#include "test_numpy.moc"
