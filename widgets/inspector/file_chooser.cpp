#include "widgets/inspector/file_chooser.h"

#include "core/error.h"
#include "core/format.h"
#include "formats/npy.h"
#include "formats/tensor_archive.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

#include <filesystem>

namespace twb {
namespace {

constexpr int kPreviewWidth = 232;
constexpr std::size_t kMostTensors = 2000; ///< limit of the list

QString sizeText(const TensorType& type) {
    return type.isKnown() ? localized(formatBytes(double(type.byteCount()))) : QString();
}

} // namespace

FileChooser::FileChooser(QWidget* parent, const QString& folder)
    : QFileDialog(parent, tr("Choose a tensor"), folder,
                  tr("Tensors (*.npy *.npz *.safetensors);;All files (*)")),
      m_file(new ElidedLabel), m_facts(makeLabel({}, TextRole::body, QStringLiteral("secondary"))),
      m_tensors(new QListWidget) {
    setFileMode(QFileDialog::ExistingFile);
    setOption(QFileDialog::DontUseNativeDialog); // the system's dialog has no room for a preview
    m_file->setFont(twb::font(TextRole::strong));
    m_facts->setWordWrap(true);
    m_facts->setObjectName(QStringLiteral("fileFacts"));
    m_facts->setAccessibleName(FileChooser::tr("Contents of the file"));
    m_tensors->setObjectName(QStringLiteral("fileTensors"));
    m_tensors->setAccessibleName(FileChooser::tr("Tensors in the file"));
    m_tensors->hide();
    auto* box = new QWidget;
    box->setFixedWidth(kPreviewWidth);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(12, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(makeHeading(FileChooser::tr("Preview")));
    column->addWidget(m_file);
    column->addWidget(m_facts);
    column->addWidget(m_tensors, 1);
    column->addStretch(0);
    if (auto* grid = qobject_cast<QGridLayout*>(layout()))
        grid->addWidget(box, 0, grid->columnCount(), grid->rowCount(), 1);
    // The name of a clicked file is shown here, too.
    if (auto* name = findChild<QLineEdit*>(QStringLiteral("fileNameEdit")))
        connect(name, &QLineEdit::textChanged, this, [this](const QString& text) {
            preview(text.isEmpty() ? QString() : directory().absoluteFilePath(text));
        });
    connect(m_tensors, &QListWidget::itemActivated, this, [this] { accept(); });
    preview({});
    resize(820, 480);
}

void FileChooser::preview(const QString& path) {
    m_tensors->clear();
    m_tensors->hide();
    const QFileInfo info(path);
    m_file->setText(info.isFile() ? info.fileName() : QString());
    if (!info.isFile()) {
        m_facts->setText(tr("Choose a file to see its contents."));
        return;
    }
    const std::filesystem::path file(path.toStdU16String());
    try {
        const QString name = info.fileName();
        if (!splitTensorPath(name.toStdString()).isInArchive()) {
            const NpyHeader header = readNpyHeader(file);
            QStringList lines{toQt(header.type.toString()), sizeText(header.type)};
            lines << (header.fortranOrder ? tr("column-major, transposed on load") : tr("row-major"));
            if (header.bigEndian) lines << tr("big-endian, byte-swapped on load");
            m_facts->setText(lines.join(QLatin1Char('\n')));
            return;
        }
        const auto archive = openTensorArchive(file);
        const std::vector<std::string> names = archive->names();
        for (std::size_t i = 0; i < std::min(names.size(), kMostTensors); ++i) {
            auto* item = new QListWidgetItem(
                QStringLiteral("%1\n%2").arg(toQt(names[i]), toQt(archive->typeOf(names[i]).toString())));
            item->setData(Qt::UserRole, toQt(names[i]));
            m_tensors->addItem(item);
        }
        m_facts->setText(names.size() == 1 ? tr("1 tensor")
                                           : tr("%1 tensors; choose one").arg(grouped(qint64(names.size()))));
        if (m_tensors->count() > 0) m_tensors->setCurrentRow(0);
        m_tensors->setVisible(m_tensors->count() > 0);
    } catch (const Error& error) {
        m_facts->setText(toQt(error.what()));
    }
}

QString FileChooser::chosen() const {
    const QString file = selectedFiles().value(0);
    const QListWidgetItem* tensor = m_tensors->currentItem();
    const bool isListed = tensor && QFileInfo(file).fileName() == m_file->text();
    return isListed ? QStringLiteral("%1#%2").arg(file, tensor->data(Qt::UserRole).toString()) : file;
}

} // namespace twb
