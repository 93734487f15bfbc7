#pragma once

#include <QFileDialog>

class QLabel;
class QListWidget;

namespace twb {

/// Chooses a tensor file. Beside the list it shows the contents of the current file, from its header. In an
/// archive (.npz, .safetensors) the user also chooses a tensor.
class FileChooser : public QFileDialog {
    Q_OBJECT

public:
    FileChooser(QWidget* parent, const QString& folder);

    /// The path for a File node, with "#name" for a tensor of an archive.
    QString chosen() const;

private:
    void preview(const QString& path);

    QLabel* m_file;
    QLabel* m_facts;
    QListWidget* m_tensors;
};

} // namespace twb
