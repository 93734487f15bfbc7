#include "app/program.h"
#include "support/json_schema.h"
#include "support/test_main.h"

using namespace twb;
using namespace twb::test;
namespace fs = std::filesystem;

namespace {

const fs::path kSchemas = fs::path(TWB_SOURCE_DIR) / "resources/schema";

/// Every key must be described.
Schema schemaOf(const std::string& name) {
    return Schema(nlohmann::json::parse(readFile(kSchemas / (name + ".schema.json"), 1 << 20)), true);
}

QString problem(const std::string& schema, const nlohmann::json& value) {
    return QString::fromStdString(schemaOf(schema).problem(value));
}

} // namespace

/// Validates the commands' JSON output against the published schemas.
class TestJsonSchemas : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void devices() {
        const nlohmann::json out = parsed(Program().run({"devices", "--json"}).out);
        QVERIFY(!out.at("devices").empty() && out.at("profiles").size() >= 6);
        QCOMPARE(problem("devices", out), QString());
    }

    void profile() {
        const QDir traces(QStringLiteral(TWB_SOURCE_DIR "/tests/data/traces"));
        const QStringList files = traces.entryList({"*.json.gz"});
        QVERIFY(files.size() >= 4);
        for (const QString& file : files) {
            if (file.contains(QLatin1String("onnxruntime"))) continue;
            const Ended ended = Program().run({"profile", traces.filePath(file), "--json"});
            QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
            const nlohmann::json out = parsed(ended.out);
            QVERIFY(!out.at("transfers").empty() && !out.at("syncs").empty());
            QCOMPARE(problem("profile", out), QString());
        }
    }

    void ops() {
        const nlohmann::json all = parsed(Program().run({"ops", "--json"}).out);
        QVERIFY(all.at("ops").size() > 150);
        QCOMPARE(problem("ops", all), QString());
        const nlohmann::json one = parsed(Program().run({"ops", "Gemm", "--json"}).out);
        QCOMPARE(one.at("ops").size(), std::size_t(1));
        QCOMPARE(problem("ops", one), QString());
    }

    void train() {
        const Program twb;
        const Ended ended =
            twb.run({"train", QStringLiteral(TWB_SOURCE_DIR "/resources/examples/11-a-model-learns.twb"),
                     "--epochs", "2", "--report", "r.json"});
        QCOMPARE(ended.exit, 0);
        const nlohmann::json out = twb.json("r.json");
        QVERIFY(out.at("best").contains("value") && out.at("epochs").back().contains("lr"));
        QCOMPARE(problem("train", out), QString());
        for (const auto& [key, value] : out.items()) {
            nlohmann::json broken = out;
            broken[key] = "no";
            if (key != "file") QVERIFY2(!problem("train", broken).isEmpty(), key.c_str());
        }
    }

    void batch() {
        const Program twb;
        twb.save(QStringLiteral("g.twb"), crossingGraph());
        twb.write(QStringLiteral("broken.twb"), "{");
        twb.run({"batch", "g.twb", "broken.twb", "--report", "out", "--quiet"});
        QCOMPARE(
            twb.run({"batch", "g.twb", "--set", "base.value=1,2,inf", "--report", "swept", "--quiet"}).exit,
            0);
        for (const char* folder : {"out", "swept", "swept"}) {
            const nlohmann::json out = twb.json(QLatin1String(folder) + QStringLiteral("/summary.json"));
            QVERIFY(out.at("runs").size() >= 2);
            QCOMPARE(problem("batch", out), QString());
            // The second batch reuses the existing reports.
            twb.run({"batch", "g.twb", "--set", "base.value=1,2,inf", "--report", "swept", "--quiet"});
        }
    }

    void compare() {
        const Program twb;
        twb.save(QStringLiteral("a.twb"), crossingGraph());
        GraphMaker changed = crossingGraph();
        changed.node("Ones", "more", "cuda:0", {{"shape", Integers{4}}});
        twb.save(QStringLiteral("b.twb"), changed);
        twb.save(QStringLiteral("c.twb"), smallGraph());
        for (const char* name : {"a", "b", "c"})
            QCOMPARE(twb.run({"run", QLatin1String(name) + QStringLiteral(".twb"), "--quiet", "--report",
                              QLatin1String(name) + QStringLiteral(".json")})
                         .exit,
                     0);
        for (const char* after : {"a.json", "b.json", "c.json"}) {
            const nlohmann::json out = parsed(
                twb.run({"compare", "a.json", QLatin1String(after), "--json", "--fail-if-time-grows", "0%"})
                    .out);
            QVERIFY(!out.is_discarded());
            QCOMPARE(problem("compare", out), QString());
        }
    }

    void fixPlaceAndPredict() {
        const Program twb;
        twb.save(QStringLiteral("wrong.twb"), crossingGraph(false));
        twb.save(QStringLiteral("fine.twb"), crossingGraph());
        const nlohmann::json fix = parsed(twb.run({"fix", "wrong.twb", "--json"}).out);
        QVERIFY(!fix.at("fixes").empty());
        QCOMPARE(problem("fix", fix), QString());
        QCOMPARE(problem("fix", parsed(twb.run({"fix", "fine.twb", "--json"}).out)), QString());
        const nlohmann::json place = parsed(twb.run({"place", "fine.twb", "--json"}).out);
        QVERIFY(!place.at("moves").empty());
        QCOMPARE(problem("place", place), QString());
        const nlohmann::json predict =
            parsed(twb.run({"predict", "fine.twb", "--json", "--what-if", "cuda:0=simulated:t4"}).out);
        QCOMPARE(predict.at("cases").size(), std::size_t(2));
        QCOMPARE(problem("predict", predict), QString());
    }

    /// For each required key of each schema: the validator reports if the key is missing or has another type.
    void invalidOutputIsReported() {
        const Program twb;
        twb.save(QStringLiteral("g.twb"), crossingGraph());
        const std::map<std::string, QStringList> calls{{"devices", {"devices", "--json"}},
                                                       {"ops", {"ops", "Add", "--json"}},
                                                       {"fix", {"fix", "g.twb", "--json"}},
                                                       {"place", {"place", "g.twb", "--json"}},
                                                       {"predict", {"predict", "g.twb", "--json"}}};
        for (const auto& [name, call] : calls) {
            const nlohmann::json whole = parsed(twb.run(call).out);
            QCOMPARE(problem(name, whole), QString());
            for (const auto& [key, value] : whole.items()) {
                nlohmann::json broken = whole;
                broken.erase(key);
                QVERIFY2(!problem(name, broken).isEmpty(), key.c_str());
                broken = whole;
                broken[key] = nullptr;
                QVERIFY2(!problem(name, broken).isEmpty(), key.c_str());
            }
            nlohmann::json more = whole;
            more["colour"] = "red";
            QVERIFY(problem(name, more).contains("'colour'"));
        }
    }

    void eachIsPublishedUnderItsName() {
        int count = 0;
        for (const auto& entry : fs::directory_iterator(kSchemas)) {
            const nlohmann::json schema = nlohmann::json::parse(readFile(entry.path(), 1 << 20));
            const std::string file = entry.path().filename().string();
            const std::string name = file.substr(0, file.find('.'));
            const std::string id = schema.at("$id");
            QVERIFY2(name == "tensor-workbench" || id == "urn:tensor-workbench:" + name + ":1", id.c_str());
            QVERIFY(schema.contains("title") && schema.contains("description"));
            ++count;
        }
        QCOMPARE(count, 15);
    }
};

TWB_TEST_MAIN(TestJsonSchemas)
#include "test_json_schemas.moc"
