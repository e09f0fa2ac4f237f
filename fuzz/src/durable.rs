//! The configuration of a durability service, what it reads from its store (descriptions, heads, numbers), and what another one says.

use dunlin_durability::ServiceConfig;
use dunlin_durability::align::Body;
use dunlin_durability::change::Head;
use dunlin_durability::origins::Numbers;
use dunlin_durability::topic::Topic;

/// Reads the input, behind a first octet that says as what, and what was read again after it was written.
pub fn durable(data: &[u8]) {
    let Some((what, data)) = data.split_first() else { return };
    match what % 5 {
        0 => configuration(data),
        1 => {
            if let Some(topic) = Topic::decode(data) {
                assert_eq!(Topic::decode(&topic.encode()), Some(topic));
            }
        }
        2 => {
            if let Some(head) = Head::decode(data) {
                assert_eq!(head.encode()[..], *data);
            }
        }
        4 => {
            if let Ok(body) = Body::decode(data) {
                assert_eq!(body.encode(), data);
            }
        }
        _ => {
            if let Some(mut numbers) = Numbers::decode(data) {
                assert_eq!(numbers.encode(), data);
                for number in [1, 7, i64::MAX, i64::MIN] {
                    numbers.add(number);
                    assert!(numbers.contains(number));
                }
            }
        }
    }
}

fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ServiceConfig::from_toml("fuzz.toml", text, None) {
        Ok(config) => _ = config.topics.judge("rt/hall/temperature7"),
        Err(error) => {
            assert!(!error.0.is_empty() && error.0.iter().all(|it| it.line > 0 && !it.text.is_empty()))
        }
    }
}

pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let of = |what: u8, octets: &[u8]| [&[what], octets].concat();
    let strings = |parts: &[&str]| -> Vec<u8> {
        let put = |part: &&str| [&(part.len() as u32).to_le_bytes()[..], part.as_bytes()].concat();
        parts.iter().flat_map(put).collect()
    };
    let idl = "struct T { @key long id; };";
    let contract = "0 keep_last 1 -1 -1 -1";
    let named =
        ["1", "Tracks", "T", "110110", contract, "9223372036854775807 9223372036854775807", "T", idl, "a"];
    let plant =
        include_str!("../../services/durability/examples/plant.toml").replace("file = \"plant.redb\"\n", "");
    let back_ends = [
        "name = \"a\"\ndomain = 0\n[postgres]\naddress = \"host=h\"\nschema = \"a\"\ntimeout = \"5s\"",
        "[nats]\naddress = \"nats://h\"\nstream = \"a\"\nreplicas = 1\nuser = \"u\"",
        "[cold]\nbucket = \"b\"\nendpoint = \"http://h\"\nregion = \"r\"\nprefix = \"p\"\nkeep_mebibytes = 1",
    ];
    let back_ends = back_ends.join("\n");
    let mut head = [1; 67];
    head[62] = 0;
    head[35] = 0;
    let numbers: Vec<u8> = [1i64, 5, 9, 9].iter().flat_map(|number| number.to_le_bytes()).collect();
    [
        ("configuration", of(0, plant.as_bytes())),
        ("topic", of(1, &strings(&named))),
        ("head", of(2, &head)),
        ("numbers", of(3, &numbers)),
        (
            "alignment",
            of(
                4,
                &[&[3, 1], &0x10u64.rotate_right(8).to_le_bytes()[..], &[2, 0, 255, 3, 1], &[7; 8]].concat(),
            ),
        ),
        ("back_ends", of(0, back_ends.as_bytes())),
    ]
    .map(|(name, octets)| (name.to_owned(), octets))
    .into()
}
