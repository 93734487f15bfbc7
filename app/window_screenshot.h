#pragma once

#include "app/exit_code.h"

#include <QSize>
#include <QString>

#include <cstdint>
#include <optional>

class QCommandLineParser;

namespace twb {

class MainWindow;

/// `--screenshot`: renders the real window off screen, after a run if one is asked for, and writes a PNG.
class WindowScreenshot {
public:
    static void addOptions(QCommandLineParser& parser);
    /// Why the options cannot be followed; empty when they can.
    QString read(const QCommandLineParser& parser);
    /// Opens `file` in the window (empty: shows the start page), runs, waits for the end, writes the picture.
    /// Messages go to stderr.
    ExitCode take(MainWindow& window, const QString& file) const;
    QString theme() const { return m_theme; } ///< "dark", "light" or empty

private:
    /// Runs, and says what was in the way.
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
