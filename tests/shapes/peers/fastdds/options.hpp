// The options of shape_main that this peer understands; see docs/shapes.md.
#pragma once

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>

struct Options {
    std::set<std::string> flags;
    std::map<std::string, std::string> values;

    Options(int argc, char** argv) {
        const std::set<std::string> without_value = {
            "-P", "-S", "-b", "-r", "-w", "-R", "--coherent", "--ordered", "--take-read"};
        for (int i = 1; i < argc; ++i) {
            const std::string word = argv[i];
            if (without_value.count(word) != 0) {
                flags.insert(word);
            } else if (i + 1 < argc) {
                values[word] = argv[++i];
            } else {
                std::cerr << word << " needs a value" << std::endl;
                std::exit(1);
            }
        }
    }

    bool has(const std::string& flag) const { return flags.count(flag) != 0 || values.count(flag) != 0; }
    std::string text(const std::string& option, const std::string& otherwise) const {
        const auto found = values.find(option);
        return found == values.end() ? otherwise : found->second;
    }
    int number(const std::string& option, int otherwise) const {
        return values.count(option) != 0 ? std::stoi(values.at(option)) : otherwise;
    }
};
