#pragma once

#include "backends/world.h"
#include "core/error.h"
#include "support/graphs.h"

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace twb::test {

/// Calls `work` for each rank of a world of threads, all at once. Returns by rank the sentence of the error
/// that it threw, or
/// "". A rank whose work has ended with an error leaves the world.
inline std::vector<std::string> onRanks(int size, const std::function<void(std::shared_ptr<World>)>& work) {
    std::vector<std::shared_ptr<World>> worlds = makeThreadWorlds(size);
    std::vector<std::string> out(worlds.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < worlds.size(); ++r)
        threads.emplace_back([&, r] {
            try {
                work(worlds[r]);
            } catch (const std::exception& error) {
                out[r] = error.what();
                worlds[r].reset();
            }
        });
    for (std::thread& thread : threads) thread.join();
    return out;
}

inline DeviceMap mapIn(std::shared_ptr<World> world) {
    DeviceMap map = simulatedMap();
    map.setWorld(std::move(world));
    return map;
}

} // namespace twb::test
