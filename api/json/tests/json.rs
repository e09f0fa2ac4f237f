//! Values become JSON and come back from it.

use dunlin_dynamic::{DynamicData, DynamicType, Value};
use dunlin_idl::{Memory, Options};
use dunlin_json::{Json, Octets, Selected, from_json, leaves_as, to_json};
use serde_json::json;

const IDL: &str = "
enum Color { RED, GREEN };
@bit_bound(8) bitmask Access { READ, WRITE };
bitset Packed { bitfield<3> level; bitfield<5, int8> offset; };
union Choice switch (Color) { case RED: @default(8) long number; case GREEN: string<5> text; };
struct Inner { double ratio; @optional long maybe; };
struct All {
    @key string id; unsigned long long large; float single; char letter; Color color; Access access; Packed packed;
    sequence<octet> data; long matrix[2][2]; map<string, long> named; map<Color, Inner> of_color; Choice choice;
    sequence<Inner, 2> inners; wstring wide; @default(TRUE) boolean flag; long double quad;
};";

fn ty() -> DynamicType {
    let loader = Memory::default().with("all.idl", IDL);
    let compiled = dunlin_idl::compile("all.idl", &Options::default(), &loader);
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(&compiled.model.unwrap(), "All").unwrap();
    DynamicType::new(graph, index).unwrap()
}

#[test]
fn values_of_every_kind_survive_json() {
    let text = r#"{"id":"a","large":18446744073709551615,"single":0.1,"letter":"x","color":"GREEN","access":["WRITE"],"packed":{"level":5,"offset":-3},"data":[1,255],"matrix":[[1,2],[3,4]],"named":{"one":1},"of_color":{"RED":{"ratio":"NaN","maybe":null}},"choice":{"_d":"GREEN","text":"hi"},"inners":[{"ratio":-0.5,"maybe":7}],"wide":"ü€","flag":true,"quad":"0x3fff0000000000000000000000000000"}"#;
    let data = from_json(&ty(), &serde_json::from_str(text).unwrap()).unwrap();
    assert_eq!(to_json(&data), text);
    assert_eq!(data.get("large").unwrap(), Some(&u64::MAX.into()));
    let defaults = from_json(&ty(), &json!({})).unwrap();
    assert_eq!(defaults, DynamicData::new(&ty()));
    assert_eq!(defaults.get("choice.number").unwrap(), Some(&Value::Int32(8)));
    assert_eq!(defaults.get("flag").unwrap(), Some(&Value::Boolean(true)));
    let chosen = from_json(&ty(), &json!({"choice": {"_d": "RED"}})).unwrap();
    assert_eq!(chosen.get("choice.number").unwrap(), Some(&Value::Int32(8)));
    let again = from_json(&ty(), &serde_json::from_str(&to_json(&defaults)).unwrap()).unwrap();
    assert_eq!(again, defaults);
}

