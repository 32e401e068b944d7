// Reads the setting from the environment, and prints the requested parts.
#include "paper.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace paper {

std::vector<double> zipf(int keys, double skew)
{
    std::vector<double> parts;
    double all = 0;
    for (int key = 1; key <= keys; ++key)
        all += parts.emplace_back(std::pow(key, -skew));
    for (double &each : parts)
        each /= all;
    return parts;
}

std::string key_name(int key)
{
    return "tenant-" + std::to_string(key);
}

}  // namespace paper

namespace {

double number(const char *name, double otherwise)
{
    const char *text = std::getenv(name);
    return text == nullptr ? otherwise : std::atof(text);
}

paper::Setting setting_of_environment()
{
    paper::Setting setting;
    setting.shards = static_cast<int>(number("SHARDS", setting.shards));
    setting.keys = static_cast<int>(number("KEYS", setting.keys));
    setting.seed = static_cast<unsigned>(number("SEED", setting.seed));
    setting.seconds = static_cast<int>(number("SECONDS_LONG", setting.seconds));
    setting.latency_ms = number("LATENCY_MS", setting.latency_ms);
    setting.cores = static_cast<int>(number("CORES", setting.cores));
    setting.shard_rate = number("SHARD_RATE", setting.shard_rate);
    return setting;
}

}  // namespace

int main(int count, char **arguments)
{
    const std::string_view part = count > 1 ? arguments[1] : "";
    const paper::Setting setting = setting_of_environment();
    if (count > 2 ||
        (part != "" && part != "load" && part != "growth" && part != "permits" &&
         part != "servers") ||
        setting.shards < 2 || setting.shards > 1'000 || setting.keys < 1) {
        std::fprintf(stderr, "usage: bench/shards-on-paper [load | growth | permits | servers]\n");
        return 2;
    }
    std::printf("%d shards, %d keys, seed %u, %g ms from shard to shard\n", setting.shards,
                setting.keys, setting.seed, setting.latency_ms);
    if (part == "" || part == "load")
        paper::print_load(setting);
    if (part == "" || part == "growth")
        paper::print_growth(setting);
    if (part == "" || part == "permits")
        paper::print_permits(setting);
    if (part == "" || part == "servers")
        paper::print_servers(setting);
    return 0;
}
