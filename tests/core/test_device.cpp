#include "core/device.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace twb;

class TestDevice : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void namesAreReadAsTheyAreWritten() {
        std::set<std::string> names;
        std::set<std::size_t> hashes;
        std::set<Device> all{Device::automatic()};
        for (int rank = 0; rank < 64; ++rank) {
            all.insert(Device::cpu(rank));
            for (int index = 0; index < 64; ++index) all.insert(Device::cuda(index, rank));
        }
        for (const Device device : all) {
            QCOMPARE(Device::parse(device.toString()), device);
            names.insert(device.toString());
            hashes.insert(std::hash<Device>{}(device));
        }
        QCOMPARE(all.size(), std::size_t{64 * 65 + 1});
        QCOMPARE(names.size(), all.size());
        QCOMPARE(hashes.size(), all.size());
    }

    void rankZeroHasNoPrefix() {
        QCOMPARE(Device::cuda(1).toString(), std::string("cuda:1"));
        QCOMPARE(Device::cuda(1, 2).toString(), std::string("rank2/cuda:1"));
        QCOMPARE(Device::cpu(63).toString(), std::string("rank63/cpu"));
        QCOMPARE(Device::parse("rank0/cuda:1"), Device::cuda(1));
        QCOMPARE(Device::parse("rank1/cuda"), Device::cuda(0, 1));
    }

    void otherNamesAreRefused() {
        for (const char* bad : {"", "gpu", "cuda:", "cuda:64", "cuda:-1", "cuda:1x", "rank", "rank1",
                                "rank/cpu", "rank1/", "rank64/cpu", "rank-1/cpu", "rank1/auto",
                                "rank1/rank2/cpu", "rank1cpu", "rank 1/cpu", "Rank1/cpu"})
            QVERIFY2(!Device::parse(bad), bad);
    }

    /// The order of devices without ranks is that of files that were written before there were ranks.
    void ranksComeOneAfterTheOther() {
        std::vector<Device> devices{Device::cuda(0, 2), Device::automatic(), Device::cuda(1), Device::cpu(1),
                                    Device::cuda(0),    Device::cuda(0, 1),  Device::cpu()};
        std::ranges::sort(devices);
        QCOMPARE(devices, (std::vector{Device::cpu(), Device::cuda(0), Device::cuda(1), Device::automatic(),
                                       Device::cpu(1), Device::cuda(0, 1), Device::cuda(0, 2)}));
    }

    void eachRankHasAHost() {
        QCOMPARE(Device::cuda(3, 2).host(), Device::cpu(2));
        QVERIFY(Device::cpu(2).isCpu() && Device::cpu(2) != Device::cpu());
        QVERIFY(!Device::cuda(0).sharesRankWith(Device::cuda(0, 1)));
    }
};

TWB_TEST_MAIN(TestDevice)
#include "test_device.moc"
