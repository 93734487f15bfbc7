#pragma once

#include "app/exit_code.h"

#include <QSize>
#include <QString>

#include <cstdint>
#include <optional>

class QCommandLineParser;

namespace twb {

class MainWindow;

/// `--screenshot`: renders the window off screen, optionally after a run, and writes a PNG.
class WindowScreenshot {
public:
    static void addOptions(QCommandLineParser& parser);
    /// The reason why the options are invalid; empty if they are valid.
    QString read(const QCommandLineParser& parser);
    /// Opens `file` in the window (empty: shows the start page), runs it, and writes the picture after the
    /// run. Messages go to stderr.
    ExitCode take(MainWindow& window, const QString& file) const;
    QString theme() const { return m_theme; } ///< "dark", "light" or empty

private:
    /// Runs the graph and reports errors.
    ExitCode run(MainWindow& window, const QString& file) const;
    bool save(MainWindow& window) const;

    QString m_out;
    QSize m_size{1600, 1000};
    QString m_theme;
    std::optional<std::int64_t> m_iterations;
    QString m_select;
    QString m_tab;
};

} // namespace twb
