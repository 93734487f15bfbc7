#pragma once

#include "core/tensor.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "support/graphs.h"

#include <QDir>
#include <QFile>
#include <QFloat16>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <csignal>

namespace twb::test {

/// Debian's python3-torch goes with Debian's own interpreter.
inline QString debiansPython() { return QStringLiteral("/usr/bin/python3"); }
inline bool hasTorch() {
    static const bool has = [] {
        QProcess process;
        process.start(debiansPython(), {QStringLiteral("-c"), QStringLiteral("import torch, numpy")});
        return process.waitForFinished(120000) && process.exitStatus() == QProcess::NormalExit &&
               process.exitCode() == 0;
    }();
    return has;
}

/// The exit of a run of the program.
struct Ended {
    int exit = -1; ///< -1: crash or timeout
    QString out;
    QString err;
};

/// A temporary folder in which the real `twb` runs.
class Program {
public:
    static QString path() { return QStringLiteral(TWB_BINARY_DIR "/bin/twb"); }

    QString file(const QString& name) const { return m_folder.filePath(name); }
    std::filesystem::path fsPath(const QString& name) const { return file(name).toStdString(); }

    Ended run(const QStringList& arguments, int timeoutMs = 300000) const {
        QProcess process;
        process.setWorkingDirectory(m_folder.path());
        process.start(path(), arguments);
        return wait(process, timeoutMs);
    }

    static Ended wait(QProcess& process, int timeoutMs = 300000) {
        Ended ended;
        if (process.waitForFinished(timeoutMs) && process.exitStatus() == QProcess::NormalExit)
            ended.exit = process.exitCode();
        if (process.state() != QProcess::NotRunning) {
            process.kill();
            process.waitForFinished();
        }
        ended.out = QString::fromUtf8(process.readAllStandardOutput());
        ended.err = QString::fromUtf8(process.readAllStandardError());
        return ended;
    }

    /// Waits until a process handles Ctrl-C: before, it would end at once.
    static bool handlesInterrupts(const QProcess& process) {
        return QTest::qWaitFor(
            [&] {
                QFile file(QStringLiteral("/proc/%1/status").arg(process.processId()));
                if (!file.open(QIODevice::ReadOnly)) return false;
                const QString text = QString::fromUtf8(file.readAll());
                const QString mask = text.section(QStringLiteral("SigCgt:"), 1).trimmed().left(16);
                return (mask.toULongLong(nullptr, 16) >> (SIGINT - 1) & 1) != 0;
            },
            60000);
    }

    void write(const QString& name, const QByteArray& bytes) const {
        QDir(m_folder.path()).mkpath(QFileInfo(file(name)).path());
        QFile out(file(name));
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(bytes);
    }
    QByteArray read(const QString& name) const {
        QFile in(file(name));
        return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
    }
    bool exists(const QString& name) const { return QFile::exists(file(name)); }
    nlohmann::json json(const QString& name) const {
        return nlohmann::json::parse(read(name).toStdString(), nullptr, false);
    }
    void save(const QString& name, const GraphMaker& maker) const {
        QDir(m_folder.path()).mkpath(QFileInfo(file(name)).path());
        saveProject(maker.graph(), fsPath(name));
    }
    template <class T>
    void saveTensor(const QString& name, Shape shape, std::initializer_list<T> values) const {
        writeNpy(fsPath(name), Tensor::of<T>(std::move(shape), values).view());
    }
    /// The elements of a .npy, as doubles.
    std::vector<double> tensor(const QString& name) const {
        const Tensor tensor = readNpy(fsPath(name));
        std::vector<double> out;
        for (std::int64_t i = 0; i < tensor.elementCount(); ++i) out.push_back(tensor.at(i));
        return out;
    }

private:
    QTemporaryDir m_folder;
};

inline nlohmann::json parsed(const QString& text) {
    return nlohmann::json::parse(text.toStdString(), nullptr, false);
}

using Integers = std::vector<std::int64_t>;

/// scaled = base * factor, on cpu, seen by the Probe "seen"; base is a Full of 3 by default.
inline GraphMaker smallGraph() {
    GraphMaker maker;
    const NodeId base = maker.node("Full", "base", "cpu", {{"shape", Integers{2, 2}}, {"value", 3.0}});
    const NodeId factor = maker.node("Constant", "factor", "cpu", {{"value", 2.0}});
    const NodeId scaled = maker.node("Mul", "scaled", "cpu", {}, {base, factor});
    maker.node("Probe", "seen", "cpu", {}, {scaled});
    return maker;
}

/// The same with Mul on cuda:0: a transfer there and one back. Without the first To there is a mismatch.
inline GraphMaker crossingGraph(bool withTo = true) {
    GraphMaker maker;
    const NodeId base = maker.node("Full", "base", "cpu", {{"shape", Integers{2, 2}}, {"value", 3.0}});
    const NodeId there = withTo ? maker.node("To", "there", "cuda:0", {}, {base}) : base;
    const NodeId factor = maker.node("Full", "factor", "cuda:0", {{"shape", Integers{2, 2}}, {"value", 2.0}});
    const NodeId scaled = maker.node("Mul", "scaled", "cuda:0", {}, {there, factor});
    const NodeId back = maker.node("To", "back", "cpu", {}, {scaled});
    maker.node("Probe", "seen", "cpu", {}, {back});
    return maker;
}

/// A matrix product of some milliseconds; many iterations of it run longer than any test.
inline GraphMaker longGraph() {
    GraphMaker maker;
    const NodeId a = maker.node("RandomNormal", "a", "cpu", {{"shape", Integers{600, 600}}});
    const NodeId b = maker.node("MatMul", "b", "cpu", {}, {a, a});
    maker.node("Probe", "seen", "cpu", {}, {b});
    return maker;
}

} // namespace twb::test
