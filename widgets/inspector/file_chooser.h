#pragma once

#include <QFileDialog>

class QLabel;
class QListWidget;

namespace twb {

/// Chooses a file with a tensor, and beside the list of files says what the one at hand holds, by its header
/// alone. Of an archive (.npz, .safetensors) one of its tensors is chosen, too.
class FileChooser : public QFileDialog {
    Q_OBJECT

public:
    FileChooser(QWidget* parent, const QString& folder);

    /// The path as a File node names it: with "#name" where it is one tensor of several.
    QString chosen() const;

private:
    void preview(const QString& path);

    QLabel* m_file;
    QLabel* m_facts;
    QListWidget* m_tensors;
};

} // namespace twb