/// Bytes may be in base64; what is no base64, or too long, is told.
#[test]
fn octets_in_base64() {
    let loader =
        Memory::default().with("o.idl", "struct O { sequence<octet, 4> s; uint8 a[3]; sequence<long> n; };");
    let compiled = dunlin_idl::compile("o.idl", &Options::default(), &loader);
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(&compiled.model.unwrap(), "O").unwrap();
    let ty = DynamicType::new(graph, index).unwrap();
    for given in [json!({"s": "AP8=", "a": "AQID"}), json!({"s": "AP8", "a": [1, 2, 3]})] {
        let data = from_json(&ty, &given).unwrap();
        assert_eq!(data.get("s").unwrap(), Some(&Value::Octets(vec![0, 255])));
        assert_eq!(to_json(&data), r#"{"s":[0,255],"a":[1,2,3],"n":[]}"#);
        let json = Json::of(&data).with_octets(Octets::Base64);
        assert_eq!(serde_json::to_string(&json).unwrap(), r#"{"s":"AP8=","a":"AQID","n":[]}"#);
        let parts = vec![("a", data.part("a").unwrap())];
        assert_eq!(serde_json::to_string(&Selected(parts, Octets::Base64)).unwrap(), r#"{"a":"AQID"}"#);
        assert_eq!(leaves_as(&data, "s", Octets::Base64), [("s".to_owned(), "AP8=".to_owned())]);
    }
    for (json, wanted) in [
        (json!({"s": "AP8=="}), "s: expected bytes in base64"),
        (json!({"s": "a b"}), "s: expected bytes in base64"),
        (json!({"s": "AQIDBAU="}), "s: length 5 where 4 is allowed"),
        (json!({"a": "AP8="}), "a: length 2 where 3 is allowed"),
        (json!({"a": 5}), "a: expected a list, or bytes in base64, not 5"),
        (json!({"n": "AP8="}), "n: expected a list, not"),
    ] {
        let error = from_json(&ty, &json).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn json_accepts_alternative_forms_of_enums_bitmasks_and_unions() {
    let data =
        from_json(&ty(), &json!({"color": 1, "access": 2, "packed": 5, "choice": {"text": "x"}})).unwrap();
    let value: serde_json::Value = serde_json::from_str(&to_json(&data)).unwrap();
    assert_eq!((&value["color"], &value["access"]), (&json!("GREEN"), &json!(["WRITE"])));
    assert_eq!(
        (&value["choice"], &value["packed"]["level"]),
        (&json!({"_d": "GREEN", "text": "x"}), &json!(5))
    );
}

#[test]
fn json_errors_name_their_position() {
    for (json, wanted) in [
        (json!({"colour": 1}), "no member 'colour' among id, large"),
        (json!({"color": "BLUE"}), "color: expected one of RED, GREEN, not \"BLUE\""),
        (json!({"data": [1, 256]}), "data[1]: 256 is out of the range of octet"),
        (json!({"matrix": [[1, 2], [3]]}), "matrix[1]: length 1 where 2 is allowed"),
        (json!({"inners": [{}, {"ratio": "x"}]}), "inners[1].ratio: expected a number"),
        (json!({"inners": [{}, {}, {}]}), "inners: length 3 where 2 is allowed"),
        (json!({"choice": {"_d": "RED", "text": "x"}}), "choice.text: the discriminator"),
        (json!({"choice": {"text": "longer"}}), "choice.text: length 6 where 5"),
        (json!({"large": -1}), "large: -1 is out of the range"),
        (json!({"packed": {"offset": 16}}), "packed.offset: expected a number of 5 bits"),
        (json!([]), "expected an object, not a list"),
    ] {
        let error = from_json(&ty(), &json).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error} is not {wanted}");
    }
}

#[test]
fn parts_are_selected_by_path() {
    let mut data = DynamicData::new(&ty());
    data.set("matrix[1][0]", 9).unwrap();
    let paths = ["matrix[1][0]", "choice._d", "choice.text"];
    let parts = paths.iter().map(|path| (*path, data.part(path).unwrap())).collect();
    let text = serde_json::to_string(&Selected(parts, Octets::Numbers)).unwrap();
    assert_eq!(text, r#"{"matrix[1][0]":9,"choice._d":"RED","choice.text":null}"#);
    assert!(format!("{:?}", Json::of(&data)).contains("Json"));
}

/// A bitmask of two flags has the room of a byte, and what peers set there stays.
#[test]
fn bits_above_the_bound_come_back() {
    let idl = "@bit_bound(2) bitmask Narrow { ONE, TWO }; struct B { Narrow bits; };";
    let compiled = dunlin_idl::compile("b.idl", &Options::default(), &Memory::default().with("b.idl", idl));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(&compiled.model.unwrap(), "B").unwrap();
    let ty = DynamicType::new(graph, index).unwrap();
    let data = DynamicData::from_payload(&ty, &[0, 1, 0, 0, 0x85, 0, 0, 0]).unwrap();
    let again = from_json(&ty, &serde_json::from_str(&to_json(&data)).unwrap()).unwrap();
    assert_eq!(again, data);
    assert!(to_json(&data).contains("ONE"), "{}", to_json(&data));
}

/// Every number of two sizes comes back with the bits that it had.
#[test]
fn floats_come_back_exactly() {
    let idl = "struct F { float single; double large; };";
    let compiled = dunlin_idl::compile("f.idl", &Options::default(), &Memory::default().with("f.idl", idl));
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(&compiled.model.unwrap(), "F").unwrap();
    let ty = DynamicType::new(graph, index).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (single, large) = (f32::from_bits((state >> 32) as u32), f64::from_bits(state));
        if !single.is_finite() || !large.is_finite() {
            continue;
        }
        let mut data = DynamicData::new(&ty);
        data.set("single", single).unwrap();
        data.set("large", large).unwrap();
        let text = to_json(&data);
        let back = from_json(&ty, &serde_json::from_str(&text).unwrap()).unwrap();
        let (Some(Value::Float32(a)), Some(Value::Float64(b))) =
            (back.get("single").unwrap(), back.get("large").unwrap())
        else {
            panic!("{text}")
        };
        assert_eq!((a.to_bits(), b.to_bits()), (single.to_bits(), large.to_bits()), "{text}");
    }
}
