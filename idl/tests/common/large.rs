//! IDL text of any length, with most constructs in it.

/// So many lines, or a few more.
pub fn text(lines: usize) -> String {
    let mut text = String::from("#define BOUND 16\n#define MEMBER(type, name) type name\n");
    let mut written = 2;
    for i in 0.. {
        if written >= lines {
            break;
        }
        let previous = i.max(1) - 1;
        let base = if i == 0 { "octet".to_owned() } else { format!("M{previous}::S{previous}") };
        let block = format!(
            "module M{i} {{\n    /// A colour.\n    enum Color{i} {{\n        RED{i},\n        @value({i} + 7) GREEN{i}\n    }};\n\
             \x20   const long SIZE{i} = ({i} << 1) % 13 + 1;\n    @bit_bound(16)\n    bitmask Flags{i} {{\n        A,\n        @position(9) B\n    }};\n\
             \x20   typedef sequence<string<BOUND>, SIZE{i}> Names{i};\n    struct S{i} {{\n        @key string id;\n        Color{i} color; // behind\n\
             \x20       @optional Names{i} names;\n        {base} inner;\n        double matrix[SIZE{i}][3];\n        map<long, Flags{i}> flags;\n\
             \x20       @default(5) @range(min = 0, max = 9) long level;\n        MEMBER(long, last);\n    }};\n    union U{i} switch (Color{i}) {{\n\
             \x20       case RED{i}: S{i} whole;\n        default: long number;\n    }};\n}};\n"
        );
        written += block.lines().count();
        text += &block;
    }
    text
}
