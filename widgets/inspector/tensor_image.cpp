#include "widgets/inspector/tensor_image.h"

#include "widgets/inspector/tensor_pictures.h"
#include "widgets/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QPainter>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace twb {
namespace {

constexpr std::int64_t kMostPixels = 1024;
constexpr int kMostChannels = 4096; ///< in the list
constexpr int kLeastChoice = 72;    ///< px

/// Sizes and distances, in elements, of an image's axes.
struct Axes {
    std::int64_t height = 1, width = 1, channels = 1, images = 1;
    std::int64_t row = 0, column = 0, channel = 0, image = 0;
};

Axes axesOf(const Shape& shape, ImageLayout layout) {
    Axes axes;
    const int rank = shape.rank();
    const bool first = layout == ImageLayout::channelsFirst;
    if (rank == 2) {
        axes.height = shape[0];
        axes.width = shape[1];
        axes.row = axes.width;
        axes.column = 1;
        return axes;
    }
    const int start = rank - 3; // of one image's axes
    axes.channels = shape[start + (first ? 0 : 2)];
    axes.height = shape[start + (first ? 1 : 0)];
    axes.width = shape[start + (first ? 2 : 1)];
    axes.column = first ? 1 : axes.channels;
    axes.row = axes.width * axes.column;
    axes.channel = first ? axes.height * axes.width : 1;
    axes.image = axes.channels * axes.height * axes.width;
    if (rank == 4) axes.images = shape[0];
    return axes;
}

} // namespace

std::int64_t channelsOf(const Shape& shape, ImageLayout layout) { return axesOf(shape, layout).channels; }

std::int64_t imagesOf(const Shape& shape) { return shape.rank() == 4 ? shape[0] : 1; }

ImageLayout likelyLayout(const Shape& shape) {
    const int rank = shape.rank();
    if (rank < 3) return ImageLayout::channelsFirst;
    const auto likeness = [](std::int64_t size) { return size == 3 || size == 4 ? 2 : size == 1 ? 1 : 0; };
    return likeness(shape[rank - 1]) > likeness(shape[rank - 3]) ? ImageLayout::channelsLast
                                                                 : ImageLayout::channelsFirst;
}

QImage imageOf(const Tensor& tensor, ImageLayout layout, std::int64_t number, int channel, double least,
               double most) {
    const Axes axes = axesOf(tensor.shape(), layout);
    if (tensor.elementCount() == 0) return {};
    const std::int64_t height = std::min(axes.height, kMostPixels);
    const std::int64_t width = std::min(axes.width, kMostPixels);
    const bool inColour = channel < 0 && axes.channels >= 3;
    const double span = most > least ? most - least : 1;
    QImage image(int(width), int(height), QImage::Format_RGB32);
    for (std::int64_t y = 0; y < height; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(int(y)));
        for (std::int64_t x = 0; x < width; ++x) {
            const std::int64_t at = number * axes.image + y * axes.height / height * axes.row +
                                    x * axes.width / width * axes.column;
            std::array<int, 3> colour{};
            bool isNumber = true;
            for (int c = 0; c < 3; ++c) {
                const std::int64_t from = inColour ? c : std::max(channel, 0);
                const double value = tensor.at(at + from * axes.channel);
                isNumber = isNumber && !std::isnan(value);
                if (isNumber)
                    colour[std::size_t(c)] =
                        int(std::lround(255 * std::clamp((value - least) / span, 0.0, 1.0)));
            }
            line[x] = isNumber ? qRgb(colour[0], colour[1], colour[2]) : Theme::current().error.rgb();
        }
    }
    return image;
}

