//! Versions of one type, and which of them can read which, as DDS-XTypes 1.3 §7.2.4 has it.
#![allow(dead_code)]

/// Members of the versions, and per reader (row) the versions (columns) that it can read.
type Versions = &'static [(&'static str, &'static str)];

const FINAL: Versions = &[
    ("long a; long b;", "+------"),
    ("long a;", "-+-----"),
    ("long a; double b;", "--+----"),
    ("long b; long a;", "---+---"),
    ("long a; string<8> b;", "----++-"),
    ("long a; string<16> b;", "----++-"),
    ("@key long a; long b;", "------+"),
];

const APPENDABLE: Versions = &[
    ("long a;", "++++-+-----++"),
    ("long a; long b;", "+++-----+----"),
    ("long a; long b; string c;", "+++-----+----"),
    ("long a; double b;", "+--+---------"),
    ("long b; long a;", "----+--------"),
    ("long a; @optional long b;", "+----+-------"),
    ("@key long a; long b;", "------++-----"),
    ("@key long a; long b; string c;", "------++-----"),
    ("long a; @must_understand long b;", "-++-----+----"),
    ("long x; long b;", "---------+---"),
    ("double a;", "----------+--"),
    ("long a; sequence<long, 4> b;", "+----------++"),
    ("long a; sequence<long> b;", "+----------++"),
];

const MUTABLE: Versions = &[
    ("long a;", "+++++-----+++"),
    ("long a; long b;", "+++-++-+--+++"),
    ("@id(1) long b; @id(0) long a;", "+++-++-+--+++"),
    ("long a; double b;", "+--+------+++"),
    ("long a; @optional long b;", "+++-++-+--+++"),
    ("long a; @must_understand long b;", "-++-++-+-----"),
    ("@key long a; long b;", "------+------"),
    ("@id(1) long b; @id(2) string c;", "-++-++-+-----"),
    ("@id(5) long z;", "--------+----"),
    ("@id(0) long x;", "---------+---"),
    ("long a; @id(3) @must_understand @optional long d;", "+++++-----+++"),
    ("long a; @id(7) string<4> s;", "+++++-----+++"),
    ("long a; @id(7) string<9> s;", "+++++-----+++"),
];

/// One of the versions.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// `final`, `appendable` or `mutable`.
    pub extensibility: &'static str,
    /// Its members as IDL.
    pub members: &'static str,
    at: usize,
    row: &'static str,
}

impl Version {
    /// The IDL of the type `T`.
    pub fn idl(&self) -> String {
        format!("@{} struct T {{ {} }};", self.extensibility, self.members)
    }

    /// Whether a reader of this version can read what a writer of another one writes.
    pub fn reads(&self, writer: &Self) -> bool {
        // Types of different extensibility are never assignable.
        self.extensibility == writer.extensibility && self.row.as_bytes()[writer.at] == b'+'
    }
}

/// All versions: 7 final, 13 appendable, 13 mutable.
pub fn all() -> impl Iterator<Item = Version> {
    [("final", FINAL), ("appendable", APPENDABLE), ("mutable", MUTABLE)].into_iter().flat_map(
        |(extensibility, list)| {
            list.iter().enumerate().map(move |(at, (members, row))| {
                assert_eq!(row.len(), list.len());
                Version { extensibility, members, at, row }
            })
        },
    )
}
