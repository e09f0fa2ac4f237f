//! C++ types of IDL have the octets of Rust's, and no octets harm them: the library checks its bounds.
//! Everything is built with AddressSanitizer and UndefinedBehaviorSanitizer, whose findings end the program.

mod languages;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use dunlin_idl::cpp::Cpp;

const MAIN: &str = r#"
#include "all.hpp"
#include "special.hpp"
#include <iostream>

using namespace dunlin::cdr;

static void print(const std::vector<std::uint8_t>& octets) {
    static const char digits[] = "0123456789abcdef";
    for (const std::uint8_t octet : octets) std::cout << digits[octet >> 4] << digits[octet & 15];
}

template <class T>
static void answer(const std::vector<std::uint8_t>& payload, Scope scope) {
    std::optional<T> value;
    try {
        value = from_payload<T>(payload, scope);
    } catch (const Error& error) {
        std::cout << "error " << error.what() << '\n';
        return;
    }
    const T copy = *value;
    const T moved = std::move(*value);
    if (!(copy == moved)) std::cout << "unequal ";
    try {
        for (const auto representation : {Representation::Xcdr1, Representation::Xcdr2}) {
            for (const auto endianness : {Endianness::Little, Endianness::Big}) {
                print(to_payload(moved, representation, endianness));
                std::cout << ' ';
            }
        }
        for (const auto representation : {Representation::Xcdr1, Representation::Xcdr2}) {
            print(key_payload(copy, representation));
            std::cout << ' ';
        }
        print(key_hash_octets(copy));
        std::cout << '\n';
    } catch (const Error& error) {
        std::cout << "error " << error.what() << '\n';
    }
}

int main() {
    using Answer = void (*)(const std::vector<std::uint8_t>&, Scope);
    const std::map<std::string, Answer> types = {
TYPES    };
    std::string name, scope, line;
    while (std::getline(std::cin, line)) {
        const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
        name = line.substr(0, first);
        scope = line.substr(first + 1, second - first - 1);
        std::vector<std::uint8_t> payload;
        for (std::size_t at = second + 1; at + 1 < line.size(); at += 2) {
            payload.push_back(static_cast<std::uint8_t>(std::stoi(line.substr(at, 2), nullptr, 16)));
        }
        types.at(name)(payload, scope == "key" ? Scope::Key : Scope::Sample);
    }
}
"#;

#[test]
fn octets_are_those_of_rust() {
    let folder = tempfile::tempdir().unwrap();
    let types = languages::generate(&Cpp, &[languages::ALL, languages::SPECIAL], folder.path());
    let mut table = String::new();
    for ty in &types {
        let path: Vec<String> = ty.name.split("::").map(escaped).collect();
        writeln!(table, "        {{\"{}\", answer<::{}>}},", ty.name, path.join("::")).unwrap();
    }
    std::fs::write(folder.path().join("main.cpp"), MAIN.replace("TYPES", &table)).unwrap();
    build(folder.path(), "main");
    languages::compare(&mut Command::new(folder.path().join("main")), &types, 8);
}

/// Builds a program with everything that can be found in it.
fn build(folder: &Path, name: &str) {
    let output = Command::new("g++")
        .args(["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GLIBCXX_ASSERTIONS"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .args(["-I", ".", &format!("{name}.cpp"), "-o", name])
        .current_dir(folder)
        .output()
        .expect("g++ is there: scripts/setup.sh build");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const LIMITS: &str = r#"
#include "costly.hpp"
#include <iostream>

using namespace dunlin::cdr;

template <class T>
static bool refused(std::vector<std::uint8_t> payload, std::size_t bytes) {
    Limits limits;
    limits.max_bytes = bytes;
    T value;
    try {
        read_payload(value, payload.data(), payload.size(), Scope::Sample, limits);
    } catch (const Error& error) {
        if (std::string(error.what()) == "the value takes too much memory") return true;
        throw;
    }
    return false;
}

static int failed = 0;
#define CHECK(what) ((what) ? void() : void((std::cout << #what << '\n', ++failed)))

// Values of 16 MB each: a stack is smaller.
static void large() {
    auto value = std::make_unique<Costly::Larges>();
    value->list.emplace_back();
    value->maybe.emplace();
    value->table[1].numbers[5] = 7;
    value->levels[3] = Costly::Level::HIGH;
    const auto payload = to_payload(*value, Representation::Xcdr2);
    auto again = std::make_unique<Costly::Larges>();
    read_payload(*again, payload.data(), payload.size());
    CHECK(*again == *value);
    auto damaged = payload;
    damaged[damaged.size() - 4] = 9;
    again = std::make_unique<Costly::Larges>();
    read_payload(*again, damaged.data(), damaged.size());
    CHECK(again->levels[3] == Costly::Level::LOW && again->table == value->table);
}

int main() {
    large();
    // Two empty values, each with 400,000 octets by default.
    const std::vector<std::uint8_t> list = {0, 7, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    CHECK(!refused<Costly::Hollows>(list, 900000));
    CHECK(refused<Costly::Hollows>(list, 700000));
    const std::vector<std::uint8_t> table = {0, 7, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    CHECK(!refused<Costly::Table>(table, 900000));
    CHECK(refused<Costly::Table>(table, 700000));
    const std::vector<std::uint8_t> maybe = {0, 7, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    CHECK(!refused<Costly::Maybe>(maybe, 900000));
    CHECK(refused<Costly::Maybe>(maybe, 700000));
    const std::vector<std::uint8_t> choices = {0, 7, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    CHECK(!refused<Costly::Choices>(choices, 900000));
    CHECK(refused<Costly::Choices>(choices, 700000));
    return failed;
}
"#;

/// Values may be larger than the stack, and what defaults allocate is paid for.
#[test]
fn limits_hold() {
    let folder = tempfile::tempdir().unwrap();
    languages::generate(&Cpp, &[languages::COSTLY], folder.path());
    std::fs::write(folder.path().join("limits.cpp"), LIMITS).unwrap();
    build(folder.path(), "limits");
    let output = Command::new(folder.path().join("limits")).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{errors}");
}

/// The names of the tests that are words of C++.
fn escaped(name: &str) -> String {
    let words = ["struct", "union", "class", "double", "char", "default", "type_t", "operator"];
    if words.contains(&name) { format!("_cxx_{name}") } else { name.to_owned() }
}
