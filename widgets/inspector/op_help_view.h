#pragma once

#include "formats/op_help.h"

#include <QWidget>

#include <optional>

class QLabel;
class QPushButton;
class QToolButton;

namespace twb {

/// The help of an op below a button that shows and hides it: shapes, operands, attributes, its names in
/// PyTorch and ONNX, and its example, which can be dragged to a lane.
class OpHelpView : public QWidget {
    Q_OBJECT

public:
    explicit OpHelpView(QWidget* parent = nullptr);

    void setOp(const Op* op); ///< null: empty
    void setModule(const ModuleOp& op);
    /// Shows the help and moves the focus to it.
    void open();

Q_SIGNALS:
    /// By the button; `entry` is the name of a palette entry.
    void exampleRequested(const QString& entry);

protected:
    void changeEvent(QEvent* event) override;

private:
    void refresh();

    /// The help of an op is made when it is shown: it analyses the op's example.
    const Op* m_op = nullptr;
    std::optional<OpHelp> m_module;
    QToolButton* m_toggle;
    QWidget* m_body;
    QLabel* m_text;
    QPushButton* m_example;
    QString m_entry;
};

} // namespace twb
