#pragma once

#include "app/exit_code.h"

#include <QSize>
#include <QString>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace twb {

class MainWindow;

/// `--screenshot`: renders the window off screen, optionally after a run, and writes a PNG.
class WindowScreenshot {
public:
    void addOptions(CLI::App& parser);
    /// Call after the command line was parsed. Throws Error(invalidArgument) for options that do not fit each
    /// other or the number of files.
    void check(std::size_t files);
    bool isWanted() const { return !m_out.empty(); }
    /// Opens `file` in the window (empty: shows the start page), runs it, and writes the picture after the
    /// run. A picture that would replace a file of the graph is refused. Messages go to stderr.
    ExitCode take(MainWindow& window, const QString& file) const;
    QString theme() const { return QString::fromStdString(m_theme); } ///< a name of Theme::named()

private:
    /// Runs the graph and reports errors.
    ExitCode run(MainWindow& window, const QString& file) const;
    /// Throws as FileClaims does if the picture would replace a file that the window shows.
    void claimPicture(MainWindow& window, const QString& file) const;
    bool save(MainWindow& window) const;

    std::string m_out;
    std::string m_sizeText = "1600x1000";
    QSize m_size;
    std::string m_theme = "dark";
    std::optional<std::int64_t> m_iterations;
    std::string m_select;
    std::string m_tab;
};

} // namespace twb
