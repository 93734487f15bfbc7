#pragma once

#include <QWidget>

#include <filesystem>
#include <vector>

class QPushButton;
class QTreeWidget;

namespace twb {

/// The plug-in folders beside projects about which the user has answered, with the answers. A ticked
/// folder is used; an answer can be taken back, so that the folder's next project asks again.
class TrustTable : public QWidget {
    Q_OBJECT

public:
    explicit TrustTable(QWidget* parent = nullptr);

    /// Remembers the changes. Throws Error(io).
    void write() const;

private:
    void forget();
    void refresh();

    QTreeWidget* m_list;
    QPushButton* m_forget;
    std::vector<std::filesystem::path> m_forgotten;
};

} // namespace twb