/// The image as large as it fits, its pixels sharp.
class TensorImage::Canvas : public QWidget {
public:
    explicit Canvas(const TensorImage& owner) : m_owner(owner) {
        setAccessibleName(TensorImage::tr("Image"));
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const QImage image = m_owner.image();
        if (image.isNull()) return;
        QPainter painter(this);
        const QSize size =
            image.size().scaled(this->size() - QSize(0, colorScaleHeight()), Qt::KeepAspectRatio);
        const QRect target(QPoint((width() - size.width()) / 2, 0), size);
        painter.setRenderHint(QPainter::SmoothPixmapTransform, size.width() < image.width());
        painter.drawImage(target, image);
        // The scale also applies to colour images, to each of their channels.
        paintColorScale(painter, rect(), Qt::black, Qt::white, m_owner.m_least, m_owner.m_most);
    }

private:
    const TensorImage& m_owner;
};

TensorImage::TensorImage(QWidget* parent)
    : QWidget(parent), m_canvas(new Canvas(*this)), m_layout(new QComboBox), m_channel(new QComboBox),
      m_number(new QSpinBox) {
    m_layout->addItems({QStringLiteral("NCHW"), QStringLiteral("NHWC")});
    m_layout->setObjectName(QStringLiteral("imageLayout"));
    m_layout->setAccessibleName(tr("Channel axis"));
    for (QComboBox* box : {m_layout, m_channel}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(3);
        box->setMinimumWidth(kLeastChoice);
    }
    m_channel->setObjectName(QStringLiteral("imageChannel"));
    m_channel->setAccessibleName(tr("Channel"));
    m_number->setObjectName(QStringLiteral("imageNumber"));
    m_number->setAccessibleName(tr("Image index"));
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    row->addWidget(m_layout, 1);
    row->addWidget(m_channel, 1);
    row->addWidget(m_number);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_canvas, 1);
    layout->addLayout(row);
    connect(m_layout, &QComboBox::currentIndexChanged, this, [this] {
        fillChannels();
        m_canvas->update();
    });
    connect(m_channel, &QComboBox::currentIndexChanged, m_canvas, qOverload<>(&QWidget::update));
    connect(m_number, &QSpinBox::valueChanged, m_canvas, qOverload<>(&QWidget::update));
}

void TensorImage::setTensor(const Tensor& tensor, double least, double most) {
    const bool isOfSameShape = m_tensor && tensor && m_tensor.shape() == tensor.shape();
    m_tensor = tensor;
    m_least = least;
    m_most = most;
    const int rank = tensor ? tensor.shape().rank() : 0;
    if (!isOfSameShape && rank >= 2 && rank <= 4) {
        const QSignalBlocker layoutBlocker(m_layout);
        const QSignalBlocker numberBlocker(m_number);
        m_layout->setCurrentIndex(int(likelyLayout(tensor.shape())));
        m_layout->setVisible(rank > 2);
        const std::int64_t images = imagesOf(tensor.shape());
        m_number->setRange(0, int(std::clamp<std::int64_t>(images - 1, 0, std::numeric_limits<int>::max())));
        m_number->setValue(0);
        m_number->setVisible(images > 1);
        fillChannels();
    }
    m_canvas->update();
}

void TensorImage::fillChannels() {
    const QSignalBlocker blocker(m_channel);
    m_channel->clear();
    const std::int64_t channels = channelsOf(m_tensor.shape(), ImageLayout(m_layout->currentIndex()));
    if (channels >= 3) m_channel->addItem(tr("RGB"), -1);
    for (int i = 0; i < std::min<std::int64_t>(channels, kMostChannels); ++i)
        m_channel->addItem(tr("ch. %1").arg(i), i);
    // More than three channels are feature maps without colours.
    if (channels > 4) m_channel->setCurrentIndex(1);
    m_channel->setVisible(channels > 1);
}

QImage TensorImage::image() const {
    const int rank = m_tensor ? m_tensor.shape().rank() : 0;
    if (rank < 2 || rank > 4) return {};
    const QVariant channel = m_channel->currentData();
    return imageOf(m_tensor, ImageLayout(m_layout->currentIndex()), m_number->value(),
                   channel.isValid() ? channel.toInt() : 0, m_least, m_most);
}

} // namespace twb
