#pragma once

#include "app/exit_code.h"
#include "app/window_options.h"

#include <QImage>
#include <QSize>
#include <QString>

namespace twb {

class MainWindow;

/// `--screenshot`: renders the window off screen, optionally after a run, and writes a PNG.
class WindowScreenshot {
public:
    /// Throws Error(invalidArgument) for options that do not fit each other or the number of files.
    explicit WindowScreenshot(WindowOptions options);
    bool isWanted() const { return !m_options.screenshot.empty(); }
    /// Opens `file` in the window (empty: shows the start page), runs it, and writes the picture after the
    /// run. A picture that would replace a file of the graph is refused. Messages go to stderr.
    ExitCode take(MainWindow& window, const QString& file) const;

private:
    /// Runs the graph and reports errors.
    ExitCode run(MainWindow& window, const QString& file) const;
    ExitCode showTrace(MainWindow& window) const;
    ExitCode train(MainWindow& window) const;
    /// Throws as FileClaims does if the picture would replace a file that the window shows.
    void claimPicture(MainWindow& window, const QString& file) const;
    QImage picture(MainWindow& window) const;
    bool save(MainWindow& window) const;

    WindowOptions m_options;
    QSize m_size;
};

} // namespace twb
