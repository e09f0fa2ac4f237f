//! C++ types of IDL have the octets of Rust's, and no octets harm them: the library checks its bounds.
//!
//! `DUNLIN_CXXFLAGS=-fsanitize=address,undefined` builds the program with more options.

mod languages;

use dunlin_idl::cpp::Cpp;
use std::fmt::Write as _;
use std::process::Command;

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
    let output = Command::new("g++")
        .args(["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GLIBCXX_ASSERTIONS"])
        .args(["-I", ".", "main.cpp", "-o", "main"])
        .args(std::env::var("DUNLIN_CXXFLAGS").unwrap_or_default().split_whitespace())
        .current_dir(folder.path())
        .output()
        .expect("g++ is there: scripts/setup.sh build");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    languages::compare(&mut Command::new(folder.path().join("main")), &types, 8);
}

/// The names of the tests that are words of C++.
fn escaped(name: &str) -> String {
    let words = ["struct", "union", "class", "double", "char", "default", "type_t", "operator"];
    if words.contains(&name) { format!("_cxx_{name}") } else { name.to_owned() }
}
